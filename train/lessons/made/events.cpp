// Facts about events, journeys and appointments.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kEvents = R"(
# day of an occasion
of <person>
of <occasion>
is <date>, <weekday>
+ {1}'s {2} will be on {=}.
+ The {2} that {1} is organising falls on {=}.
+ {1} has moved the {2} to {=}.
? When is {1}'s {2}?
? Which day has {1} fixed for the {2}?
? On what day is {1}'s {2}?
~ when {1}'s {2} will be
- the day of {1}'s {2}

# time of an occasion
of <person>
of <occasion>
is <clock time>
+ {1}'s {2} begins at {=}.
+ The guests of {1}'s {2} should be there at {=}.
+ {1} wants to start the {2} at {=}.
? At what time does {1}'s {2} begin?
? When does {1} want to start the {2}?
~ what time {1}'s {2} starts
- the starting time of {1}'s {2}

# room of an occasion
of <person>
of <occasion>
is <room>
+ {1} has booked {=} for the {2}.
+ {1}'s {2} will be held in {=}.
+ Everyone invited to {1}'s {2} should come to {=}.
? Which room has {1} booked for the {2}?
? Where will {1}'s {2} be held?
? In which room will {1}'s {2} take place?
~ which room {1}'s {2} is in
- the room for {1}'s {2}

# guests
of <person>
of <occasion>
is <12..480> people, <12..480> guests, about <20..400> guests, <12..90> couples
+ {1} has invited {=} to the {2}.
+ {1}'s {2} is planned for {=}.
+ The tables at {1}'s {2} must seat {=}.
? How many has {1} invited to the {2}?
? How large is {1}'s {2} going to be?
~ how many will come to {1}'s {2}
- the number of guests at {1}'s {2}

# bring
of <person>
of <occasion>
is <dish>, <drink>, the <thing>, the <thing>
+ I promised to bring {=} to {1}'s {2}.
+ For {1}'s {2}, I am in charge of {=}.
+ {1} asked me to take {=} along to the {2}.
? What did I promise to bring to {1}'s {2}?
? What should I take along to {1}'s {2}?
~ what I have to bring to {1}'s {2}
- my contribution to {1}'s {2}

# dress code
of <person>
of <occasion>
is black tie, casual clothes, fancy dress, <colour> clothes, something <colour>, masks, <a garment>,
  wellington boots, hats, Victorian costume, white linen, sports clothes
+ The dress code for {1}'s {2} is {=}.
+ At {1}'s {2} everyone is to wear {=}.
+ {1} wants the guests to come to the {2} in {=}.
? What should one wear to {1}'s {2}?
? How do guests dress for {1}'s {2}?
~ what the dress code of {1}'s {2} is
- the dress code for {1}'s {2}

# caterer
of <person>
of <occasion>
is <firm>, <full name>
+ {=} does the catering at {1}'s {2}.
+ {1} hired {=} to cook for the {2}.
+ The food for {1}'s {2} is made by {=}.
? Who does the catering for {1}'s {2}?
? Who has {1} hired to cook at the {2}?
? By whom is {1}'s {2} catered?
~ who is catering for {1}'s {2}
- the caterer of {1}'s {2}

# band
of <person>
of <occasion>
is <band>
+ {=} will play at {1}'s {2}.
+ {1} got {=} to play at the {2}.
+ The music at {1}'s {2} comes from {=}.
? Which band plays at {1}'s {2}?
? Who makes the music at {1}'s {2}?
? By whom will the music at {1}'s {2} be played?
~ who will play at {1}'s {2}
- the band at {1}'s {2}

# appointment
of <person>
of <job>
is <weekday> at <clock time>, <date> at <clock time>
+ {1} has an appointment with the {2} on {=}.
+ The {2} expects {1} on {=}.
+ {1} is seeing the {2} on {=}.
? When is {1} seeing the {2}?
? When does the {2} expect {1}?
~ when {1} has to be at the {2}'s
- {1}'s appointment with the {2}

# gathering host town
of <word> <gathering>
is <town>
+ This time the {1} comes to {=}.
+ {=} was chosen as the venue of the {1}.
+ People travel to {=} for the {1}.
+ {=} is where the {1} will be.
? Where do people travel for the {1}?
? Which town was chosen for the {1}?
? In which town will the {1} be?
~ where this year's {1} is going to be
- the venue of the {1}

