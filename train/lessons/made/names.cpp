// Names of people, towns and countries. None of them occurs in the evaluation sets
// (tests/train/made_facts_test.cpp).
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kNames = R"(
woman: Abigail, Agnes, Ailsa, Alba, Alessia, Alma, Althea, Amara, Amelie, Anouk, Antonia, Anwen, Araceli,
  Ariadne, Astrid, Aubrey, Azra, Beatrix, Bertha, Bettina, Bianca, Birgit, Blanche, Bodil, Bonnie, Brenda,
  Bridget, Brigitte, Bronwen, Camille, Candice, Carmen, Cassandra, Cecily, Celeste, Chloe, Claudine, Clio,
  Colette, Constance, Cordelia, Cosima, Dagmar, Daisy, Damaris, Daphne, Deborah, Deirdre, Delphine, Denise,
  Dinah, Doreen, Ebba, Edith, Edwina, Effie, Eileen, Elspeth, Elif, Eloise, Elsa, Ember, Enid, Ernestine,
  Esme, Ethel, Eunice, Evelyn, Faustina, Fern, Fiona, Flora, Frances, Freya, Frida, Gemma, Genevieve, Gerda,
  Ginevra, Gisela, Greta, Gudrun, Guinevere, Gwendolyn, Hadley, Harriet, Hattie, Hazel, Heidi, Hermione,
  Hilda, Honor, Hortense, Ida, Ilse, Imani, Imogen, Inaya, Ines, Iolanthe, Isadora, Isolde, Jacinta, Jasmine,
  Jemima, Jocelyn, Jolanda, Josephine, Juniper, Keiko, Kendra, Kerstin, Kirsten, Latisha, Leonora, Leticia,
  Lorna, Lottie, Louisa, Ludmila, Lydia, Mabel, Madeleine, Maisie, Manon, Margot, Marisol, Marlene, Martha,
  Mathilda, Maud, Meera, Mei, Mercedes, Minerva, Mirabel, Miriam, Moira, Monique, Muriel, Myfanwy, Naomi,
  Nell, Nerys, Niamh, Nicolette, Noor, Norma, Octavia, Odette, Olwen, Ophelia, Orla, Ottilie, Padma, Paloma,
  Patience, Penelope, Perpetua, Petra, Phoebe, Pippa, Polly, Primrose, Prudence, Ramona, Raquel, Renata,
  Rhiannon, Romilly, Rosalind, Roxanne, Ruth, Sabine, Salma, Samira, Saoirse, Saskia, Selma, Seraphina,
  Sheila, Sigrid, Siobhan, Stella, Sunniva, Sybil, Tabitha, Tamsin, Tatiana, Tegan, Tessa, Thea, Thelma,
  Theodora, Thora, Tilda, Trudy, Ulrika, Una, Valentina, Vanessa, Veronica, Vesna, Viola, Vivienne, Wanda,
  Wilhelmina, Willa, Winifred, Wren, Ximena, Yasmin, Yolanda, Yoshiko, Yvette, Yvonne, Zadie, Zelda, Zenobia,
  Zora, Zuleika
