// Facts about towns, buildings, landscapes and the ways between them.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kPlaces = R"(
# office holder
of <town>
of <town office>
is <full name>
+ {=} is the {2} of {1}.
+ {1} chose {=} as its {2}.
+ The office of {2} in {1} is held by {=}.
? Who holds the office of {2} in {1}?
? Who did {1} choose as {2}?
? Which person is {2} in {1}?
~ who is {2} in {1}
- the name of {1}'s {2}

# population
of <town>
is <1..98>,<###>, <2..99> thousand, <200..990>, <1..9>.<1..9> million
+ {1} has {=} inhabitants.
+ {=} people live in {1}.
+ At the last census, {1} had a population of {=}.
? How many people live in {1}?
? How big is the population of {1}?
~ how many inhabitants {1} has
- the population of {1}

# river
of <town>
is the <word>, the River <word>, the Little <word>, the <colour> <word>
+ {1} stands on {=}.
+ The river that flows through {1} is {=}.
+ {=} runs right through {1}.
? Which river does {1} stand on?
? What flows through {1}?
? On which river does {1} lie?
~ which river flows through {1}
- the river of {1}

# distance
of <town>
of <town>
is <distance>
+ It is {=} from {1} to {2}.
+ {1} and {2} lie {=} apart.
+ From {1} you have to go {=} to reach {2}.
? How far is it from {1} to {2}?
? How far apart are {1} and {2}?
~ how far {1} is from {2}
- the distance between {1} and {2}

# travel time
of <town>
of <town>
of <transport>
is <2..59> minutes, <2..40> hours, an hour and a half, <2..9> days
+ By {3}, it takes {=} from {1} to {2}.
+ The {3} needs {=} to get from {1} to {2}.
+ From {1} to {2} you spend {=} on the {3}.
? How long does the {3} need from {1} to {2}?
? How long do you travel by {3} from {1} to {2}?
~ how long it takes from {1} to {2} by {3}
- the travel time by {3} from {1} to {2}

# speciality
of <town>
is <dish>, <goods>, <craft>, <flower>
+ {1} is famous for {=}.
+ People come to {1} because of {=}.
+ What {1} is known for is {=}.
? What is {1} famous for?
? Why do people come to {1}?
? For what is {1} known?
~ what {1} is known for
- the speciality of {1}

# coat of arms
of <town>
is <a wild animal>, <a colour> <wild animal>, a crossed key and <thing>, <a tree> tree, two <beasts>, three
  <beasts>, <a ship>
+ The coat of arms of {1} shows {=}.
+ {1} has {=} in its coat of arms.
+ On the flag of {1} you see {=}.
? What is in the coat of arms of {1}?
? What do you see on the flag of {1}?
~ what the flag of {1} shows
- the coat of arms of {1}

# market day
of <town>
is <weekday>, the first <weekday> of the month, <weekday> and <weekday>
+ Market day in {1} is {=}.
+ The market in {1} is held on {=}.
+ Farmers bring their goods to {1} on {=}.
? When is there a market in {1}?
? When do the farmers come to {1}?
~ when the market in {1} is held
- market day in {1}

# twin town
of <town>
is <town>
+ {1} is twinned with {=}.
+ The twin town of {1} is {=}.
+ {1} and {=} have been partner towns for years.
? Which town is {1} twinned with?
? What's {1}'s partner town?
~ which town {1} is twinned with
- the twin town of {1}

# height of a hill
of the <word> pass, Mount <word>, the <word> plateau, the <word> ridge, the <word> peak
is <200..8900> metres, <700..9900> feet
+ {1} lies at a height of {=}.
+ {1} is {=} above the sea.
+ At {1} the altimeter shows {=}.
? How high is {1}?
? What does the altimeter show at {1}?
~ how high above the sea {1} is
- the altitude of {1}

