// Things, qualities, numbers and times.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kWords = R"(
job: accountant, acrobat, actuary, anaesthetist, animator, archaeologist, architect, astronomer, auctioneer,
  auditor, barber, beekeeper, bellhop, blacksmith, boatbuilder, bookbinder, bookkeeper, brewer, bricklayer,
  bus driver, butcher, calligrapher, cameraman, cartographer, chauffeur, cheesemaker, chimney sweep,
  choreographer, cobbler, composer, confectioner, court clerk, crane operator, customs officer, cook, data
  analyst, deckhand, detective, dietitian, diver, economist, electrician, engraver, estate agent, falconer,
  film editor, firefighter, fishmonger, flight attendant, forester, furrier, gamekeeper, game designer,
  glassblower, glazier, goldsmith, graphic designer, groundskeeper, gunsmith, hairstylist, harbour master,
  hydrologist, illustrator, immunologist, insurance broker, interpreter, jeweller, jockey, journalist, judge,
  kindergarten teacher, laboratory technician, land surveyor, lifeguard, lighthouse keeper, linguist,
  locksmith, lumberjack, magician, magistrate, mason, masseur, metallurgist, midwife, miller, miner, model
  maker, mountain guide, museum curator, network engineer, notary, optician, organ builder, paramedic, park
  ranger, pastry chef, pharmacist, photographer, physiotherapist, piano tuner, postman, potter, printer,
  prison warden, programmer, proofreader, puppeteer, radiographer, radio presenter, receptionist, roofer,
  saddler, screenwriter, seamstress, security guard, seismologist, shepherd, shipwright, sign painter, sound
  engineer, speech therapist, stage manager, statistician, stockbroker, stonecutter, stuntman, tattoo artist,
  tax adviser, taxi driver, tour guide, town planner, toymaker, train driver, truck driver, undertaker,
  upholsterer, usher, vet, waiter, watchmaker, weather forecaster, wine merchant, winemaker, zookeeper,
  zoologist
dish: aubergine curry, baked beans, baklava, banana fritters, beef stew, beetroot borscht, bouillabaisse,
  bruschetta, cabbage rolls, calzone, carrot cake, cauliflower cheese, chickpea stew, chilli con carne, clam
  chowder, cinnamon buns, coconut prawns, coq au vin, corn chowder, cottage pie, couscous, crab cakes, crème
  brûlée, dumplings, eggs Benedict, enchiladas, falafel, fish and chips, fish tacos, fondue, French onion
  soup, gazpacho, gnocchi, goulash, grilled octopus, guacamole, gumbo, hummus, jambalaya, jollof rice,
  kedgeree, kimchi stew, lamb tagine, lasagne, leek quiche, lemon tart, macaroni cheese, meatballs,
  minestrone, miso ramen, moussaka, nasi goreng, okra stew, omelettes, onion rings, pad thai, paella, pavlova,
  pea soup, pecan pie, pierogi, pizza, plum crumble, poached salmon, polenta, pork schnitzel, potato salad,
  pulled pork, ratatouille, ravioli, rhubarb crumble, rice pudding, roast duck, samosas, sauerkraut,
  shakshuka, shepherd's pie, spaghetti carbonara, spring rolls, steamed mussels, stuffed peppers, sushi, sweet
  potato mash, tempura, tiramisu, trout with almonds, tuna bake, tzatziki, udon, veal stew, vegetable lasagne,
  vindaloo, yoghurt with honey
ingredient: almonds, anchovies, artichokes, asparagus, avocado, bacon, basil, bay leaves, brown sugar,
  buckwheat, butter, buttermilk, capers, caraway, cardamom, cashews, celery, chestnuts, chickpeas, chives,
  cinnamon, cloves, coconut milk, coriander, cornmeal, cranberries, cream cheese, cumin, currants, dates,
  dill, fennel, figs, garlic, ginger, hazelnuts, honey, horseradish, juniper berries, kale, leeks, lemon zest,
  lime juice, mace, maple syrup, marjoram, mint, molasses, mustard seeds, nutmeg, orange peel, oregano,
  paprika, parsley, peanuts, pine nuts, pistachios, poppy seeds, quinoa, raisins, red wine, rosemary, rye
  flour, saffron, sage, sea salt, sesame oil, shallots, smoked trout, sour cream, soy sauce, star anise,
  sultanas, tahini, tarragon, thyme, tofu, turmeric, vanilla, vinegar, white pepper, yeast
allergen: bee stings, birch pollen, cats, celery, cow's milk, crab, dust mites, egg white, feathers, gluten,
  grass pollen, hazelnuts, house dust, iodine, kiwi, latex, lobster, lupin, mango, mould, mustard, nickel,
  oysters, peanuts, penicillin, pistachios, prawns, ragweed, sesame, shellfish, soy, strawberries, sulphites,
  wasp venom, wheat, wool
drink: apple cider, barley tea, black tea, camomile tea, cappuccino, carrot juice, chai, cold brew, cranberry
  juice, decaf espresso, elderflower cordial, flat white, ginger beer, grape juice, grapefruit soda, green
  tea, hibiscus tea, hot cocoa, iced coffee, iced tea, kefir, kombucha, lassi, lemonade, macchiato, malt beer,
  mango juice, matcha latte, mulled wine, oat milk, oolong, peppermint tea, pineapple juice, root beer,
  rooibos, rosehip tea, sparkling water, tomato juice, tonic water
pet: axolotl, beagle, bearded dragon, border collie, budgie, chameleon, chinchilla, cockatoo, corn snake,
  dachshund, donkey, duck, gecko, gerbil, goldfish, greyhound, guinea pig, hedgehog, iguana, kitten, labrador,
  lovebird, macaw, mule, peacock, Persian cat, pigeon, pony, poodle, pug, puppy, Siamese cat, spaniel, stick
  insect, tarantula, terrapin, terrier, tortoise, white mouse
