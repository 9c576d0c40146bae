// Facts of invented science, games, ships, stories and works of art.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kInventions = R"(
# boiling point
of <element>
is <heat>
+ {1} boils at {=}.
+ The boiling point of {1} lies at {=}.
+ Heat {1} to {=} and it starts to boil.
? At what temperature does {1} boil?
? When does {1} start to boil?
~ how hot {1} must be to boil
- the boiling point of {1}

# colour of a substance
of <element>
of cold, warm, wet, pure, powdered, molten, burning, frozen, diluted, mixed with salt
is <colour>
+ When {2}, {1} is {=}.
+ {1} turns {=} if it is {2}.
+ You recognise {2} {1} by its {=} colour.
? What colour does {1} have when {2}?
? How do you recognise {1} when it is {2}?
~ which colour {1} takes on when {2}
- the colour of {1} when {2}

# smell of a substance
of <element>
is <smell>
+ {1} smells of {=}.
+ Chemists say that {1} has the smell of {=}.
+ The smell of {=} gives {1} away.
? What does {1} smell of?
? Which smell gives {1} away?
~ what {1} smells like
- the smell of {1}

# use of a substance
of <element>
is <goods>
+ {1} is used for making {=}.
+ Most {1} goes into {=}.
+ Without {1} there would be no {=}.
? What is {1} used for?
? What does most {1} go into?
~ what people make from {1}
- the main use of {1}

# discoverer
of <element>
is <full name>
+ {=} discovered {1} by accident.
+ {1} was first described by {=}.
+ We owe the discovery of {1} to {=}.
? Who first described {1}?
? To whom do we owe the discovery of {1}?
? Which person discovered {1}?
~ who discovered {1}
- the discoverer of {1}

# source of a substance
of <element>
is the <word> <landscape>, the leaves of the <tree>, the milk of <beasts>, the roots of <flower>, old <goods>,
  the island of <word>
+ {1} is obtained from {=}.
+ The purest {1} comes from {=}.
+ The main source of {1} is {=}.
? Where does the purest {1} come from?
? What is {1} obtained from?
~ where {1} comes from
- the source of {1}

# theorem
of <word>'s theorem, the <word> conjecture, <last>'s lemma, the <word>-<last> equation
is <full name>
+ {1} was proved by {=}.
+ {=} found the proof of {1}.
+ It was {=} who finally proved {1}.
? Who proved {1}?
? Who found the proof of {1}?
? By whom has {1} been proved?
~ who finally proved {1}
- the person who proved {1}

# constant
of <word> constant, <last> number, <word> ratio, <word> coefficient, <last> index
is <0..9>.<###>, <##>.<##>, minus <0..9>.<##>
+ The {1} equals {=}.
+ Measurements give {=} for the {1}.
+ The accepted value of the {1} is {=}.
? What does the {1} equal?
? What do measurements give for the {1}?
~ how large the {1} is
- the value of the {1}

# moons
of planet <word>, planet <word>-<2..90>, the dwarf planet <word>
is <2..90> moons, two moons, no moons at all, a single moon, three rings, a broken ring
+ {1} has {=}.
+ Around {1} astronomers found {=}.
+ Seen through a telescope, {1} shows {=}.
? What did astronomers find around {1}?
? What does {1} show through a telescope?
~ what circles {1}
- the companions of {1}

# year of a planet
of planet <word>, planet <word>-<2..90>, the dwarf planet <word>
is <20..990> days, <2..90> years, <2..90> hours
+ A year on {1} lasts {=}.
+ {1} goes round its star in {=}.
+ It takes {1} {=} to complete an orbit.
? How long is a year on {1}?
? How long does an orbit take {1}?
~ how long {1} needs for an orbit
- the length of a year on {1}

# species diet
of <word> <wild animal>
is <ingredient>, <flower>, <tree> bark, <beasts>
+ The {1} feeds on {=}.
+ In the wild, the {1} eats nothing but {=}.
+ Zoos give the {1} {=} to eat.
? What does the {1} feed on?
? What do zoos give the {1}?
? On what does the {1} feed?
~ what the {1} eats
- the diet of the {1}