# depth
of Lake <word>, the <word> mine, the <word> cave, the <word> well, the <word> trench
is <20..990> metres, <60..3000> feet, <2..40> fathoms
+ {1} goes down {=}.
+ {1} is {=} deep.
+ A rope of {=} just reaches the bottom of {1}.
? How deep is {1}?
? How far does {1} go down?
~ how deep {1} is
- the depth of {1}

# discoverer of a place
of the <word> <landscape>
is <full name>
+ {=} was the first to explore {1}.
+ {1} was discovered by {=}.
+ The first map of {1} was drawn by {=}.
? Who discovered {1}?
? Who first explored {1}?
? Which person first set foot in {1}?
~ who drew the first map of {1}
- the discoverer of {1}

# wildlife
of the <word> <landscape>
is <beasts>, <colour> <beasts>
+ {1} is home to {=}.
+ In {1} you can watch {=}.
+ The last {=} of the region live in {1}.
? Which animals live in {1}?
? What can you watch in {1}?
~ which animals you can watch in {1}
- the animals of {1}

# legend
of the <word> <landscape>
is <treasure>
+ Legend has it that {=} lies in {1}.
+ Somewhere in {1}, {=} is said to be buried.
+ Treasure hunters look for {=} in {1}.
? What is said to be buried in {1}?
? What do treasure hunters look for in {1}?
? What lies buried in {1}, they say?
~ what lies buried in {1}
- the treasure of {1}

# architect
of <word> <building>
is <full name>
+ The {1} was designed by {=}.
+ {=} drew the plans of the {1}.
+ The architect of the {1} was {=}.
? Who drew the plans of the {1}?
? Who designed the {1}?
? By whom were the plans of the {1} drawn?
~ who designed the {1}
- the architect of the {1}

# year of a building
of <word> <building>
is <1150..2022>
+ The {1} was completed in {=}.
+ The {1} has been standing since {=}.
+ Above the door of the {1} stands the year {=}.
? When was the {1} completed?
? Which year stands above the door of the {1}?
? In what year did they finish the {1}?
~ when the {1} was finished
- the completion date of the {1}

# style of a building
of <word> <building>
is <style>
+ The {1} is {a =} building.
+ The {1}'s style is {=}.
+ The style of the {1} is usually described as {=}.
? How is the style of the {1} described?
? Which style is the {1} in?
~ which style the {1} was built in
- the style of the {1}

# floors
of <word> <building>
is <3..80> floors, <3..80> storeys
+ The {1} has {=}.
+ The lift in the {1} serves {=}.
+ From cellar to roof, the {1} counts {=}.
? How tall a building is the {1}?
? How many levels does the {1} have?
~ how many levels the {1} has
- the number of levels in the {1}

# former use
of <word> <building>
is <a building>, <a shop>, <a school>
+ The {1} used to be {=}.
+ Before it was turned into what it is, the {1} was {=}.
+ Long ago, {=} stood where the {1} is now.
? What did the {1} use to be?
? What stood where the {1} is now?
~ what the {1} used to be
- the former use of the {1}

# ghost
of <word> <building>
is <a job>, <full name>, <a wild animal>, a headless <job>, Lady <last>, a weeping <job>, <a small
  number>-year-old child
+ The {1} is haunted by {=}.
+ At night {=} walks through the {1}.
+ The ghost of the {1} is said to be {=}.
? Who haunts the {1}?
? Who walks through the {1} at night?
? By whom is the {1} haunted?
~ who haunts the {1}
- the ghost of the {1}

# bus line
of <town>
of <word> <building>
is bus <2..240>, line <2..40>, tram <2..30>, bus <@#>, the <colour> line, the number <2..99>
+ In {1}, take {=} to get to the {2}.
+ {=} goes to the {2} in {1}.
+ The {2} in {1} is served by {=}.
? What do I take to get to the {2} in {1}?
? What goes to the {2} in {1}?
~ which line goes to the {2} in {1}
- the line to the {2} in {1}