wild animal: aardvark, albatross, alpaca, anteater, armadillo, badger, bat, beaver, bison, boar, buffalo,
  caiman, capybara, chamois, cheetah, cormorant, coyote, crane, crow, dolphin, dormouse, eagle, egret, elk,
  emu, flamingo, gazelle, gibbon, giraffe, gorilla, heron, hippo, hyena, ibex, jackal, jaguar, kingfisher,
  koala, lemur, leopard, lynx, magpie, manatee, marmot, meerkat, mongoose, moose, narwhal, ocelot, octopus,
  opossum, ostrich, otter, panther, pelican, penguin, platypus, porcupine, puffin, puma, raccoon, raven,
  reindeer, rhinoceros, salamander, sea lion, seal, skunk, sloth, stork, swan, tapir, toucan, walrus, weasel,
  wolverine, wombat, woodpecker, yak, zebra
beasts: badgers, bats, beavers, crows, dolphins, eagles, elephants, foxes, gulls, hares, hedgehogs, herons,
  jackals, lynxes, moles, monkeys, moths, otters, owls, penguins, ravens, seals, snails, spiders, squirrels,
  swans, toads, whales, wolves
colour: amber, apricot, aquamarine, beige, bottle green, brick red, bronze, burgundy, charcoal, cherry red,
  cobalt, copper, coral, cream, crimson, emerald, fuchsia, grey, indigo, ivory, jade, khaki, lavender, lemon
  yellow, lilac, magenta, maroon, mauve, mint green, mustard yellow, navy blue, ochre, olive green, peach,
  pearl white, petrol blue, plum, rust, sage green, salmon pink, sand, scarlet, sky blue, slate grey, tan,
  teal, terracotta, turquoise, vermilion, violet
thing: accordion, air mattress, alarm clock, atlas, backpack, badminton racket, barometer, board game,
  bookend, bread knife, briefcase, broom, cake tin, calculator, camping stove, candlestick, carafe, card
  table, cash box, chainsaw, chessboard, chisel, christening gown, coffee grinder, cookbook, cool box,
  crowbar, desk fan, dictionary, doll's house, drawing board, drill, duffel bag, easel, extension cord, fan
  heater, first-aid kit, fishing rod, flashlight, flute, folding chair, footstool, frying pan, garden hose,
  glue gun, gramophone, hair dryer, hammock, hand mixer, handsaw, harmonica, heating pad, hourglass, ironing
  board, jigsaw puzzle, jump rope, kayak paddle, label printer, laptop, life jacket, magnifying glass, map,
  measuring tape, megaphone, metronome, microscope, milk jug, mortar and pestle, music box, nail file, oil
  lamp, paint roller, paper cutter, passport, penknife, petrol can, photo album, picnic hamper, pill box,
  pocket watch, projector, puncture kit, rake, record player, rolling pin, rosary, rucksack, ruler, sandpaper,
  scarf, screwdriver, sewing kit, shoe polish, shovel, silver spoon, skateboard, sleeping bag, slide rule,
  snorkel, soldering iron, spare key, spirit level, stamp collection, stapler, stopwatch, swimsuit,
  tablecloth, tape recorder, tarpaulin, tent, thermos, toaster, tool belt, torch, tripod, trowel, trumpet,
  typewriter, ukulele, vacuum flask, vinyl record, waffle iron, walking stick, wallet, watering can,
  wheelbarrow, whisk, whistle, winter coat, wrench, yoga mat
quality: antique, battered, big, blunt, borrowed, brand-new, broken, cheap, chipped, dusty, embroidered,
  expensive, faded, foldable, fragile, gilded, handmade, heavy, hired, inherited, large, lightweight, little,
  long, matching, mended, miniature, narrow, old, oversized, padded, painted, patched, plain, polished,
  portable, rusty, scratched, second-hand, shiny, small, spare, stained, striped, sturdy, thick, thin, tiny,
  unused, vintage, waterproof, worn, wrapped
spot: the airing cupboard, the bathroom cabinet, the bedside table, the biscuit tin, the boiler room, the
  bookcase, the boot of the car, the bottom drawer, the bread bin, the broom cupboard, the bunk room, the
  car's glove box, the cedar chest, the chest of drawers, the china cabinet, the cloakroom, the coal shed, the
  conservatory, the cupboard under the stairs, the dog kennel, the dressing table, the fireproof safe, the
  fruit crate, the fuse box, the garden shed, the guest room, the hat box, the hay loft, the kitchen drawer,
  the laundry basket, the laundry room, the linen closet, the loft, the luggage rack, the medicine chest, the
  mud room, the music room, the office desk, the oak wardrobe, the pantry, the piano stool, the picnic basket,
  the porch, the potting shed, the pump house, the red toolbox, the root cellar, the sewing box, the shoe
  cupboard, the sideboard, the spare room, the stable, the storage unit, the study, the summer house, the tall
  cupboard, the tack room, the tea caddy, the tin trunk, the toy chest, the umbrella stand, the utility room,
  the wash house, the wicker hamper, the window seat, the wine rack, the wood store, the writing desk
room: room <1..40><room letter>, room <100..899>, the auditorium, the ballroom, the basement studio, the blue
  salon, the boardroom, the chapel, the clubroom, the common room, the conference suite, the corner office,
  the courtyard, the crypt, the dining hall, the drawing room, the east wing, the foyer, the gallery, the
  gymnasium, the <word> hall, the <word> room, the lecture theatre, the loading bay, the lounge, the marquee,
  the <last> hall, the mezzanine, the north pavilion, the observatory, the old refectory, the orangery, the
  penthouse, the reading room, the roof terrace, the seminar room, the sports hall, the staff canteen, the
  sunken garden, the tea room, the upper gallery, the vestry, the west tower
room letter: A, B, C, D, E
weekday: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday
month: January, February, March, April, May, June, July, August, September, October, November, December
ordinal: first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth, eleventh, twelfth,
  thirteenth, fourteenth, fifteenth, sixteenth, seventeenth, eighteenth, nineteenth, twentieth, twenty-first,
  twenty-second, twenty-third, twenty-fourth, twenty-fifth, twenty-sixth, twenty-seventh, twenty-eighth