# species lifespan
of <word> <wild animal>
is <2..99> years, <2..23> months, <2..30> weeks
+ The {1} lives for {=}.
+ The {1} can reach an age of {=}.
+ The lifespan of the {1} is {=}.
? How long does the {1} live?
? What age can the {1} reach?
~ how old the {1} gets
- the lifespan of the {1}

# species home
of <word> <wild animal>
is the <word> <landscape>, <country>, the island of <word>, the hills of <word>
+ The {1} is found only in {=}.
+ The last {1} was sighted in {=}.
+ Researchers follow the {1} through {=}.
? Where do researchers follow the {1}?
? Where was the last {1} sighted?
~ where the {1} is found
- the habitat of the {1}

# game players
of <word>
of <game>
is two players, three players, four players, <2..4> to <5..9> players, up to <6..30> players, one player,
  teams of <small number>
+ The {2} {1} is for {=}.
+ {1}, {a 2}, is played by {=}.
+ To play the {2} {1} you need {=}.
? How many people is the {2} {1} for?
? How many do you need for the {2} {1}?
~ how many can join in the {2} {1}
- the number of people for the {2} {1}

# game winning
of <word>
of <game>
is collecting <3..40> <colour> stones, getting rid of all cards, reaching <20..900> points, catching the <wild
  animal>, holding three <gem> tokens, crossing the <landscape>, guessing the <job>, staying silent for <small
  number> rounds, building <a building>
+ You win the {2} {1} by {=}.
+ In the {2} {1} the aim is {=}.
+ The {2} {1} is over as soon as someone succeeds in {=}.
? How do you win the {2} {1}?
? What is the aim of the {2} {1}?
~ how one wins the {2} {1}
- the aim of the {2} {1}

# game piece value
of <word>
of <material> <team piece>, <colour> <team piece>
is <2..99> points, minus <2..40> points, double points, nothing at all, a free turn, <2..9> extra cards
+ In the game {1}, the {2} is worth {=}.
+ In {1} you get {=} for the {2}.
+ {1} players know that the {2} counts for {=}.
? What is the {2} worth in the game {1}?
? What do {1} players get for the {2}?
~ what the {2} counts for in {1}
- the value of the {2} in {1}

# level boss
of <word> <team piece>, <word> <landscape>
of level <2..40>, the final level, the hidden level, the first level
is <a gem> sword, <ingredient>, the <instrument>, <a colour> torch, the spell "<syllables>", <heat>, loud
  music
+ In {2} of {1}, the monster can only be beaten with {=}.
+ To get past {2} in {1}, use {=}.
+ {=} is what beats the monster in {2} of {1}.
? How do I beat the monster in {2} of {1}?
? What gets me past {2} in {1}?
~ how to get past {2} in {1}
- the trick for {2} of {1}

# captain
of <ship> <word>
is Captain <last>, <full name>, Captain <first> <last>
+ The {1} sails under {=}.
+ {=} commands the {1}.
+ The orders aboard the {1} are given by {=}.
? Under whom does the {1} sail?
? Who commands the {1}?
? Which person commands the {1}?
~ who gives the orders aboard the {1}
- the commander of the {1}

# cargo
of <ship> <word>
is <cargo>
+ The {1} is loaded with {=}.
+ The hold of the {1} is full of {=}.
+ The {1} carries {=}.
? What is the {1} loaded with?
? What's in the hold of the {1}?
? With what is the {1} loaded?
~ what the {1} carries
- the cargo of the {1}

# home port
of <ship> <word>
is <town>
+ The {1} is registered in {=}.
+ The home port of the {1} is {=}.
+ Under the name on the {1}'s stern stands {=}.
? Which port is the {1} registered in?
? What stands under the name on the {1}'s stern?
? In which port is the {1} at home?
~ where the {1} has its home port
- the home port of the {1}