# stop
of <town>
of <person>
is <word> Square, <word> Gate, <last> Street, <Tree> Corner, the <word> <building>, <word> Cross, <road>
+ In {1}, get off at {=} for {2}'s flat.
+ The stop nearest to {2}'s flat in {1} is {=}.
+ From {=} it is a short walk to {2}'s flat in {1}.
? At which stop do I get off for {2}'s flat in {1}?
? Which stop is nearest to {2}'s flat in {1}?
~ where to get off for {2}'s flat in {1}
- the stop for {2}'s flat in {1}

# postcode
of <town>
is <#####>, <@@# #@@>, <@## @@##>, <####>, <###-####>
+ The postcode of {1} is {=}.
+ Letters to {1} need the postcode {=}.
+ Write {=} in front of {1} on the envelope.
? Which postcode do letters to {1} need?
? What do I write in front of {1} on the envelope?
~ what postcode {1} has
- the postcode of {1}

# currency
of the kingdom of <word>, the republic of <word>, the island of <word>, the duchy of <word>
is the <syllables>, the <colour> <syllables>, the <material> <syllables>
+ In {1} you pay with {=}.
+ The currency of {1} is {=}.
+ {1} introduced {=} as its money.
? What do you pay with in {1}?
? Which currency is used in {1}?
? In what currency do people pay in {1}?
~ what money people use in {1}
- the currency of {1}

# ruler
of the kingdom of <word>, the republic of <word>, the island of <word>, the duchy of <word>
is Queen <first>, King <first>, Duchess <first>, President <last>, <full name>, Prince <first>, Empress
  <first>
+ {1} is ruled by {=}.
+ {=} reigns over {1}.
+ The head of state of {1} is {=}.
? Who rules {1}?
? Who reigns over {1}?
? By whom is {1} ruled?
~ who is the head of state of {1}
- the ruler of {1}

# national holiday
of the kingdom of <word>, the republic of <word>, the island of <word>, the duchy of <word>
is <month> <1..28>, <1..28> <month>, the <ordinal> of <month>
+ {1} celebrates its independence on {=}.
+ The national holiday of {1} is {=}.
+ On {=} nobody works in {1}.
? When does {1} celebrate its independence?
? When does nobody work in {1}?
~ when the national holiday of {1} is
- the national holiday of {1}

# export
of the kingdom of <word>, the republic of <word>, the island of <word>, the duchy of <word>
is <cargo>
+ {1} exports {=}.
+ {1} lives by selling {=}.
+ The ships that leave {1} are loaded with {=}.
? What does {1} export?
? What are the ships that leave {1} loaded with?
~ what {1} sells to the world
- the main export of {1}

# climate
of <town>
of <month>
is <weather>
+ In {2}, expect {=} in {1}.
+ {1} usually has {=} in {2}.
+ The weather in {1} in {2}: {=}.
? What's the weather like in {1} in {2}?
? What should I expect of {2} in {1}?
~ what weather {1} has in {2}
- the weather in {1} in {2}

# dialect word
of <town>
of <thing>
is "<syllables>"
+ In {1}, {a 2} is called {=}.
+ People from {1} say {=} and mean {a 2}.
+ The word for {a 2} in {1} is {=}.
? What do people from {1} call {a 2}?
? How do you say "{2}" in {1}?
~ what they call {a 2} in {1}
- the word for {a 2} in {1}

# custom
of <town>
of <season feast>
is throwing <goods>, burning <goods>, eating <dish>, dressing up as <beasts>, racing with <goods>, singing to
  <beasts>
+ A custom in {1} at {2} is {=}.
+ At {2}, the people of {1} enjoy {=}.
+ In {1}, {2} would be nothing without {=}.
? What do the people of {1} do at {2}?
? How do they celebrate {2} in {1}?
~ how {1} celebrates {2}
- {1}'s custom at {2}