minute: 00, 05, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55
small number: two, three, four, five, six, seven, eight, nine, ten, eleven, twelve
clock time: <8..22>:<minute>, <8..22>:<minute>, <1..11>:<minute> p.m., <8..11>:<minute> a.m., half past <small
  number>, quarter to <small number>, quarter past <small number>, <small number> o'clock, <1..10> p.m.,
  <7..11> a.m.
early time: <4..9>:<minute>, <5..9>:<minute> a.m., half past <early hour>, quarter to <early hour>, quarter
  past <early hour>, <early hour> o'clock
early hour: four, five, six, seven, eight, nine
late time: <20..23>:<minute>, <8..11>:<minute> p.m., half past <late hour>, quarter to <late hour>, quarter
  past <late hour>, <late hour> o'clock, midnight
late hour: eight, nine, ten, eleven
date: <month> <1..28>, <1..28> <month>, the <ordinal> of <month>, <weekday> the <ordinal>
full date: <1..28> <month> <coming year>, <month> <1..28> <coming year>, <coming year>-0<1..9>-<10..28>,
  <10..28>/0<1..9>/<coming year>
coming year: 2026, 2027, 2028, 2029, 2030, 2031, 2032, 2033, 2034, 2035
price: $<2..999>, $<2..99>.<minute>, <3..950> euros, €<3..950>, £<2..400>, £<2..60>.<minute>, <20..9000> yen,
  <20..4000> crowns, <10..900> francs, <10..900> rupees
big price: $<1..99>,<###>, <2..90> thousand euros, £<1..80>,<###>, <100..900> thousand crowns, $<1..9>.<1..9>
  million, €<1..99>,<###>
code: <####>, <#####>, <######>, <##-##-##>, <@###>, <@@-###>, <#@#@>, <@@####>, <###-###>, <*####>, <#####>
long code: <@@-####-@>, <###-@@-##>, <@@@#####>, <@#-####>, <@@@-###-@@@>, <####-####>, <@@##@@##>,
  <@-##/####>
secret: <syllables><##>, <syllables>-<syllables>, <syllables>_<####>, <wild animal><###>, <syllables>!<##>,
  <####><syllables>, <word><word><#>, <syllables>.<syllables>.<##>
phone: 0<###> <####>, <###>-<####>, 555-<####>, 0<##>-<######>, +<20..98> <###> <######>
plate: <@@ ### @@>, <@@## @@@>, <@@@-####>, <@-@@ ###>, <### @@@>, <####-@@@>
road: <word> <road part>, <word> <road part>, <last> <road part>, <Tree> <road part>
road part: Avenue, Boulevard, Close, Court, Crescent, Drive, Gardens, Grove, Hill, Lane, Mews, Parade, Place,
  Road, Row, Square, Terrace, Walk, Way, Wharf
address: <1..240> <road>, <1..240> <road>, <1..60>b <road>, flat <1..40> on <road>
tree: acacia, alder, ash, aspen, beech, birch, cedar, chestnut, cypress, elder, elm, fir, ginkgo, hawthorn,
  hazel, hickory, holly, hornbeam, juniper, larch, laurel, linden, magnolia, maple, mulberry, oak, pine,
  plane, poplar, redwood, rowan, spruce, sycamore, tamarisk, walnut, willow, yew
flower: anemones, asters, azaleas, begonias, bluebells, buttercups, camellias, carnations, chrysanthemums,
  cornflowers, crocuses, cyclamens, daffodils, dahlias, forget-me-nots, foxgloves, freesias, fuchsias,
  gardenias, geraniums, gladioli, heather, hibiscus, hollyhocks, hyacinths, hydrangeas, irises, jasmine,
  larkspur, lilies, lupins, magnolias, marigolds, nasturtiums, orchids, pansies, peonies, petunias, poppies,
  primroses, ranunculus, snapdragons, snowdrops, sunflowers, sweet peas, tulips, violets, wisteria, zinnias
pastime: amateur radio, baking bread, ballroom dancing, beekeeping, billiards, birdwatching, bouldering,
  bowling, bridge, calligraphy, candle making, canoeing, caving, choir singing, coin collecting, crochet,
  croquet, crosswords, curling, darts, embroidery, fly fishing, folk dancing, fossil hunting, geocaching,
  go-karting, horse riding, ice skating, judo, karaoke, kite flying, knitting, lacrosse, leathercraft,
  macramé, magic tricks, meditation, model railways, mountain biking, mushroom picking, orienteering,
  paragliding, parkour, photography, pilates, puppetry, quilting, rock climbing, roller skating, rowing,
  salsa, scuba diving, skiing, snooker, soap carving, squash, stamp collecting, stand-up comedy, sudoku, table
  tennis, tai chi, tap dancing, trampolining, unicycling, volleyball, water polo, watercolours, whittling,
  yoga
instrument: accordion, bagpipes, banjo, bass clarinet, bassoon, bongos, bugle, castanets, celesta, cello,
  clarinet, cornet, didgeridoo, double bass, drums, dulcimer, euphonium, flute, French horn, glockenspiel,
  harmonica, harp, harpsichord, hurdy-gurdy, lute, lyre, mandolin, marimba, oboe, ocarina, organ, pan flute,
  piano, piccolo, recorder, saxophone, sitar, tambourine, theremin, trombone, trumpet, tuba, ukulele, viola,
  xylophone, zither
subject: algebra, anatomy, ancient history, anthropology, art history, biochemistry, calculus, ceramics, civil
  engineering, classics, cognitive science, computer science, criminology, ecology, economics, electronics,
  entomology, ethics, film studies, food science, forestry, French literature, game theory, genetics,
  geometry, geophysics, glaciology, graphic design, immunology, international law, journalism, linguistics,
  logic, marine biology, marketing, materials science, mechanics, medieval history, meteorology, microbiology,
  music theory, neuroscience, nursing, nutrition, oceanography, optics, ornithology, palaeontology,
  pharmacology, philosophy, political science, psychology, robotics, sociology, statistics, theatre studies,
  theology, thermodynamics, topology, toxicology, urban planning, veterinary medicine, zoology
vehicle: camper van, cargo bike, caravan, convertible, delivery van, estate car, hatchback, jeep, lorry,
  minibus, moped, motorbike, motor scooter, people carrier, pickup truck, quad bike, racing bike, rowing boat,
  sailing dinghy, saloon, sidecar, snowmobile, sports car, station wagon, tandem, tractor, tricycle, trike,
  van
