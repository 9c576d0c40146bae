// Facts in the first person: mine and ours.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kOurselves = R"(
# my thing's place
of my <colour> <thing>, my <quality> <thing>, my <colour> <garment>, my <quality> <garment>
is <spot>
+ I keep {1} in {=}.
+ {1} lives in {=}.
+ I have just put {1} away in {=}.
? Where do I keep {1}?
? Where have I put {1} away?
? In what place do I keep {1}?
~ where I keep {1}
- the place of {1}

# my account
of <firm>
is <secret>
+ My login at {1} is {=}.
+ For my account with {1} I use {=}.
+ I sign in at {1} with {=}.
? How do I sign in at {1}?
? What do I use for my account with {1}?
~ what I sign in with at {1}
- my login at {1}

# my user name
of <word> <program>
is <handle>
+ On the {1} I am registered as {=}.
+ My user name for the {1} is {=}.
+ The {1} knows me as {=}.
? What does the {1} know me as?
? Which user name do I have on the {1}?
~ what name I use on the {1}
- my user name on the {1}

# my PIN
of <firm> card, <firm> account, <word> tablet, <word> phone, <word> locker
is <####>, <######>
+ The PIN of my {1} is {=}.
+ My {1} wants {=} as its PIN.
+ I changed the PIN of my {1} to {=}.
? Which PIN does my {1} want?
? What did I change the PIN of my {1} to?
~ what PIN my {1} has
- the PIN of my {1}

# I met someone
of <full name>
is the <occasion> in <town>, the <word> <gathering>, the <word> <shop>, a <pastime> class, the <word>
  <building>
+ I first met {1} at {=}.
+ {1} and I met thanks to {=}.
+ I know {1} from {=}.
? Where do I know {1} from?
? How did {1} and I come to know each other?
~ where I know {1} from
- the place I know {1} from

# my promise
of <person>
is feed the <beasts>, lend out the <quality> <thing>, fix the <device>, bake <dish>, return the <thing>, phone
  on <weekday>, water the <flower>, translate a letter into <language>, teach <pastime>, write to <firm>,
  paint the <door>, pay back <price>
+ I promised {1} to {=}.
+ I gave {1} my word that I would {=}.
+ {1} counts on me to {=}.
? What did I promise {1}?
? What does {1} count on me for?
~ what I promised {1}
-: my promise to {1}

# my present for someone
of <person>
of <feast>
is <gift>
+ I am giving {1} {=} for {2}.
+ I bought {=} for {1}, for {2}.
+ My present to {1} for {2} is {=}.
? What am I giving {1} for {2}?
? What have I bought {1} for {2}?
~ what I got {1} for {2}
- my present to {1} for {2}

# my bet
of <person>
of <sport team>
is <price>, a bottle of <drink>, a dinner of <dish>, <gift>
+ I bet {1} {=} that the {2} would win.
+ The stake in my bet with {1} on the {2} is {=}.
+ If the {2} lose, I owe {1} {=}.
? What do I owe {1} if the {2} lose?
? What did I bet {1} on the {2}?
~ what I bet {1} on the {2}
- my stake with {1} on the {2}

# my appointment
of <job>
of <town>
is <weekday> at <clock time>, <date> at <clock time>, <date>
+ I have to see the {1} in {2} on {=}.
+ My appointment with the {1} in {2} is on {=}.
+ The {1} in {2} expects me on {=}.
? When does the {1} in {2} expect me?
? When do I have to see the {1} in {2}?
~ when I see the {1} in {2}
- my appointment with the {1} in {2}

# my hotel room
of <town>
of <month>
is room <2..990>, room <@##>, the <colour> suite, cabin <2..90>, the room above the <shop>
+ For {2}, I have {=} at our hotel in {1}.
+ My room in {1} in {2} is {=}.
+ The hotel in {1} gave me {=} for {2}.
? Which room do I have in {1} in {2}?
? What did the hotel in {1} give me for {2}?
~ which room I have in {1} in {2}
- my room in {1} in {2}

# my plan for a place
of <town>
is visit the <word> <building>, see the <word> <landscape>, eat <dish>, buy <goods>, go <pastime>, meet <full
  name>, hear <band>
+ When I get to {1}, I want to {=}.
+ In {1} I am going to {=}.
+ My plan for {1} is to {=}.
? What do I want to do in {1}?
? What am I planning for {1}?
~ what I want to do in {1}
-: my plan for {1}