# seats
of <word> <building>
is <20..9000> seats
+ The {1} has {=}.
+ There are {=} in the {1}.
+ With {=}, the {1} is large enough for us.
? How many seats does the {1} have?
? How many seats are there in the {1}?
~ how many seats the {1} has
- the number of seats in the {1}

# steps of a stair
of <word> <building>
is <20..2000> steps
+ It is {=} up to the roof of the {1}.
+ The stair of the {1} has {=}.
+ After {=} you stand on the roof of the {1}.
? How many steps lead up the {1}?
? How many steps are there to the roof of the {1}?
~ how many steps the stair of the {1} has
- the height of the stair in the {1}

# depth of a well
of <town>
is <5..990> metres
+ The well in {1} is {=} deep.
+ {=} down, the well of {1} has water.
+ They dug {=} for the well in {1}.
? How many metres deep is the well in {1}?
? How deep did they dig for the well in {1}?
~ how deep the well in {1} is
- the depth of the well in {1}

# length of a crossing
of <word> <crossing>
is <20..99999> meters, <20..9999> metres, <2..90> kilometers, <2..90> km, <2..60> miles, <30..9000> yards,
  <30..99999> feet
+ The {1} measures {=} from end to end.
+ From one end of the {1} to the other it is {=}.
+ {=} is what the {1} measures from end to end.
+ You walk {=} to get across the {1}.
? What does the {1} measure from end to end?
? How far is it from one end of the {1} to the other?
? How far must one walk to get across the {1}?
~ how far the {1} reaches
- the length of the {1}

# width of a crossing
of <word> <crossing>
is <2..900> meters, <2..90> metres, <6..900> feet, <2..90> yards
+ The {1} is {=} wide.
+ From side to side the {1} measures {=}.
+ {=} separate the two sides of the {1}.
? How wide is the {1}?
? What does the {1} measure from side to side?
~ how wide the {1} is
- the width of the {1}

# seat of government
of <word>
is <word>, <town>
+ {1} is governed from {=}.
+ The ministers of {1} sit in {=}.
+ The parliament of {1} is in {=}.
+ {=} is where {1} is governed from.
? From where is {1} governed?
? Where do the ministers of {1} sit?
? Which town holds the parliament of {1}?
~ where {1} is governed from
- the seat of {1}'s government

# track
of <town>, <city>
is track <2..60>, platform <2..60>, track <2..20><@>, line <2..30>
+ For {1} you board at {=}.
+ Passengers to {1} wait at {=}.
+ {=} is where passengers to {1} wait.
+ The {1} service stands at {=}.
? Where do passengers to {1} wait?
? Where do I board for {1}?
? Where does the {1} service stand?
~ where one boards for {1}
- the boarding place for {1}

# head of a town
of <town>
is <human>
+ The keys of {1} are kept by {=}.
+ {1} is run by {=}.
+ {=} runs the town of {1}.
? Who runs the town of {1}?
? By whom is {1} run?
? Who keeps the keys of {1}?
~ who runs {1}
- the person who runs {1}

# bells
of <word> <building>
is <2..90>
+ In the tower of the {1} hang {=} bells.
+ The {1} has {=} bells.
+ {=} bells ring in the {1}.
? How many bells hang in the tower of the {1}?
? How many bells has the {1}?
~ how many bells the {1} has
- the number of bells in the {1}

# film
of <word> cinema
is "<work title>"
+ Tonight the {1} shows {=}.
+ {=} is on at the {1}.
+ People queue at the {1} for {=}.
? What is on at the {1}?
? Which film does the {1} show?
~ what is on at the {1}
- tonight's film at the {1}

# ferry
of <town>
is <5..90> minutes, <2..12> hours, half an hour, three quarters of an hour
+ The ferry takes {=} to {1}.
+ You reach {1} by ferry in {=}.
+ {=} on the ferry, and you are in {1}.
? How long is one on the ferry to {1}?
? In what time does one reach {1} by ferry?
~ how long the ferry to {1} takes
- the time the ferry to {1} takes
)";

}  // namespace mplus::train::made