garment: apron, bathrobe, beanie, belt, blazer, blouse, bow tie, cape, cardigan, cloak, corduroy jacket, denim
  jacket, down vest, evening gown, fleece, kilt, kimono, overcoat, parka, poncho, pullover, raincoat, shawl,
  ski jacket, skirt, smock, sun hat, sweater, tracksuit, trench coat, tunic, turtleneck, tuxedo, uniform,
  waistcoat, wedding dress, wetsuit
material: alabaster, aluminium, bamboo, basalt, birch wood, brass, bronze, canvas, carbon fibre, cardboard,
  cast iron, cedar wood, clay, concrete, cork, cotton, crystal, denim, ebony, felt, fibreglass, flax, glass,
  granite, hemp, ivory nut, jute, lead, leather, limestone, linen, mahogany, marble, nickel, nylon, oak,
  paper, pewter, pine wood, plaster, plywood, porcelain, rattan, rubber, sandstone, satin, silk, slate,
  soapstone, stainless steel, straw, suede, teak, tin, titanium, tweed, velvet, wax, willow, zinc
gem: agate, amethyst, beryl, carnelian, diamond, garnet, jasper, lapis lazuli, malachite, moonstone, obsidian,
  onyx, opal, pearl, peridot, quartz, ruby, sapphire, spinel, sunstone, tiger's eye, topaz, tourmaline, zircon
shop: antiques shop, bakery, barber shop, bike shop, bistro, bookshop, butcher's, café, camera shop, candle
  shop, cheese shop, chemist's, cobbler's, comic shop, deli, diner, dry cleaner, fabric shop, fish counter,
  flower stall, garden centre, gift shop, hardware store, hat shop, ice cream parlour, jeweller's, juice bar,
  kiosk, launderette, market stall, music shop, noodle bar, paint shop, pet shop, phone shop, pizzeria, pub,
  record shop, shoe shop, sweet shop, tailor's, tea house, toy shop, wine bar, wool shop
eatery: bakery, beer garden, bistro, brasserie, burger bar, canteen, café, coffee house, creperie, deli,
  diner, fish bar, grill, ice cream parlour, inn, juice bar, milk bar, noodle bar, oyster bar, pancake house,
  pizzeria, pub, ramen shop, roadhouse, salad bar, soup kitchen, steakhouse, sushi bar, tavern, tapas bar, tea
  house, trattoria, wine bar
building: abbey, aquarium, archive annex, art school, bakery, bank, bathhouse, brewery, bus depot, cannery,
  castle, cathedral, cinema, city hall, clinic, clock tower, concert hall, convent, cotton mill, courthouse,
  dairy, distillery, embassy, exchange, factory, ferry terminal, fire station, foundry, gatehouse, granary,
  gym, hospital, hostel, hotel, ice rink, kiln, laboratory, lighthouse, mansion, market hall, mill, monastery,
  music school, observatory, opera house, orphanage, palace, planetarium, post office, power station, primary
  school, pumping station, sanatorium, sawmill, ski lodge, stadium, swimming pool, synagogue, tannery, tax
  office, temple, theatre, town hall, warehouse, water tower, windmill, youth centre
door: back door, barn door, bike shed, bin store, boathouse gate, bunker, cellar hatch, chapel door, cold
  store, control room, court gate, dispensary, dormitory, equipment room, fire exit, freight lift, front gate,
  garage door, gun room, instrument store, key cabinet, lab fridge, lecture hall, lift shaft, loading dock,
  locker room, mail room, main entrance, map room, medicine cabinet, meter cupboard, night entrance, parking
  barrier, plant room, pool gate, printing room, rear gate, records office, rooftop door, sample freezer,
  server room, side entrance, staff room, stationery cupboard, stockroom, strongroom, supply closet, switch
  room, tool store, tunnel gate, vault, visitor entrance
occasion: anniversary dinner, art auction, award ceremony, baby shower, bake sale, balloon race, barbecue,
  baptism, board meeting, book launch, budget review, Burns Night, car boot sale, carol concert, charity run,
  chess tournament, christening, coffee morning, craft fair, debating final, department lunch, dog show, dress
  rehearsal, engagement party, eye test, fashion show, fire drill, fish supper, flea market, flower show, fun
  run, game night, garden party, graduation, harvest supper, hearing, hen party, house-warming, job interview,
  jumble sale, karaoke night, kick-off, lantern walk, leaving party, medical check-up, midnight mass, naming
  ceremony, open day, orchestra rehearsal, parents' evening, picnic, plant swap, poetry slam, press
  conference, project review, pub quiz, puppet show, raffle, regatta, retirement party, reunion, safety
  briefing, school play, seed exchange, sports day, staff outing, stag night, stocktaking, street party,
  summer ball, surprise party, swimming gala, talent show, tax appointment, team breakfast, thesis defence,
  tree planting, vaccination, village fête, wedding, wine tasting, workshop, wrestling match
crossing: aqueduct, bridge, causeway, footbridge, jetty, overpass, passage, pier, tunnel, underpass, viaduct,
  walkway
gathering: assembly, ball, biennale, bonfire, carnival, championship, colloquium, conference, congress,
  convention, cup, derby, exhibition, expo, fair, feast, gala, games, hackathon, jamboree, marathon,
  masquerade, memorial, olympiad, pageant, parade, pilgrimage, procession, rally, regatta, retreat, seminar,
  summit, symposium, tournament, trade show, triathlon
device: air conditioner, alarm system, amplifier, baby monitor, boiler, camera drone, central heating,
  charger, coffee machine, copier, cordless drill, deep fryer, dehumidifier, desktop computer, dishwasher,
  doorbell, electric fence, espresso machine, exercise bike, fax machine, freezer, fridge, games console,
  garden sprinkler, hard drive, hearing aid, heat pump, hoover, induction hob, inkjet printer, intercom, iron,
  juicer, keyboard, lawn mower, microwave, modem, monitor, motion sensor, navigation system, oven, pager,
  paper shredder, pressure cooker, radio, rice cooker, robot vacuum, router, scanner, sewing machine, smoke
  detector, soundbar, space heater, speaker, stereo, tablet, television, thermostat, treadmill, tumble dryer,
  walkie-talkie, washing machine, water filter, weather station, webcam
