// Facts about people: what they like, own, do and plan.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kLives = R"(
# fear
of <person>
is <phobia>
+ {1} is afraid of {=}.
+ {1} has a terrible fear of {=}.
+ Nothing scares {1} as much as {=}.
? What scares {1}?
? What is {1} afraid of?
? Of what is {1} afraid?
~ what {1} is so afraid of
- {1}'s greatest fear

# ambition
of <person>
is <ambition>
+ {1} hopes to {=} one day.
+ {1}'s dream is to {=}.
+ Before retiring, {1} wants to {=}.
? What does {1} dream of doing?
? What would {1} like to do one day?
~ what {1} hopes to do one day
-: {1}'s dream

# collection
of <person>
is <collectable>
+ {1} collects {=}.
+ {1} has shelves full of {=}.
+ {1} started collecting {=} as a child.
? What does {1} collect?
? What are {1}'s shelves full of?
~ what {1} collects
- {1}'s collection

# vehicle
of <person>
is <vehicle>
+ {1} has swapped the bicycle for {a =}.
+ {1} has bought {a =}.
+ The vehicle in front of {1}'s house is {a =}.
? What kind of vehicle has {1} bought?
? What has {1} swapped the bicycle for?
~ what sort of vehicle {1} owns
- {1}'s vehicle

# colour of a vehicle
of <person>
of <vehicle>
is <colour>
+ {1}'s {2} is {=}.
+ {1} had the {2} painted {=}.
+ {1} rides around in {a =} {2}.
? What colour did {1} have the {2} painted?
? Which shade is {1}'s {2}?
~ which colour {1}'s {2} is
- the colour of {1}'s {2}

# number plate
of <person>
is <plate>
+ The number plate on {1}'s car reads {=}.
+ {1}'s car is registered as {=}.
+ Look for {1}'s car: the plate says {=}.
? What does the plate on {1}'s car say?
? How is {1}'s car registered?
~ what number plate {1}'s car has
- {1}'s number plate

# commute
of <person>
is <transport>
+ {1} gets to work by {=}.
+ Every morning {1} takes the {=} to the office.
+ {1}'s way to work is by {=}.
? How does {1} get to work?
? What does {1} take to the office in the morning?
~ how {1} gets to the office
- {1}'s means of transport

# eye colour
of <person>
is dark brown, grey-green, hazel, pale grey, light blue, bright green, amber, almost black, violet, steel
  grey, blue-grey
+ {1}'s eyes are {=}.
+ {1} has {=} eyes.
+ On the passport, {1}'s eyes are given as {=}.
? What colour are {1}'s eyes?
? Which eye colour is in {1}'s passport?
~ what colour eyes {1} has
- {1}'s eye colour

# nickname
of <full name>
is <word>, <nickname>
+ Everyone calls {1} "{=}".
+ {1}'s nickname is {=}.
+ {1} has been known as {=} since school.
? What does everyone call {1}?
? Which nickname does {1} have?
~ what people call {1}
- {1}'s nickname

# middle name
of <man> <last>
is <man>, <last>
+ {1}'s middle name is {=}.
+ The middle name on {1}'s birth certificate is {=}.
+ Hardly anyone knows that {1}'s second given name is {=}.
? Which middle name does {1} have?
? What's {1}'s second given name?
~ what middle name {1} was given
- {1}'s middle name

# maiden name
of <woman> <last>
is <last>
+ {1} was called {=} before the wedding.
+ {1}'s maiden name is {=}.
+ {1}, née {=}, changed surname years ago.
? What surname did {1} have before the wedding?
? What was {1} called before marrying?
~ what {1}'s surname was before the wedding
- {1}'s maiden name

# house number and road
of <person>
is <address>
+ Post for {1} goes to {=}.
+ {1}'s place is at {=}.
+ {1} has moved to {=}.
? Where should I send {1}'s post?
? Where exactly is {1}'s place?
~ which address to send {1}'s letters to
- {1}'s postal address

# phone number
of <person>
is <phone>
+ You can ring {1} on {=}.
+ {1}'s phone number is {=}.
+ Call {=} to get hold of {1}.
? Which number do I dial to get hold of {1}?
? How can I ring {1}?
? At which number do I get {1}?
~ what number to ring {1} on
- {1}'s phone number

# email
of <person>
is <mail>
+ {1}'s email address is {=}.
+ Write to {1} at {=}.
+ Mails to {1} go to {=}.
? Where do I send mails for {1}?
? Which email address does {1} use?
? At which address do mails reach {1}?
~ what email address {1} uses
- {1}'s email address

# handle
of <person>
is <handle>
+ Online, {1} is {=}.
+ {1} posts as {=}.
+ You can follow {1} under {=}.
? Under which handle does {1} post?
? What's {1} called online?
~ under what name {1} posts online
- {1}'s user name