man: Adrian, Alaric, Alden, Alistair, Alvin, Anders, Ansel, Apollo, Archie, Arlo, Armand, Arturo, Arvid, Asa,
  Atticus, Aurelio, Axel, Bartholomew, Basil, Benedict, Björn, Boris, Bram, Caleb, Callum, Caspian, Cedric,
  Chidi, Ciaran, Clement, Clifford, Conrad, Cormac, Cyrus, Damian, Darius, Dashiell, Declan, Demetrius,
  Desmond, Dexter, Diego, Dominic, Douglas, Duncan, Earl, Edmund, Eleazar, Elias, Emeka, Enzo, Ephraim,
  Erasmus, Errol, Eugene, Evander, Ezekiel, Fergus, Finnegan, Florian, Gareth, Gaspard, Geoffrey, Gideon,
  Gilbert, Giles, Gordon, Graham, Griffin, Gunnar, Hamish, Heath, Hector, Hideo, Holger, Horace, Howard,
  Ichiro, Ignatius, Ingo, Irving, Ishaan, Ivor, Jarvis, Jasper, Jerome, Joel, Joaquin, Justus, Kaveh, Keith,
  Kenji, Kieran, Klaus, Kwame, Lachlan, Lambert, Lars, Laurence, Leander, Leif, Leopold, Levi, Lionel, Lorcan,
  Lorenzo, Lucian, Luther, Maddox, Magnus, Malachi, Malcolm, Marcel, Marlow, Matteo, Maximilian, Melvin,
  Merlin, Milo, Mohan, Mortimer, Nathaniel, Nestor, Nikhil, Norbert, Omar, Orson, Osman, Otis, Owen, Pascal,
  Percival, Piers, Rainer, Randolph, Rasmus, Reginald, Rhys, Roderick, Roland, Rowan, Rufus, Rupert, Salvador,
  Sanjay, Seamus, Sebastian, Silas, Silvio, Solomon, Soren, Spencer, Stellan, Sylvester, Takumi, Tancred,
  Thaddeus, Tobias, Torsten, Tristan, Tycho, Ulrich, Uriah, Vidar, Vikram, Virgil, Waldo, Wallace, Warren,
  Wilbur, Winston, Wolfgang, Xavier, Yannick, Zachary, Zoltan