# my reading
of "<work title>"
is page <2..900>, chapter <2..60>, the end of part <small number>, line <2..900>
+ I have got to {=} of {1}.
+ My bookmark in {1} is at {=}.
+ I stopped reading {1} at {=}.
? How far have I got in {1}?
? Where is my bookmark in {1}?
~ where I stopped reading {1}
- my place in {1}

# my plant
of <colour> <plant>, <quality> <plant>, <plant> in <spot>
is every <2..20> days, twice a week, every <weekday>, once a month, only in <month>, every morning, <quantity>
  a week
+ My {1} needs water {=}.
+ I water the {1} {=}.
+ For the {1}, the rule is: water {=}.
? How often do I water the {1}?
? When does my {1} need water?
~ how often my {1} needs water
- the watering rule for my {1}

# our pet's food
of <first>
of <pet>
is <ingredient>, <dish>, <brand food>
+ We feed {1} the {2} on {=}.
+ Our {2} {1} will only eat {=}.
+ {1}, our {2}, gets {=} for breakfast.
? What do we feed {1} the {2} on?
? What does our {2} {1} get for breakfast?
~ what our {2} {1} eats
- the food of our {2} {1}

# vet
of <first>
of <pet>
is <weekday> at <clock time>, <date>, <date> at <clock time>
+ {1} the {2} has to go to the vet on {=}.
+ The vet will see our {2} {1} on {=}.
+ We take {1}, our {2}, for a check-up on {=}.
? When will the vet see our {2} {1}?
? When does {1} the {2} have a check-up?
~ when {1} the {2} has to go to the vet
- the vet's appointment for {1} the {2}

# our tradition
of <season feast>
of my <relative>
is <town>, <country>, the <word> <building>, <word> beach, the <word> <landscape>
+ Our tradition with {2} for {1} is a trip to {=}.
+ At {1} {2} takes us all to {=}.
+ For {1}, we go to {=} with {2}.
? Where does {2} take us at {1}?
? Where do we go with {2} for {1}?
~ where we go with {2} for {1}
- the place we go with {2} for {1}

# our rent
of <town> <dwelling>, <word> <dwelling>
is <200..4000> euros, $<300..6000>, £<300..4000>, <1..40> thousand crowns
+ The rent for our {1} is {=}.
+ We pay {=} a month for the {1}.
+ The landlord of the {1} wants {=} a month from us.
? How much rent do we pay for the {1}?
? What does the landlord of the {1} want a month?
~ how much rent the {1} costs us
- the rent of the {1}

# our fellow tenant
of <town> <dwelling>
of ground floor, first floor, second floor, third floor, top floor, basement, attic flat, back house, left
  wing, right wing
is <full name>
+ At the {1}, {=} has the {2}.
+ The {2} of our {1} is rented by {=}.
+ At the {1}, the {2} belongs to {=}.
? Who has the {2} at the {1}?
? Who rents the {2} of our {1}?
? By whom is the {2} at the {1} rented?
~ who lives on the {2} at our {1}
- the tenant of the {2} at the {1}

# our tent
of <word> <gathering>
is field <2..40>, pitch <2..300>, camp <@>, the meadow behind the <building>, row <2..40>, the <colour> gate
+ At the {1} our tent is at {=}.
+ For the {1} we were sent to {=}.
+ Our place at the {1} is {=}.
? How do I find our tent at the {1}?
? Where were we sent at the {1}?
~ where our tent is at the {1}
- our pitch at the {1}

# our team's task
of <person>
of <occasion>
is the invitations, the music, the <dish>, the <drink>, the flowers, the seating plan, the tickets, the
  speech, the photos, the decorations, the lights, the car park, the coats, the raffle, the first-aid box, the
  children's games, the sound system, the rain plan
+ For the {2}, {1} looks after {=}.
+ We agreed that {1} does {=} for the {2}.
+ {1} took on {=} for our {2}.
? What does {1} look after for the {2}?
? What did {1} take on for our {2}?
~ what {1} is doing for our {2}
- {1}'s task for the {2}