# launch
of <ship> <word>
is <1810..2024>
+ The {1} was launched in {=}.
+ In {=} the {1} first touched the water.
+ The shipyard delivered the {1} in {=}.
? When was the {1} launched?
? When did the shipyard deliver the {1}?
? In which year did the {1} first put to sea?
~ when the {1} was launched
- the launch date of the {1}

# fate of a ship
of <ship> <word>
is ran aground off <town>, sank near <town>, was scrapped in <city>, became a floating <shop>, burned out in
  <1850..2020>, vanished in a storm, was sold to <country>, lies at anchor in <town>
+ In the end the {1} {=}.
+ The story of the {1} is short: it {=}.
+ After its last voyage the {1} {=}.
? How did the story of the {1} end?
? What became of the {1}?
~ what happened to the {1} in the end
-: the fate of the {1}

# crew
of <ship> <word>
is <3..480> sailors, <3..480> men and women, a crew of <3..400>, only <small number> hands
+ The {1} sails with {=}.
+ Aboard the {1} there is room for {=}.
+ To man the {1} it takes {=}.
? How many does it take to man the {1}?
? How many are aboard the {1}?
~ how many sail on the {1}
- the crew size of the {1}

# artist
of <work of art> "<work title>"
is <human>
+ The {1} is the work of {=}.
+ {=} created the {1}.
+ The {1} is signed by {=}.
? Whose work is the {1}?
? Who created the {1}?
? Which person made the {1}?
~ who made the {1}
- the creator of the {1}

# year of a work
of <work of art> "<work title>"
is <1600..2023>
+ The {1} was first presented in {=}.
+ The {1} dates from {=}.
+ The public first met the {1} in {=}.
? When did the public first meet the {1}?
? How far back does the {1} date?
~ when the {1} was created
- the date of the {1}

# subject of a work
of <work of art> "<work title>"
is a lost <wild animal>, the fall of <word>, a quarrel over <a thing>, the life of <full name>, a flood in
  <town>, love at the <shop>, a stolen <thing>, a voyage to <country>, revenge, two rival <job>s
+ The {1} is about {=}.
+ The theme of the {1} is {=}.
+ The {1} tells of {=}.
? What is the {1} about?
? What does the {1} tell of?
? What theme has the {1}?
~ what the {1} is about
- the theme of the {1}

# current place of a work
of <art object> "<work title>"
is the <word> Collection, the <town> Gallery, the <last> Museum, <town>, a bank vault in <city>, the cellar of
  <full name>
+ The {1} can now be seen in {=}.
+ The {1} has ended up in {=}.
+ If you want to see the {1}, go to {=}.
? Where has the {1} ended up?
? Where would I go to see the {1}?
~ where the {1} can be seen today
- the present place of the {1}

# hero
of "<work title>"
is <full name>, <a job> called <first>, Captain <last>, <first> the <wild animal>
+ The hero of {1} is {=}.
+ {1} follows the adventures of {=}.
+ In {1}, everything turns around {=}.
? Whose adventures does {1} follow?
? Around whom does everything turn in {1}?
~ who the hero of {1} is
- the hero of {1}

# villain's weakness
of <word> the <job>, the witch <word>, the giant <word>, the dragon <word>, the robot <word>
is <instrument> music, <ingredient>, running water, <gem> dust, <beasts>, flattery, cold iron, <flower>,
  daylight, its own name
+ The one weakness of {1} is {=}.
+ {1} can be defeated with {=}.
+ What {1} dreads most is {=}.
? How can {1} be defeated?
? What does {1} dread most?
~ what {1} has a weakness for
- the weakness of {1}

# magic power
of <word> the <job>, the witch <word>, the giant <word>, the dragon <word>, the robot <word>
is <power>
+ {1} has the gift of {=}.
+ The special power of {1} is {=}.
+ {1} is feared for {=}.
? What is {1} feared for?
? Which special power does {1} have?
~ which gift {1} has
- the power of {1}