machine: band saw, bottling line, bucket elevator, cement mixer, centrifuge, combine harvester, compressor,
  conveyor, crane, cutting table, diesel generator, drill press, embossing press, excavator, extruder,
  forklift, furnace, gantry, gear hobber, grinder, hydraulic press, injection moulder, kiln, label applicator,
  laser cutter, lathe, loom, metal detector, milling machine, mixer, offset press, palletiser, panel saw,
  planer, plasma torch, plotter, pump, punch press, reactor, riveter, rock crusher, roller mill, sander, seed
  drill, separator, spot welder, steam turbine, stone cutter, tower crane, tunnel borer, vacuum chamber, water
  jet, winch, wind turbine
program: accounting program, address book, antivirus, archiver, autopilot, backup job, ballot counter, billing
  service, booking system, build server, calendar app, camera driver, chat server, checkout page, compiler,
  crawler, database, dictionary app, dispatch console, drawing tool, email gateway, firewall, flight planner,
  game server, help desk, image viewer, inventory tracker, job scheduler, key manager, ledger, load balancer,
  log collector, login service, mail filter, map viewer, media player, message queue, mirror site, monitoring
  agent, package index, payroll system, photo editor, print server, proxy, report generator, router firmware,
  search index, shift planner, sound mixer, spam filter, spreadsheet, staging cluster, survey tool, telemetry
  hub, test runner, text editor, ticket system, time tracker, translation tool, vector store, video encoder,
  voice mail, web shop, wiki
ship: barge, brig, catamaran, clipper, cruise liner, cutter, destroyer, dredger, ferry, fireboat, freighter,
  frigate, galleon, gunboat, houseboat, hovercraft, hydrofoil, icebreaker, junk, ketch, lifeboat, lightship,
  lugger, minesweeper, oil tanker, paddle steamer, patrol boat, pilot boat, racing yacht, rescue boat, sailing
  ship, schooner, sloop, submarine, supply vessel, trawler, trimaran, tugboat, whaler, yawl
cargo: aircraft parts, bananas, barley, bauxite, beer kegs, bicycles, books, bricks, cement, cheese, coal,
  cocoa beans, coffee, copper wire, corn, cotton bales, dried fish, fertiliser, fire engines, flour, frozen
  peas, furniture, gravel, grain, iron ore, lamp oil, lemons, machine parts, marble slabs, medicines, mineral
  water, molasses, newsprint, onions, paper rolls, piano frames, pineapples, plywood, potatoes, rice, rubber,
  salt, sheep, silk, soap, spices, steel beams, sugar, sulphur, tea, timber, tin ore, tobacco, tyres, wheat,
  whisky, wine, wool
landscape: bog, canyon, cape, cave, cliff, desert, dune, fen, fjord, forest, geyser, glacier, gorge, heath,
  hill, island, lagoon, lake, marsh, meadow, mesa, moor, oasis, pass, peninsula, plateau, pond, quarry,
  rapids, ravine, reef, reservoir, ridge, river, sandbank, spring, steppe, strait, swamp, valley, volcano,
  waterfall, wood
game: card game, board game, dice game, tile game, role-playing game, video game, word game, ball game, party
  game
sport team: <word> <team group>, <team quality> <team group>, <team quality> <team group> of <word>
team quality: Amber, Brave, Bright, Burning, Copper, Crimson, Dancing, Eastern, Electric, Flying, Frozen,
  Gallant, Granite, Hidden, Humming, Jolly, Laughing, Lucky, Marble, Midnight, Mighty, Northern, Roaring,
  Royal, Rolling, Running, Scarlet, Southern, Swift, Thundering, Velvet, Western, Whistling, Wild
team group: Admirals, Anglers, Archers, Badgers, Brewers, Cannons, Captains, Comets, Cyclones, Dragons,
  Engines, Gamblers, Giants, Gulls, Herons, Hornets, Jesters, Knights, Lancers, Mariners, Meteors, Miners,
  Monarchs, Otters, Pioneers, Pirates, Rangers, Rockets, Rovers, Sailors, Sentinels, Shamrocks, Spartans,
  Stallions, Strikers, Thistles, Titans, Trojans, Vikings, Wanderers, Wasps, Wizards
sport: badminton, bandy, baseball, basketball, beach volleyball, cricket, curling, cycling, field hockey,
  floorball, football, futsal, golf, gymnastics, handball, ice hockey, judo, kayaking, korfball, lacrosse,
  netball, polo, rowing, rugby, shot put, snooker, softball, squash, swimming, table tennis, tennis,
  triathlon, volleyball, water polo, wrestling
print: biography, diary, guidebook, novel, novella, pamphlet, play, poem, short story, thriller, travelogue
work of art: ballet, ballad, cantata, cartoon, comic, documentary, etching, fresco, lullaby, mosaic, mural,
  musical, opera, opera buffa, overture, painting, play, podcast, poem, quartet, radio play, requiem,
  sculpture, sea shanty, short story, sitcom, sonata, statue, string trio, symphony, tapestry, waltz, woodcut
art object: carving, collage, drawing, etching, fresco, installation, lithograph, mosaic, mural, oil painting,
  pastel, photograph, portrait, relief, sculpture, statue, tapestry, triptych, watercolour, woodcut
work title: The <team quality> <title word>, <word> at Dawn, A Winter in <word>, The <title word> of <word>,
  <word> and <word>, Letters to <first>, The Last <title word>, <number word> <team group>, The <title word>'s
  Secret, <first> Alone, <title word> and <title word>, No <title word> for <first>