# wake-up time
of <person>
is <early time>
+ {1} gets up at {=} every day.
+ {1}'s alarm rings at {=}.
+ By habit {1} wakes at {=}.
? When does {1} get up?
? At what time does {1}'s alarm ring?
? At what time does {1} get up?
~ when {1} wakes up
- the time {1} gets up

# bedtime
of <person>
is <late time>
+ {1} goes to bed at {=}.
+ Lights out for {1} is at {=}.
+ {1} never stays up later than {=}.
? When does {1} go to bed?
? How late does {1} stay up?
? At what hour does {1} go to bed?
~ when it is lights out for {1}
- {1}'s bedtime

# daily habit
of <person>
is <habit>
+ {1} starts each day with {=}.
+ No morning of {1}'s passes without {=}.
+ First thing in the morning, {1} needs {=}.
? How does {1} start the day?
? What does {1} need first thing in the morning?
~ what {1} starts each day with
- {1}'s morning habit

# gift received
of <person>
of <feast>
is <gift>
+ For {2}, {1} got {=}.
+ {1} was given {=} for {2}.
+ {1} unwrapped {=} at {2}.
? What did {1} get for {2}?
? What was in {1}'s parcel at {2}?
~ what {1} was given for {2}
- {1}'s present for {2}

# holiday
of <person>
of <1990..2034>
is <country>
+ In {2}, {1} went to {=} on holiday.
+ {1}'s holiday in {2} was in {=}.
+ {1} spent the summer of {2} in {=}.
? Where did {1} go on holiday in {2}?
? Which country did {1} visit in {2}?
? To which country did {1} travel in {2}?
~ where {1} spent the summer of {2}
- {1}'s holiday country of {2}

# plan
of <person>
is <ambition>
+ This year {1} plans to {=}.
+ {1} has promised the family to {=}.
+ {1} made a bet and will have to {=}.
? What is {1} planning this year?
? What did {1} promise the family?
~ what {1} has planned for this year
-: {1}'s plan for this year

# salary
of <person>
is <big price>
+ {1} earns {=} a year.
+ {1}'s yearly pay is {=}.
+ Each year {1} is paid {=}.
? How much does {1} earn?
? How much is {1} paid a year?
? What does {1} make in a year?
~ how much {1} makes in a year
- {1}'s salary

# debt
of <person>
of <full name>
is <price>
+ {1} owes {2} {=}.
+ {1} has borrowed {=} from {2}.
+ {2} lent {1} {=}.
? How much does {1} owe {2}?
? How much did {2} lend {1}?
~ how much {1} still has to pay back to {2}
- {1}'s debt to {2}

# tattoo
of <person>
is <a wild animal>, <a colour> <wild animal>, an anchor, a compass rose, a row of stars, a sprig of <tree>,
  the word "<syllables>"
+ {1} has a tattoo of {=}.
+ {1}'s tattoo shows {=}.
+ Under the sleeve {1} hides a tattoo of {=}.
? What does {1}'s tattoo show?
? Which tattoo does {1} hide?
~ what {1} has a tattoo of
- the picture in {1}'s tattoo

# seat
of <person>
of <journey>
is seat <1..48><room letter>, the aisle seat in row <2..40>, the window seat in row <2..40>
+ On {2}, {1} has {=}.
+ {1} booked {=} on {2}.
+ For {2} {1} was given {=}.
? Which seat does {1} have on {2}?
? What seat did {1} book on {2}?
? In which seat will {1} be on {2}?
~ where {1} sits on {2}
- {1}'s seat on {2}

# favourite author
of <person>
is <full name>
+ {1} reads everything that {=} writes.
+ {1}'s favourite author is {=}.
+ No writer pleases {1} more than {=}.
? Whose books does {1} read?
? Which author does {1} like most?
? Whom does {1} like to read?
~ which writer {1} likes most
- {1}'s favourite author

# flower
of <person>
is <flower>
+ If you bring {1} flowers, make it {=}.
+ {1} loves {=} above all flowers.
+ {1}'s garden is full of {=}.
? Which flowers should I bring {1}?
? What grows in {1}'s garden?
~ which flowers {1} likes most
- {1}'s flowers

# quarrel
of <person>
is <full name>
+ {1} has not forgiven {=}.
+ {1} is not on speaking terms with {=}.
+ {1} and {=} have fallen out.
? Who has {1} fallen out with?
? With whom is {1} no longer on speaking terms?
? With whom has {1} fallen out?
? Whom has {1} not forgiven?
~ who {1} quarrelled with
- the person {1} fell out with

# sporting result
of <person>
of <sport>
is second place, third place, fourth place, fifth place, sixth place, <a material> medal, <a colour> ribbon,
  the wooden spoon, a personal best, the junior title