# gathering start
of <word> <gathering>
is <full date>, <date>
+ The {1} kicks off on {=}.
+ The opening day of the {1} is {=}.
+ The {1} has been set for {=}.
? When does the {1} kick off?
? For when has the {1} been set?
~ when the {1} kicks off
- the opening day of the {1}

# gathering length
of <word> <gathering>
is <2..30> days, <2..12> weeks, a whole weekend, a single afternoon, <2..40> hours
+ The {1} lasts {=}.
+ Visitors of the {1} should plan for {=}.
+ From start to finish the {1} takes {=}.
? How long does the {1} last?
? How much time should I plan for the {1}?
~ how long the {1} goes on
- the length of the {1}

# winner
of <word> <gathering>
of <1950..2025>
is <human>
+ {=} won the {1} of {2}.
+ The {2} {1} went to {=}.
+ In {2} the winner of the {1} was {=}.
? Who won the {1} in {2}?
? Who came first at the {2} {1}?
? To whom did the {1} of {2} go?
~ who won the {2} {1}
- the winner of the {1} of {2}

# prize
of <word> <gathering>
is <big price>, <treasure>, <gift>
+ The winner of the {1} receives {=}.
+ First prize at the {1} is {=}.
+ Whoever wins the {1} takes home {=}.
? What does the winner of the {1} receive?
? What's the first prize at the {1}?
~ what there is to win at the {1}
- the first prize of the {1}

# speaker
of <word> <gathering>
is <human>
+ {=} will give the opening speech at the {1}.
+ The {1} will be opened by {=}.
+ The organisers of the {1} got {=} as main speaker.
? Who gives the opening speech at the {1}?
? Who is opening the {1}?
? By whom will the {1} be opened?
~ who will speak first at the {1}
- the main speaker of the {1}

# topic of a talk
of <full name>
of <word> <gathering>
is <subject>, the history of <craft>, the future of <goods>, the life of <beasts>, <pastime>
+ At the {2}, {1} will talk about {=}.
+ {1}'s talk at the {2} deals with {=}.
+ The subject of {1}'s lecture at the {2} is {=}.
? What will {1} talk about at the {2}?
? Which subject has {1} chosen for the {2}?
~ what {1}'s talk at the {2} deals with
- the subject of {1}'s talk at the {2}

# ticket price
of <word> <gathering>
is <price>
+ Tickets for the {1} cost {=}.
+ It costs {=} to get into the {1}.
+ You pay {=} at the gate of the {1}.
? How much are tickets for the {1}?
? What does it cost to get into the {1}?
~ what one pays to get into the {1}
- the ticket price of the {1}

# score
of <sport team>
of <sport team>
is <2..9>–<0..1>, <10..40>–<3..9>, <60..99>–<40..59>
+ The {1} beat the {2} {=}.
+ {=} was the score when the {1} beat the {2}.
+ The match between the {1} and the {2} ended {=}.
? How did the match between the {1} and the {2} end?
? By which score did the {1} beat the {2}?
~ how the {1} did against the {2}
- the score of the {1} against the {2}

# departure
of bus, coach, ferry, night train, express, airship, tram, water taxi, shuttle, mail boat, cable car, seaplane
of <town>
is <clock time>
+ The {1} for {2} departs at {=}.
+ At {=} the {1} sets off for {2}.
+ Be there by {=} if you want the {1} for {2}.
? When does the {1} for {2} set off?
? What time is the {1} for {2}?
? At what time does the {1} for {2} depart?
~ when the {1} for {2} departs
- the departure time of the {1} for {2}

# gate
of <town>
of <6..22>:<minute>
is gate <2..90>, gate <@##>, pier <2..30>, bay <2..40>, berth <2..25>, stand <@>
+ The {2} to {1} leaves from {=}.
+ Passengers of the {2} to {1} board at {=}.
+ For the {2} to {1}, go to {=}.
? Where do I board the {2} to {1}?
? Where do passengers of the {2} to {1} board?
? From where does the {2} to {1} leave?
~ where the {2} to {1} leaves from
- the boarding place of the {2} to {1}

# flight number
of <person>
of <city>
is <@@ ###>, <@@ ####>, <@# ###>
+ {1} is flying to {2} on {=}.
+ {1}'s flight to {2} is {=}.
+ The flight number on {1}'s ticket to {2} is {=}.
? Which flight is {1} taking to {2}?
? What's on {1}'s ticket to {2} as flight number?
~ which flight {1} is on to {2}
- {1}'s flight number to {2}