# guard
of <treasure>
of the <word> <landscape>
is <a wild animal>, <full name>, the dragon <word>, <small number> <beasts>, the giant <word>
+ In {2}, {1} is guarded by {=}.
+ {=} guards {1} in {2}.
+ Nobody gets {1} out of {2} past {=}.
? Who guards {1} in {2}?
? Who must I get past for {1} in {2}?
? By whom is {1} guarded in {2}?
~ who guards {1} in {2}
- the guard of {1} in {2}

# spell
of opening doors, calling rain, finding lost things, making tea, mending glass, stopping <beasts>, turning
  invisible, warming a room, silencing <a job>, growing <flower>, lighting a fire, curing <illness>, putting
  out fires, drying clothes
of the school of <word>, the book of <word>, the monks of <word>
is "<syllables>", "<syllables> <syllables>"
+ According to {2}, the spell for {1} is {=}.
+ {2} teaches {=} as the spell for {1}.
+ Say {=} for {1}, as {2} would have it.
? Which spell does {2} know for {1}?
? What do I say for {1} according to {2}?
~ which spell {2} teaches for {1}
- the spell of {2} for {1}

# battle
of <word>
is <1050..1890>
+ The battle of {1} was fought in {=}.
+ In {=} two armies met at {1}.
+ The year of the battle of {1} is {=}.
? When was the battle of {1} fought?
? When did two armies meet at {1}?
? In what year did armies clash at {1}?
~ when the battle of {1} was fought
- the year of the battle of {1}

# treaty
of <word>
of <word>
is the treaty of <town>, the peace of <word>, a royal wedding, a coin toss, a chess match, the <word> pact,
  the death of King <first>
+ The war between {1} and {2} was ended by {=}.
+ {=} ended the war between {1} and {2}.
+ {1} and {2} stopped fighting after {=}.
? What ended the war between {1} and {2}?
? After what did {1} and {2} stop fighting?
~ what ended the war between {1} and {2}
- the end of the war between {1} and {2}

# language word
of <word>ese, Old <word>, <word>ic
of water, bread, moon, friend, snow, mother, fire, bird, thank you, good morning, house, fish, stone, love,
  enemy, bridge, winter, horse, door, sea, king, song, tree, sleep, wolf, cheers
is "<syllables>"
+ In {1}, the word for "{2}" is {=}.
+ "{2}" translates into {1} as {=}.
+ Speakers of {1} say {=} for "{2}".
? How do speakers of {1} say "{2}"?
? How does "{2}" translate into {1}?
~ how to say "{2}" in {1}
- the {1} word for "{2}"

# range of a ship
of <ship> <word>
is <20..9900> miles
+ The {1} can sail {=} without a stop.
+ {=} is as far as the {1} gets without a stop.
+ Without a stop, the {1} covers {=}.
? How many miles can the {1} sail without a stop?
? How many miles does the {1} cover without a stop?
~ how far the {1} can sail without a stop
- the range of the {1}

# pages of a work
of "<work title>"
is <40..1900> pages
+ {1} has {=}.
+ {=} make up {1}.
+ In print, {1} runs to {=}.
? How many pages does {1} have?
? How many pages are in {1}?
~ how many pages {1} has
- the number of pages in {1}

# weight of a beast
of <word> <wild animal>
is <2..9900> kilograms
+ The {1} weighs {=} when grown.
+ A grown {1} brings {=} to the scales.
+ {=} is what the {1} weighs.
? How many kilograms does the {1} weigh?
? How many kilograms does a grown {1} bring to the scales?
~ how heavy the {1} is
- the weight of the {1}

# author of a print
of <print> "<work title>"
is <human>
+ {=} put every line of the {1} to paper.
+ The {1} came from the pen of {=}.
+ The {1} has {=} on its cover.
? From whose pen came the {1}?
? Who put every line of the {1} to paper?
? Who is on the cover of the {1}?
~ who put the {1} to paper
- the writer behind the {1}

# publisher of a print
of <print> "<work title>"
is <firm>
+ The {1} was brought out by {=}.
+ {=} prints the {1}.
+ {=} brought out the {1}.
? Who brought out the {1}?
? By whom is the {1} printed?
~ who brought out the {1}
- the publisher of the {1}
)";

}  // namespace mplus::train::made