title word: Acrobat, Anchor, Bell, Beekeeper, Candle, Carousel, Chapel, Clockmaker, Cloud, Corridor, Dagger,
  Doctor, Ember, Envelope, Ferry, Feather, Forest, Gambler, Gardener, Glacier, Harvest, Heron, Horizon,
  Island, Jackdaw, Jester, Keyhole, Kingdom, Labyrinth, Lagoon, Locksmith, Mapmaker, Marsh, Meadow, Nettle,
  Orchard, Otter, Painter, Parade, Pendulum, Pilgrim, Quarry, Raven, Riddle, River, Salt, Scarecrow, Shepherd,
  Signal, Sparrow, Staircase, Stranger, Thistle, Thunder, Tide, Tower, Traitor, Tunnel, Voyage, Watchman,
  Whale, Widow, Window, Witness
number word: Two, Three, Four, Five, Six, Seven, Eight, Nine, Ten, Eleven, Twelve, Thirteen, Twenty
illness: a bad back, a broken ankle, a cracked rib, a frozen shoulder, a kidney stone, a slipped disc, a
  sprained wrist, a stomach ulcer, a torn ligament, anaemia, arthritis, asthma, bronchitis, carpal tunnel
  syndrome, chickenpox, eczema, gout, hay fever, high blood pressure, insomnia, jet lag, laryngitis, measles,
  migraine, mumps, pneumonia, rosacea, sciatica, shingles, sinusitis, sleep apnoea, tendonitis, tinnitus,
  tonsillitis, vertigo, whiplash, whooping cough
medicine: <syllables>ine, <syllables>ol, <syllables>amide, <syllables>ex, <syllables>ozine, <syllables>oxil
quantity: <2..900> grams, <2..90> litres, <10..950> millilitres, <2..40> cups, <2..60> kilos, <2..50>
  spoonfuls
recipe amount: <20..900> grams, <20..900> millilitres, <2..9> cups, <2..12> spoonfuls, a handful, a pinch,
  half a cup, a jar, <3..30> ounces
distance: <2..990> km, <2..900> miles, <3..60> kilometres
weight: <2..980> kg, <2..900> grams, <2..90> tonnes, <3..400> pounds
heat: <2..99> degrees, <-30..-2> degrees, <100..1900> degrees, <101..900> kelvin
weather: <2..38> degrees, <-25..-2> degrees, heavy rain, thick fog, hail, sandstorms, bright sunshine, snow,
  thunderstorms, sleet, warm wind, black ice, drizzle, strong gusts
count: <2..99>, <2..99>, <100..999>, <1..98>,<###>
phobia: balloons, bats, bees, bridges, clowns, cows, crowds, dentists' drills, deep water, dogs, earthquakes,
  elevators, escalators, fire, flying, geese, ghosts, heights, horses, lightning, loud bangs, masks, mice,
  moths, needles, open spaces, owls, pigeons, scarecrows, sharks, silence, slugs, snakes, spiders, stage
  lights, swans, the dark, thunder, tunnels, wasps
gift: a ballet ticket, a bonsai tree, a bottle of port, a box of pralines, a bread machine, a cactus, a
  cashmere scarf, a chess set, a cooking course, a drone, a fountain pen, a framed map, a globe, a hammock, a
  hand-knitted hat, a hot-air balloon ride, a jar of honey, a jigsaw puzzle, a juicer, a leather belt, a lava
  lamp, a model ship, a mug, a pair of slippers, a perfume, a picture frame, a pocket radio, a pottery bowl, a
  puppet, a recipe book, a record player, a ring, a set of knives, a silk tie, a snow globe, a spa weekend, a
  star chart, a subscription, a sundial, a tea set, a terrarium, a theatre voucher, a tool kit, a wall
  calendar, a watch, a wind chime, concert tickets, gardening gloves, roller skates, silver cufflinks, walking
  poles
habit: a cold shower, a crossword, a glass of hot water, a long walk, a nap, a page of a diary, a round of
  solitaire, a short prayer, a swim, an episode of a soap opera, breathing exercises, ten minutes of drumming,
  twenty press-ups, scales on the piano, sit-ups, sorting stamps, stretching, the shipping forecast, three
  cups of tea, toast with marmalade, watering the plants, weeding, writing postcards, yoga, feeding the ducks,
  sweeping the yard, chopping wood, polishing shoes
transport: airship, bus, cable car, coach, commuter train, dog sled, electric scooter, express train, ferry,
  folding bike, funicular, helicopter, hired car, hydrofoil, kick scooter, minibus, monorail, motorbike,
  narrowboat, night train, overnight coach, rickshaw, seaplane, shuttle bus, sleeper train, speedboat, taxi,
  tram, trolleybus, tuk-tuk, underground, water taxi
ambition: adopt a greyhound, build a cabin, build a telescope, buy a vineyard, bake for a living, climb
  Kilimanjaro, cross the Atlantic, cycle to <city>, dance in <city>, design a board game, direct a film,
  emigrate to <country>, get a pilot's licence, grow oranges, keep bees, learn <language>, learn to juggle,
  learn to tango, move to <city>, open <a shop>, open <a shop>, play the <instrument>, play the <instrument>,
  plant an orchard, restore <a vehicle>, retire to <country>, ride across <country>, run a marathon, run for
  mayor, sail to <country>, see <a wild animal> in the wild, sing in <city>, start a choir, study <subject>,
  swim the Channel, teach <subject>, train as <a job>, visit <country>, walk to <city>, write a thriller
element: <syllables>ium, <syllables>on, <syllables>ite, <syllables>ene, <syllables>ide
shape: a crescent, a cube, a diamond, a dome, a figure of eight, a hexagon, a horseshoe, a key, a kidney, a
  leaf, a pear, a pentagon, a pyramid, a ring, a shell, a spiral, a star, a teardrop, a trapezium, a wedge, an
  arrow, an egg, an octagon
smell: bitter almonds, burnt sugar, camphor, candle wax, cedar, cloves, diesel, fresh bread, freshly cut
  grass, gunpowder, hot tar, lavender, leather, lemon peel, liquorice, mothballs, old books, peppermint, pine
  resin, rain, roses, rotten eggs, seaweed, smoke, sour milk, toffee, turpentine, vanilla, vinegar, violets,
  wet dog, wet wool