# our car park
of <word> <building>
of <weekday>
is level <2..9>, bay <2..400>, row <@>, zone <@##>, space <2..900>, the <colour> deck
+ On {2} we parked at the {1}, {=}.
+ Since {2} our car has been at the {1}, {=}.
+ I wrote down our place at the {1} for {2}: {=}.
? Where did we park at the {1} on {2}?
? Which place did I write down for the car at the {1} on {2}?
~ where our car has been at the {1} since {2}
- our parking place at the {1} on {2}

# my doctor's advice
of Dr. <first> <last>
is avoid <ingredient>, avoid <drink>, drink more <drink>, eat more <ingredient>, give up <pastime>, rest for
  <2..30> days, take <medicine>, take up <pastime>, walk <2..20> km a day, wear <a garment> at night
+ {1} told me to {=}.
+ My orders from {1} are to {=}.
+ {1}'s advice to me was: {=}.
? What did {1} tell me to do?
? What was {1}'s advice to me?
~ what {1} told me to do
-: the advice I got from {1}

# my dream
of <weekday>, <date>, <month> <1..28>
is <a colour> <wild animal>, a talking <thing>, a flood in <town>, <full name>, falling off <a building>, an
  exam in <subject>, dancing with <beasts>, <a landscape> made of <material>, missing the <transport> to
  <town>
+ In the night of {1} I dreamed of {=}.
+ My dream on {1} was about {=}.
+ I woke up on {1} from a dream about {=}.
? What did I dream of in the night of {1}?
? What was my dream on {1} about?
~ what I dreamed about on {1}
- my dream of {1}

# my score
of <person>
of <word>
is <2..9> to <0..1>, by <2..60> points, <2..9> rounds to <0..1>, by a hair, by a mile
+ I beat {1} at {2} {=}.
+ When {1} and I played {2}, I won {=}.
+ At {2}, I was better than {1} {=}.
? By how much did I beat {1} at {2}?
? How did my game of {2} with {1} end?
~ how clearly I beat {1} at {2}
- the result of my game of {2} with {1}

# my contact
of <person>
is <colour> <wild animal>, <syllables>, <material> <thing>, <first> <last>, <number word> <beasts>
+ In my phone, {1} is saved as "{=}".
+ I saved {1}'s number under "{=}".
+ The contact "{=}" in my phone is really {1}.
? Under what name is {1} saved in my phone?
? What did I save {1}'s number under?
~ how {1} is saved in my phone
- the name of {1}'s contact in my phone

# my recipe change
of <dish>
of <ingredient>
is <ingredient>
+ When I make {1}, I use {=} instead of {2}.
+ I replace the {2} in my {1} with {=}.
+ In my {1} there is {=} where others put {2}.
? What do I use instead of {2} in my {1}?
? What replaces the {2} in my {1}?
~ what I put into {1} in place of {2}
- the substitute for {2} in my {1}

# my seat at work
of <firm>
is desk <2..300>, the desk by the window, the desk beside <full name>, cubicle <@##>, the desk under the
  stairs, the desk with the <colour> lamp
+ At {1}, I sit at {=}.
+ My place at {1} is {=}.
+ {1} has given me {=}.
? Where is my place at {1}?
? Which place has {1} given me?
~ where I sit at {1}
- my place at {1}

# my start at work
of <firm>
is <1..28> <month> <1980..2026>, <month> <1..28> <1985..2026>, the <ordinal> of <month>
+ My first day at {1} was {=}.
+ I started at {1} on {=}.
+ My contract with {1} began on {=}.
? When was my first day at {1}?
? Since when have I been with {1}?
~ when I started at {1}
- my starting date at {1}

# my insurance
of <firm>
of <insured>
is <long code>
+ My {2} insurance with {1} has the number {=}.
+ {1} insures my {2} under {=}.
+ The policy for my {2} at {1} is {=}.
? Under which number does {1} insure my {2}?
? What is on my {2} policy with {1}?
~ which policy number my {2} has with {1}
- my {2} policy number with {1}

# my measurements
of <colour> <furniture>, <quality> <furniture>
of width, height, depth, length
is <20..290> cm, <10..90> inches, <1..3>.<##> metres
+ The {2} of my {1} is {=}.
+ I measured the {2} of the {1}: {=}.
+ My {1} has a {2} of {=}.
? Which {2} does my {1} have?
? What did I measure as the {2} of my {1}?
~ what the {2} of my {1} is
- the {2} of my {1}
)";

}  // namespace mplus::train::made