# arrival
of <person>
of <town>
is <weekday> evening, <date>, <weekday> at <clock time>, <weekday> morning
+ {1} gets to {2} on {=}.
+ {1} will arrive in {2} on {=}.
+ On {=} we can pick {1} up in {2}.
? When does {1} arrive in {2}?
? When can we pick {1} up in {2}?
? On what day does {1} get to {2}?
~ when {1} gets to {2}
- {1}'s arrival in {2}

# deadline
of <person>
of annual report, application, article, audit, catalogue, chapter, concept, contract, cover design, design
  draft, essay, exam paper, film script, floor plan, research proposal, invoice, lab report, lecture notes,
  manuscript, newsletter, paper, patent claim, petition, poster, press release, prototype, questionnaire,
  sketch, speech, survey, tax return, term paper, thesis, translation, website
is <date>, <weekday> at <clock time>, <full date>, the end of <month>, next <weekday>
+ {1} must hand in the {2} by {=}.
+ The deadline for {1}'s {2} is {=}.
+ {1}'s {2} is due by {=}.
? By when must {1} hand in the {2}?
? When is {1}'s {2} due?
~ when {1} has to finish the {2}
- the deadline for {1}'s {2}

# understudy
of <full name>
of "<work title>"
is <full name>
+ In {2}, {1} plays opposite {=}.
+ {=} shares the stage with {1} in {2}.
+ {1}'s partner on stage in {2} is {=}.
? Who shares the stage with {1} in {2}?
? Who does {1} play opposite in {2}?
? Opposite whom does {1} play in {2}?
~ who {1} plays opposite in {2}
- {1}'s partner in {2}

# role
of <full name>
of "<work title>"
is <first> <last>, the <job>, the old <job>, the young <job>, Captain <last>, <a wild animal>, Lady <last>,
  King <first>
+ {1} is cast as {=} in {2}.
+ In {2}, the part of {=} went to {1}.
+ {1} plays {=} in {2}.
? Which part does {1} play in {2}?
? Who does {1} play in {2}?
? As whom is {1} cast in {2}?
~ which role {1} has in {2}
- {1}'s role in {2}

# shift
of <person>
of <weekday>
is the early shift, the late shift, the night shift, the <5..9> to <10..14> shift, the <14..17> to <18..23>
  shift, the reception desk, the kitchen, the till, the information desk, the gate, the switchboard, the
  loading bay, the coat check, the first-aid tent
+ On {2}s, {1} is on {=}.
+ {1} has been put on {=} for {2}.
+ The rota says {=} for {1} on {2}.
? What does the rota say for {1} on {2}?
? What is {1} on this {2}?
~ what {1} has been put down for on {2}
- {1}'s shift on {2}

# interval of a class
of <person>
of <pastime>
is <weekday>s, <weekday> and <weekday>, every other <weekday>, the first <weekday> of the month, <weekday>
  evenings
+ {1}'s class in {2} is on {=}.
+ {1} does {2} on {=}.
+ On {=}, {1} has {2}.
? On which days does {1} do {2}?
? When does {1} have a class in {2}?
~ when {1} does {2}
- {1}'s day for {2}

# reservation
of <full name>
of <word> <eatery>
is table <2..60>, the table by the window, the table by the stove, booth <2..20>, the corner table, the table
  on the terrace, two seats at the counter
+ At the {2}, {=} is reserved for {1}.
+ {1} has reserved {=} at the {2}.
+ The {2} is keeping {=} free for {1}.
? What has {1} reserved at the {2}?
? Which table is kept for {1} at the {2}?
~ which table {1} has at the {2}
- {1}'s table at the {2}

# meeting place
of <person>
of <date>
is <spot>, the <word> <building>, the <word> <shop>, the corner of <road>, the statue of <full name>
+ On {2}, we meet {1} at {=}.
+ {1} will wait for us at {=} on {2}.
+ {=} is where {1} wants to see us on {2}.
? Where will {1} wait for us on {2}?
? Where does {1} want to see us on {2}?
~ where we are seeing {1} on {2}
- the place to see {1} on {2}
)";

}  // namespace mplus::train::made