power: breathing under water, changing colour, controlling fog, flying backwards, freezing rivers, growing
  crystals, healing wounds, hearing thoughts, hypnotising fish, lifting boulders, melting glass, moving
  shadows, reading dreams, reversing rivers, seeing in the dark, sensing lies, singing ships to sleep,
  stopping clocks, summoning <beasts>, summoning <beasts>, talking to <beasts>, talking to <beasts>, turning
  into <a wild animal>, turning into <a wild animal>, turning lead into <gem>, walking through walls, waking
  the dead
treasure: a bone flute, a bronze bell, a chest of coins, a clay tablet, <a gem> crown, <a gem> ring, <a gem>
  sceptre, <a gem> amulet, a glass eye, a golden comb, a jar of ashes, a jewelled dagger, a map of <word>, a
  map of <word>, <a material> mask, <a material> casket, <a material> goblet, a sealed letter, a silver horn,
  an iron key, the horn of <a wild animal>, the tooth of <a wild animal>
file place: /<folder>/<syllables>, /<folder>/<syllables>/<syllables>, /srv/<syllables>,
  ~/<syllables>/<syllables>, D:\<syllables>\<syllables>
folder: data, etc, home, mnt, opt, scratch, tmp, usr/local, var/cache, var/lib
network address: 10.<1..250>.<1..250>.<1..250>, 192.168.<1..250>.<1..250>, 172.16.<1..250>.<1..250>
handle: @<syllables><##>, @<syllables>_<syllables>, <syllables>.<syllables>, @the_<wild animal>_<##>
mail: <syllables>@<syllables>.example, <syllables>.<syllables>@<syllables>.example,
  <syllables><##>@<syllables>.example
company position: apprentice, art director, chief accountant, chief engineer, data protection officer, deputy
  director, fire warden, first aider, floor manager, head cook, head gardener, head of marketing, head of
  personnel, head of purchasing, head of research, head of sales, in-house lawyer, night porter, office
  manager, payroll clerk, plant manager, press officer, quality inspector, safety officer, shift leader, site
  manager, switchboard operator, treasurer, union representative, warehouse manager
town office: bailiff, beadle, burgomaster, chief librarian, chief of police, chief surgeon, coroner, fire
  chief, forest warden, head teacher, harbour master, judge, lamplighter, lock keeper, mayor, music director,
  park keeper, postmaster, prefect, school inspector, sheriff, station master, tax collector, town clerk, town
  crier, vicar
goods: artificial turf, baby food, ball bearings, barometers, bassoons, bath tiles, bells, bicycle pumps, bird
  cages, brushes, buttons, camping stoves, candles, canned soup, car seats, carpets, chess sets, church
  organs, cider, clock faces, coffee filters, contact lenses, crayons, door handles, drones, egg boxes,
  elevator doors, envelopes, false teeth, fireworks, fishing nets, flags, garden gnomes, glass eyes, glue,
  greeting cards, hair clips, hiking maps, hinges, hot sauce, ice cream cones, incense, ink, jam jars, kites,
  lampshades, life rafts, light bulbs, locks, marbles, matches, mattresses, mousetraps, mustard, needles,
  oars, paint brushes, paper bags, parachutes, pencils, perfume, piano strings, pillows, playing cards,
  postage scales, potato peelers, puzzles, raincoats, razor blades, roof tiles, rope, saddles, safety helmets,
  sails, school chalk, scissors, shoelaces, skis, snow shovels, soap, solar lamps, spectacle frames, sponges,
  stamps, sunscreen, surgical thread, tea bags, tents, thermometers, toothbrushes, train sets, trombones,
  vending machines, violin strings, wallpaper, wax seals, weighing scales, whistles, windows, zips
style: Art Deco, Baroque, brick Gothic, Brutalist, Byzantine, Edwardian, Georgian, Moorish, neo-Gothic,
  neoclassical, Palladian, Prairie style, Renaissance, Rococo, Romanesque, timber-framed, Tudor, Victorian
craft: basket weaving, bell founding, boat building, bookbinding, brass engraving, cheese making, clock
  making, cooperage, glass blowing, glove making, hat making, lace making, lute making, paper making, pewter
  casting, rope making, saddlery, shoe making, silk weaving, straw plaiting, tile painting, wood carving
mascot: <a colour> <wild animal>, a dancing <wild animal>, <a wild animal> in a top hat, a sleepy <wild
  animal>, <a wild animal> on skates
kinswoman: sister-in-law, mother, niece, goddaughter, stepdaughter, daughter, half-sister, grandmother,
  great-aunt, mother-in-law, granddaughter, stepmother, fiancée, twin sister
kinsman: brother-in-law, father, nephew, godson, stepson, son, half-brother, grandfather, grandson,
  great-uncle, father-in-law, stepfather, fiancé, twin brother
associate: guardian, landlord, solicitor, flatmate, deputy, mentor, secretary, dance partner, bridge partner,
  physiotherapist, manager, agent, publisher, successor, predecessor, rival, ghostwriter, assistant,
  bodyguard, best customer, spokesperson
feast: a tenth birthday, a fortieth birthday, Christmas, Easter, Hanukkah, Eid, Diwali, graduation, New Year,
  name day, retirement, the last birthday, the silver wedding, St. Nicholas' Day, Midsummer, Valentine's Day,
  the farewell party, the house-warming, confirmation, promotion
journey: the <weekday> ferry, the bus to <town>, the flight to <city>, the flight to <town>, the night bus to
  <city>, the coach to <town>, the sleeper to <city>, the ferry to <town>
collectable: antique maps, autographs, bank notes, beer mats, bookmarks, bottle openers, brass buttons,
  butterflies, chess sets, china dogs, cinema posters, coffee cups, comic books, corkscrews, dolls, door
  knockers, egg cups, fans, feathers, first editions, fossils, fountain pens, glass paperweights, hat pins,
  inkwells, ivory dice, keys, marbles, matchboxes, menus, meteorites, milk bottles, model trains, musical
  boxes, old coins, opera programmes, paper planes, pebbles, pencil sharpeners, perfume bottles, pinecones,
  playbills, postcards, railway tickets, recipes, rubber ducks, sea shells, shot glasses, snow globes, spoons,
  stamps, sugar packets, swords, tea towels, teddy bears, thimbles, tin soldiers, toy cars, typewriters, vinyl
  records, wind-up toys