first: <woman>, <man>
last: Abernathy, Ackerman, Adeyemi, Aguilar, Ainsworth, Akhtar, Albrecht, Alderton, Almeida, Amundsen,
  Andrade, Appleby, Arbuckle, Armitage, Arroyo, Ashdown, Ashworth, Atkins, Babcock, Bagshaw, Bainbridge,
  Balogun, Banerjee, Barlow, Barnaby, Bauer, Beaumont, Beckwith, Bellamy, Benítez, Bergström, Bhatt, Birch,
  Blackwood, Blanchard, Bloomfield, Bonnet, Boothroyd, Borowski, Bosch, Boyle, Braithwaite, Bramble, Brennan,
  Bristow, Broadbent, Brockway, Brodeur, Buchanan, Bukowski, Burgess, Butterworth, Cadwallader, Calloway,
  Cameron, Cardoso, Carmichael, Carrington, Cavendish, Chakraborty, Chamberlain, Chandler, Chaudhry,
  Chevalier, Cisneros, Clapton, Cleary, Coleridge, Colquhoun, Conway, Copperfield, Corbett, Cortez, Crabtree,
  Cranston, Crawford, Cromwell, Csonka, Culpepper, Cunningham, Cuthbert, Dacosta, Dandridge, Darlington,
  Davenport, Delacroix, Delgado, Demir, Denholm, Desai, Devereux, Diallo, Dietrich, Dimitrov, Donnelly,
  Dorsey, Drinkwater, Dubois, Dufresne, Dunmore, Durand, Eastwood, Eberhardt, Eccleston, Edgeworth, Ekström,
  Elderberry, Ellsworth, Engström, Escobar, Espinoza, Everett, Fairbanks, Fairfax, Falk, Farnsworth, Faulkner,
  Featherstone, Fernandes, Ferraro, Fielding, Finch, Fitzgerald, Flanagan, Fletcher, Fontaine, Forsyth,
  Fothergill, Fournier, Frobisher, Fujimoto, Gallagher, Galloway, Gantt, Garrick, Gascoigne, Gauthier, Ghosh,
  Gilchrist, Gladstone, Goddard, Goldsmith, Goodwin, Gorecki, Granger, Greenhalgh, Greer, Grimshaw, Grosvenor,
  Gustafsson, Gutierrez, Hackett, Haddad, Halvorsen, Hamasaki, Hargreaves, Harkness, Hartley, Hathaway,
  Hawthorne, Hayashi, Heatherington, Heller, Hendricks, Herrera, Higginbotham, Hildebrand, Hinkley, Hobbs,
  Hoffmann, Holloway, Honeycutt, Horvath, Huang, Huxley, Ibarra, Igwe, Illingworth, Ingleby, Inoue, Ivanov,
  Jablonski, Jagger, Jankovic, Jarrett, Jefferson, Jimenez, Johansson, Joshi, Kallio, Kapoor, Karlsen,
  Kaufmann, Kavanagh, Kensington, Kessler, Khatri, Kimura, Kingsley, Kirkpatrick, Kiplagat, Klein, Knudsen,
  Kobayashi, Kovacs, Kruger, Kumar, Lachance, Lafferty, Lambrecht, Langford, Larkspur, Larsson, Lattimore,
  Lavoie, Leclerc, Leighton, Lemaire, Lindqvist, Livingston, Llewellyn, Lockhart, Lombardi, Longbottom,
  Lovelace, Lundgaard, Luthra, MacGregor, Mackenzie, Macpherson, Maguire, Malhotra, Mandeville, Mansour,
  Marchetti, Markovic, Marlborough, Marquez, Mathieu, Matsuda, Mbeki, McAllister, McBride, McCormack,
  McKinley, Medina, Melville, Mendoza, Meredith, Merriweather, Middleton, Milanović, Mishra, Molina, Montague,
  Montoya, Mordaunt, Morgenstern, Mortensen, Mukherjee, Mulligan, Murakami, Nakamura, Narayan, Navarro,
  Ndiaye, Nesbitt, Neumann, Nightingale, Niskanen, Northcott, Nunez, Nygaard, Nyström, Oakley, Obiora, Ochoa,
  Odhiambo, Ogilvie, Oliveira, Olszewski, Onyango, Orellana, Ormond, Osei, Ostrowski, Overbeck, Pacheco,
  Palmgren, Pankhurst, Papadakis, Parkinson, Pascoe, Patel, Pavlov, Peacock, Pellegrini, Pemberton, Pendleton,
  Penhaligon, Peralta, Perrault, Pettigrew, Pfeiffer, Pickering, Pilkington, Plimpton, Pomeroy, Popescu,
  Prendergast, Prescott, Pritchard, Quigley, Quist, Radcliffe, Rahman, Rajan, Ramaswamy, Rasmussen,
  Ravenscroft, Redmond, Reinhardt, Renaud, Reyes, Ridgeway, Rinaldi, Rivera, Rockwell, Romero, Rosenthal,
  Rothschild, Rousseau, Rutherford, Sadler, Salazar, Salonen, Sandoval, Santoro, Saunders, Savage, Schaefer,
  Schreiber, Schubert, Seagrave, Sedgwick, Sengupta, Serrano, Shackleton, Sheffield, Shevchenko, Sinclair,
  Singh, Skovgaard, Slater, Smythe, Sokolov, Solberg, Somerville, Sorrentino, Spurling, Stanhope, Steinbeck,
  Stirling, Stratton, Strickland, Sundaram, Sutherland, Swanson, Szabo, Takahashi, Talbot, Tamm, Tennyson,
  Thackeray, Thibault, Thistlewood, Thorne, Thorvald, Tillman, Tolliver, Torvalds, Townsend, Traoré,
  Trelawney, Trevino, Tsang, Turnbull, Twain, Underhill, Upton, Uribe, Valdez, Vandenberg, Vanterpool,
  Vasquez, Vaughan, Venkatesan, Villanueva, Virtanen, Volkov, Wadsworth, Wainwright, Walcott, Wallin,
  Warburton, Waterhouse, Weatherby, Weinstein, Wellington, Westbrook, Whitaker, Whitlock, Wickham, Wieczorek,
  Wilberforce, Winslow, Winterbottom, Witherspoon, Wolff, Woodhouse, Worthington, Wrigley, Wyndham, Yamamoto,
  Yeboah, Yilmaz, Youngblood, Zamora, Zapata, Zelenka, Zhang, Zielinski