+ In {2}, {1} came away with {=}.
+ {1} won {=} in {2}.
+ All {1} ever got out of {2} was {=}.
? What did {1} win in {2}?
? How well did {1} do in {2}?
~ what {1} achieved in {2}
- {1}'s result in {2}

# sport coach
of <person>
of <sport>
is <full name>
+ {1} is coached in {2} by {=}.
+ {=} trains {1} in {2}.
+ {1} learns {2} from {=}.
? Who trains {1} in {2}?
? Who does {1} learn {2} from?
? By whom is {1} trained in {2}?
~ who coaches {1} in {2}
- the name of {1}'s {2} coach

# locker
of <person>
is locker <2..990>, locker <@##>
+ {1} uses {=}.
+ {1}'s things are in {=}.
+ In the changing room, {1} was given {=}.
? Which locker does {1} use?
? Where are {1}'s things in the changing room?
~ which locker {1} was given
- {1}'s locker

# first concert
of <person>
is <band>
+ The first concert {1} went to was by {=}.
+ {1} saw {=} before any other band.
+ {=} gave the first concert {1} ever heard.
? Whose concert was {1}'s first?
? Which band did {1} hear first?
? Whom did {1} hear at a first concert?
~ which band gave {1}'s first concert
- the band of {1}'s first concert

# lucky number
of <person>
is <3..99>
+ {1}'s lucky number is {=}.
+ {1} always bets on {=}.
+ For luck, {1} picks {=}.
? Which number brings {1} luck?
? What does {1} always bet on?
~ which number {1} believes in
- {1}'s lucky number

# hotel
of <person>
of <town>
is the <word> Hotel, the <Colour> <Wild animal>, Hotel <first>, Pension <last>, the Grand <word>, the <Tree>
  Lodge, the <Wild animal> Inn
+ In {2}, {1} is staying at {=}.
+ {1} has a room at {=} in {2}.
+ When in {2}, {1} sleeps at {=}.
? Which hotel is {1} staying at in {2}?
? Where does {1} sleep when in {2}?
? At which hotel is {1} staying in {2}?
~ where {1} is staying in {2}
- {1}'s hotel in {2}

# ringtone
of <person>
is <work title>, the sound of <beasts>, <a instrument> solo, <a wild animal> call
+ {1}'s phone rings with {=}.
+ {1} uses {=} as a ringtone.
+ When {1}'s phone goes, you hear {=}.
? What do you hear when {1}'s phone goes?
? Which ringtone does {1} use?
~ what {1}'s phone sounds like
- {1}'s ringtone

# office line
of <person>
is <100..9999>, <1000..99999>, <###>, <####>, <#####>
+ On the internal telephone list {1} stands with extension {=}.
+ Inside the house, dial {=} for {1}.
+ {1} sits at extension {=}.
+ Ask the switchboard for {=} and you get {1}.
? Which extension do I dial for {1}?
? Under which extension does the telephone list give {1}?
? What do I ask the switchboard for to get {1}?
~ which extension {1} is on
- the telephone line of {1}

# side
of <person>
is the <sport team>
+ {1} wears the shirt of {=}.
+ This season {1} is in the squad of {=}.
+ {=} took on {1} as a player.
+ {=} have {1} in their side.
? Whose shirt does {1} wear?
? Which side took on {1} as a player?
? In whose squad is {1} this season?
~ which side {1} belongs to
- {1}'s side

# graduation
of <person>
is <1950..2024>
+ {1} left school in {=}.
+ {1}'s diploma is dated {=}.
+ In {=}, {1} was handed a diploma.
? When did {1} leave school?
? Which year is on {1}'s diploma?
? In which year was {1} handed a diploma?
~ when {1} left school
- the date of {1}'s diploma

# library card
of <person>
is <####>, <#####>, <@@###>, <@-####>
+ {1} borrows books with card {=}.
+ The library knows {1} as {=}.
+ {=} is printed on {1}'s library card.
? Which card does {1} borrow books with?
? What is printed on {1}'s library card?
? What does the library know {1} as?
~ what is printed on {1}'s library card
- the number on {1}'s library card

# voice
of <person>
is soprano, alto, tenor, baritone, bass, mezzo-soprano, countertenor, second soprano, second tenor
+ In the choir {1} sings {=}.
+ {1} stands with the {=} section of the choir.
+ The choir needs {1} as {a =}.
? What does {1} sing in the choir?
? Which section of the choir does {1} stand with?
~ what {1} sings in the choir
- {1}'s voice in the choir

# course
of <person>
is <pastime>, <language>, <instrument>
+ On course evenings {1} learns {=}.
+ {1} signed up for lessons in {=}.
+ {=} is what {1} takes lessons in.
? What did {1} sign up for?
? What does {1} take lessons in?
~ what {1} takes lessons in
- the subject of {1}'s evening course
)";

}  // namespace mplus::train::made