nickname: Ace, Beans, Biscuit, Boots, Bubbles, Buster, Captain, Champ, Chip, Coach, Doc, Duke, Flash,
  Freckles, Ghost, Ginger, Goose, Hawkeye, Jinx, Kipper, Lefty, Lucky, Moose, Muffin, Ninja, Noodle, Nugget,
  Peanut, Pepper, Pickles, Pirate, Pixie, Professor, Radar, Red, Rocket, Sarge, Scout, Shorty, Skipper,
  Smiley, Sparky, Speedy, Spud, Squeak, Sunny, Tank, Tiger, Tiny, Toffee, Turbo, Waffles, Whiskers, Ziggy
band: The <team quality> <team group>, <word>, The <team group>, <word> and the <team group>, <first> <last>,
  The <last> Quartet
slogan word: bold, bright, brave, calm, clean, close, cosy, crisp, dry, easy, fair, fast, firm, fresh, gentle,
  good, handy, honest, kind, light, local, loud, mild, neat, nimble, open, pure, quick, quiet, ready, safe,
  sharp, simple, sleek, smart, smooth, soft, solid, steady, strong, sweet, tasty, tidy, true, warm, wise
club: allotment society, amateur dramatics society, angling club, astronomy club, bird society, boxing club,
  brass band, bridge club, camera club, canoe club, chess club, choir, cycling club, dance circle, debating
  society, film club, fire brigade, folk club, garden club, historical society, investment club, kennel club,
  knitting circle, model railway club, mountaineering club, neighbourhood watch, orchestra, pistol club,
  poetry circle, quilting circle, ramblers' club, reading group, rifle club, rowing club, running club,
  sailing club, scout group, ski club, swimming club, tennis club, theatre group, wine society, writers'
  circle, yacht club, youth orchestra
school: academy, agricultural college, ballet school, business school, cookery school, drama school, driving
  school, evening school, gymnasium, high school, language school, lycée, middle school, music academy,
  nursery school, preparatory school, primary school, riding school, sailing school, secondary school, ski
  school, sports college, technical college
school class: class <1..9><room letter>, year <1..12>, the beginners, the evening class in <subject>,
  <subject>, <subject>
paper: Advertiser, Argus, Bugle, Chronicle, Clarion, Courier, Echo, Examiner, Gazette, Herald, Independent,
  Journal, Mail, Mercury, Messenger, Observer, Post, Record, Sentinel, Standard, Telegraph, Times, Tribune,
  Voice
season feast: All Souls' Day, Candlemas, carnival, Christmas, Easter, Epiphany, Halloween, harvest time, May
  Day, Midsummer, New Year, Pancake Day, St. Martin's Day, St. Nicholas' Day, the first snow, the spring
  equinox, the winter solstice, Whitsun
setting: batch size, buffer size, cache size, colour depth, connection limit, debug level, disk quota,
  download limit, font size, frame rate, dead time, heartbeat, history length, idle timeout, lock timeout, log
  level, login timeout, memory limit, number of workers, page size, polling interval, queue length, rate
  limit, refresh interval, retention time, retry limit, sample rate, session length, stack size, thread count,
  upload limit, volume, watchdog interval, zoom level
command: close all windows, compare two files, copy a row, delete a line, duplicate a page, export a table,
  find a word, freeze the screen, go back, hide the menu, insert a date, join two cells, lock the screen, mark
  everything, merge layers, mute the sound, open the log, paste plain text, print a page, record a macro,
  reload everything, rename a file, repeat the last step, rotate the picture, save a copy, sort a list, divide
  the view, switch users, take a snapshot, undo a change, zoom in, zoom out
symptom: asks twice, beeps all night, counts wrong, crashes on <weekday>s, deletes drafts, doubles invoices,
  drops messages, eats memory, empties the cart, forgets the language, freezes at noon, hides the menu,
  ignores clicks, jumps a line, leaks files, logs out everyone, loses photos, mixes up names, opens twice,
  prints blanks, rejects umlauts, repeats itself, runs too slowly, shows the wrong date, skips a page, sorts
  backwards, starts too late, stops at midnight, times out, turns everything grey
dwelling: apartment, attic flat, basement flat, bungalow, cabin, chalet, condominium, cottage, farmhouse,
  holiday flat, houseboat, loft, maisonette, mill house, penthouse, studio, tower flat, town house, villa,
  yurt
plant: African violet, agave, aloe, amaryllis, asparagus fern, bamboo palm, banana plant, basil pot, bonsai,
  cactus, calathea, Christmas cactus, coffee plant, dragon tree, fig tree, gardenia, ivy, jade plant, lemon
  tree, lucky bamboo, Monstera, olive tree, orchid, peace lily, philodendron, poinsettia, rubber plant, snake
  plant, spider plant, umbrella plant, Venus flytrap, weeping fig, yucca
brand food: <word> flakes, <word> biscuits, <word> pellets, tinned <beasts>, <word> mix
insured: bicycle, boat, car, cottage, dog, flat, glasses, horse, jewellery, laptop, motorbike, phone, watch,
  <instrument>, <vehicle>
furniture: armchair, bathtub, bed, bench, bookcase, bookshelf, bunk bed, chaise longue, chest, coat rack,
  coffee table, cot, couch, cupboard, desk, dining table, display case, divan, dresser, filing cabinet, garden
  bench, headboard, hi-fi rack, kitchen counter, kitchen table, mantelpiece, mattress, plant stand, rocking
  chair, rug, shoe rack, shower curtain, sideboard, sofa, standing desk, stool, stove, trunk, wardrobe, wash
  basin, wine rack, workbench
team piece: castle, coin, crown, dragon, flag, fortress, gate, ghost, giant, horn, jewel, joker, king, moon,
  pawn, phoenix, queen, ring, rook, shield, star, sun, sword, throne, token, wheel, wizard
cue word: <wild animal>, <tree>, <gem>, <material>, <syllables>, <syllables>, <instrument>
)";

}  // namespace mplus::train::made