city: Aachen, Aarhus, Accra, Adelaide, Albany, Aleppo, Algiers, Alicante, Amarillo, Amiens, Ankara, Antwerp,
  Arequipa, Asheville, Asunción, Athens, Auckland, Augsburg, Baku, Baltimore, Bangalore, Barcelona, Basel,
  Bath, Beirut, Belfast, Belgrade, Bilbao, Billings, Birmingham, Bogotá, Boise, Bologna, Bordeaux, Boston,
  Brasília, Bratislava, Brighton, Brisbane, Bristol, Brno, Bruges, Brussels, Bucharest, Budapest, Buffalo,
  Bulawayo, Bursa, Busan, Calais, Calgary, Cambridge, Canberra, Cardiff, Caracas, Carlisle, Casablanca,
  Charleston, Chester, Chiang Mai, Christchurch, Cincinnati, Cleveland, Cologne, Colombo, Cordoba, Cork,
  Cottbus, Coventry, Cremona, Daegu, Damascus, Darwin, Debrecen, Delft, Derby, Des Moines, Dhaka, Dijon,
  Djibouti, Dresden, Duluth, Dundee, Durban, Edinburgh, Edmonton, Eindhoven, El Paso, Erfurt, Eugene, Exeter,
  Faro, Ferrara, Florence, Fortaleza, Frankfurt, Freetown, Fresno, Fukuoka, Gaborone, Gdansk, Geneva, Genoa,
  Ghent, Glasgow, Gothenburg, Granada, Graz, Grenoble, Groningen, Guadalajara, Halifax, Hamburg, Harare,
  Hartford, Helsinki, Hobart, Honolulu, Houston, Hull, Incheon, Innsbruck, Inverness, Ipswich, Islamabad,
  Istanbul, Jakarta, Johannesburg, Kampala, Kanazawa, Karachi, Kathmandu, Khartoum, Kigali, Kingston,
  Kinshasa, Klagenfurt, Kobe, Košice, Kuala Lumpur, La Paz, Lausanne, Leicester, Leipzig, Lima, Limerick,
  Linz, Liverpool, Ljubljana, Lodz, Lubbock, Lucerne, Luxor, Lyon, Madison, Madrid, Managua, Manaus,
  Manchester, Maputo, Marrakesh, Marseille, Medellín, Melbourne, Memphis, Milwaukee, Minsk, Mombasa,
  Montevideo, Montpellier, Montreal, Münster, Nagoya, Nantes, Nashville, Newcastle, Nicosia, Norwich,
  Nottingham, Omaha, Orlando, Osaka, Ostend, Ottawa, Oulu, Oxford, Palermo, Pamplona, Parma, Pécs,
  Philadelphia, Phoenix, Pittsburgh, Plovdiv, Plymouth, Port Louis, Portland, Poznan, Prague, Pretoria,
  Puebla, Quebec, Rabat, Reading, Recife, Reims, Rennes, Reykjavik, Richmond, Rochester, Rosario, Rotterdam,
  Rouen, Salamanca, Salem, Salzburg, San Juan, Santiago, Sapporo, Sarajevo, Savannah, Seattle, Sendai, Seoul,
  Sheffield, Siena, Skopje, Spokane, Stavanger, Stockholm, Strasbourg, Stuttgart, Sucre, Surabaya, Suva,
  Swansea, Sydney, Syracuse, Szeged, Tacoma, Tampa, Tampere, Tangier, Tartu, Tirana, Toledo, Toronto,
  Toulouse, Trieste, Trondheim, Tucson, Tulsa, Tunis, Uppsala, Valencia, Valletta, Vancouver, Varna, Venice,
  Veracruz, Vilnius, Wellington, Winnipeg, Wroclaw, Wuhan, Yerevan, Zaragoza, Zurich

country: Albania, Angola, Argentina, Armenia, Australia, Austria, Belgium, Belize, Bhutan, Bolivia, Botswana,
  Brazil, Bulgaria, Cambodia, Cameroon, Canada, Chile, Colombia, Costa Rica, Croatia, Cyprus, Denmark,
  Ecuador, Estonia, Ethiopia, Fiji, Finland, France, Georgia, Germany, Ghana, Greece, Guatemala, Hungary,
  Iceland, Indonesia, Ireland, Italy, Jamaica, Japan, Jordan, Kazakhstan, Kenya, Laos, Latvia, Lebanon,
  Lithuania, Luxembourg, Madagascar, Malaysia, Malta, Mexico, Moldova, Mongolia, Morocco, Mozambique, Namibia,
  Nepal, New Zealand, Nicaragua, Nigeria, Norway, Oman, Pakistan, Panama, Paraguay, Peru, Poland, Portugal,
  Romania, Rwanda, Senegal, Serbia, Singapore, Slovakia, Slovenia, South Korea, Spain, Sri Lanka, Sweden,
  Switzerland, Tanzania, Thailand, Tunisia, Turkey, Uganda, Ukraine, Uruguay, Vietnam, Zambia, Zimbabwe

language: Afrikaans, Albanian, Amharic, Arabic, Armenian, Basque, Bengali, Breton, Bulgarian, Catalan,
  Croatian, Czech, Danish, Dutch, Esperanto, Estonian, Finnish, Flemish, French, Frisian, Gaelic, Galician,
  Georgian, Greek, Gujarati, Hausa, Hebrew, Hindi, Hungarian, Icelandic, Igbo, Indonesian, Italian, Japanese,
  Kannada, Khmer, Korean, Kurdish, Lao, Latin, Latvian, Lithuanian, Malay, Maltese, Mandarin, Maori,
  Mongolian, Navajo, Nepali, Norwegian, Persian, Polish, Portuguese, Punjabi, Quechua, Romanian, Sanskrit,
  Serbian, Slovak, Somali, Spanish, Swahili, Swedish, Tagalog, Tamil, Telugu, Thai, Tibetan, Turkish,
  Ukrainian, Urdu, Uzbek, Vietnamese, Welsh, Xhosa, Yiddish, Yoruba, Zulu

her relation: mother, grandmother, great-aunt, niece, daughter, stepsister, stepmother, godmother,
  goddaughter, mother-in-law, sister-in-law, daughter-in-law, twin sister, half-sister, landlady, ex-wife,
  fiancée, granddaughter, wife, girlfriend
his relation: father, grandfather, great-uncle, nephew, son, stepbrother, stepfather, godfather, godson,
  father-in-law, brother-in-law, son-in-law, twin brother, half-brother, landlord, ex-husband, fiancé,
  grandson, best man, husband, boyfriend
relation: colleague, supervisor, flatmate, housemate, coach, mentor, tutor, apprentice, penpal, intern,
  business partner, dance partner, running partner, bandmate, classmate, team leader, babysitter, cleaner,
  accountant, hairdresser, gym buddy, study partner, lawyer's assistant, physiotherapist, driving instructor,
  singing teacher
relative: <her relation> <woman>, <his relation> <man>, <relation> <first>
full name: <first> <last>
human: <first> <last>, <first> <last>, <first> <last>, <first>
person: <first> <last>, <first> <last>, <first> <last>, <first> <last>, <first> <last>, <first> <last>,
  <first> <last>, <first> <last>, <first> <last>, <first> <last>, <first>, <first>, <first>, my <relative>,
  my <relative>, our <household> <first>, Dr. <last>, Mrs. <last>, Mr. <last>, Professor <last>
household: friend from <city>, guest, lodger, gardener, caretaker, new hire, trainee, office manager, child
  minder
town: <word>, <word>, <word>, <word><town ending>, <word> <town part>, Port <word>, New <word>, Upper <word>
town ending: bury, ford, ham, holm, mouth, stead, ton, wick
town part: Bridge End, Cross, Falls, Heights, Hollow, Junction, Point, Springs, Wells
firm: <word>, <word>, <word> <firm part>, <word> <firm part>, <word> <firm part>, <last> and <last>, <last>
  <firm part>, <last> & Daughter, <word>-<word>
firm part: Analytics, Bakeries, Bearings, Bricks, Ceramics, Chemicals, Consulting, Cycles, Dairies, Dynamics,
  Engineering, Fabrics, Films, Foods, Footwear, Forestry, Freight, Furniture, Glass, Holdings, Insurance,
  Instruments, Labs, Logistics, Media, Mining, Motors, Optics, Packaging, Paints, Partners, Pharma, Plastics,
  Press, Pumps, Robotics, Seeds, Ships, Software, Solar, Steel, Systems, Telecom, Textiles, Tools, Toys,
  Trading, Transport, Ventures, Water
)";

}  // namespace mplus::train::made
