// Facts about companies, clubs, shops and the people who run them.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kOrganisations = R"(
# founder
of <firm>
is <human>
+ {1} was started by {=}.
+ {=} set up {1} in a garage.
+ The idea behind {1} came from {=}.
+ In the beginning, {=} set up {1}.
? Who started {1}?
? Whose idea was {1}?
? By whom has {1} been started?
? Which person started {1}?
~ who set up {1}
- the name of {1}'s founder

# founding year
of <firm>
is <1790..2021>
+ {1} has existed since {=}.
+ {1} opened for business in {=}.
+ The history of {1} goes back to {=}.
? Since when has {1} existed?
? When did {1} open for business?
~ when {1} opened for business
- {1}'s founding year

# head office
of <firm>
is <town>
+ {1} has its head office in {=}.
+ {1} is run from {=}.
+ The headquarters of {1} moved to {=}.
+ {=} is where {1} has its head office.
? Where does {1} have its head office?
? From where is {1} run?
? In which town does {1} have its head office?
~ where {1} is based
- {1}'s headquarters

# product
of <firm>
is <goods>
+ {1} makes {=}.
+ {1}'s main product is {=}.
+ The factories of {1} turn out {=}.
? What does {1} make?
? What do {1}'s factories turn out?
? What goods come from {1}?
~ what {1} produces
- {1}'s main product

# position
of <firm>
of <company position>
is <full name>
+ {=} is {2} at {1}.
+ {1} hired {=} as {2}.
+ The post of {2} at {1} is held by {=}.
? Who is {2} at {1}?
? Who did {1} hire as {2}?
? Which person is {2} at {1}?
~ who {1}'s {2} is
- the name of {1}'s {2}

# staff
of <firm>
is <12..980> people, <12..98> people, <2..90> thousand people, <1..9>,<###> people
+ {1} employs {=}.
+ {=} are on {1}'s payroll.
+ The workforce of {1} numbers {=}.
? How many work at {1}?
? How large is {1}'s workforce?
? What number of people works at {1}?
~ how many are on {1}'s payroll
- the size of {1}'s workforce

# revenue
of <firm>
of <1995..2025>
is <2..900> million euros, $<2..900> million, £<2..90> million, <2..40> billion crowns, <100..900> million yen
+ {1} took in {=} in {2}.
+ In {2}, {1}'s revenue was {=}.
+ {1} reported sales of {=} for {2}.
? How much did {1} take in during {2}?
? What were {1}'s sales in {2}?
~ how much {1} earned in {2}
- {1}'s revenue in {2}

# takeover
of <firm>
is <firm>
+ {1} was taken over by {=}.
+ {=} has bought {1}.
+ Since last year {1} belongs to {=}.
? Who has taken over {1}?
? Which company bought {1}?
? By whom has {1} been taken over?
~ who bought {1}
- {1}'s new owner

# logo
of <firm>
is <mascot>, <shape>
+ The logo of {1} shows {=}.
+ {1} has {=} on its letterhead.
+ You recognise {1} by its sign, {=}.
? What does {1}'s logo show?
? What is on {1}'s letterhead?
~ what the logo of {1} shows
- {1}'s logo

# slogan
of <firm>
is "<slogan word> and <slogan word>", "<slogan word> first", "Always <slogan word>", "<slogan word> since
  <1850..2019>", "Simply <slogan word>"
+ {1} advertises with the slogan {=}.
+ The slogan of {1} is {=}.
+ On every van of {1} you read {=}.
? Which slogan does {1} advertise with?
? What do you read on the vans of {1}?
~ what {1}'s slogan is
- {1}'s slogan

# customer number
of <firm>
is <#####>, <long code>
+ Our customer number at {1} is {=}.
+ {1} knows us as customer {=}.
+ In letters to {1}, quote customer number {=}.
? Which customer number do we have at {1}?
? Under which number does {1} know us?
~ which customer number to quote to {1}
- our customer number at {1}

# contact
of <firm>
is <full name>
+ Our contact at {1} is {=}.
+ At {1} we deal with {=}.
+ If there is trouble with {1}, talk to {=}.
? Who do we deal with at {1}?
? Who should I talk to at {1}?
? With whom do we deal at {1}?
~ who our contact at {1} is
- our contact at {1}

# hotline
of <firm>
is <phone>
+ The hotline of {1} is {=}.
+ {1} answers the phone at {=}.
+ Complaints to {1}: dial {=}.
? Which number do I dial to complain to {1}?
? How do I phone {1}?
~ what number {1} can be phoned on
- {1}'s hotline

# shop hours
of <word> <shop>
of <weekday>
is <clock time>
+ The {1} closes at {=} on {2}s.
+ On {2}s, the {1} shuts at {=}.
+ Get to the {1} before {=} if it is a {2}.
? When does the {1} close on {2}s?
? How late is the {1} open on a {2}?
~ when the {1} shuts on {2}s
- the {1}'s closing time on {2}s

# day off of a shop
of <word> <shop>
is <weekday>s, the first <weekday> of the month, every second <weekday>, public holidays, <weekday> mornings,
  <weekday> afternoons, <date>
+ The {1} is shut on {=}.
+ On {=} you find the door of the {1} locked.
+ The {1} opens every day except on {=}.
? When is the {1} shut?
? When does the {1} take a rest?
~ when the {1} is shut
- the {1}'s day of rest

# shop owner
of <word> <shop>
is <human>
+ The {1} is run by {=}.
+ {=} keeps the {1}.
+ Behind the counter of the {1} stands {=}.
? Who runs the {1}?
? Who stands behind the counter of the {1}?
? By whom is the {1} run?
~ who keeps the {1}
- the owner of the {1}

# shop road
of <word> <shop>
is <address>
+ The {1} has moved to {=}.
+ The address on the card of the {1} is {=}.
+ To get to the {1}, go to {=}.
? Where has the {1} moved to?
? How do I get to the {1}?
~ where the {1} is
- the address of the {1}

# special of a day
of <word> <eatery>
of <weekday>
is <dish>
+ On {2}s the {1} serves {=}.
+ The {2} special at the {1} is {=}.
+ Go to the {1} on a {2} and you get {=}.
? What does the {1} serve on {2}s?
? What do I get at the {1} on a {2}?
~ what they serve at the {1} on {2}s
- the {2} special at the {1}

# club president
of <town> <club>
is <full name>
+ {=} chairs the {1}.
+ The {1} elected {=} to the chair.
+ The members of the {1} chose {=} as president.
? Who chairs the {1}?
? Who did the {1} elect to the chair?
? By whom is the {1} chaired?
~ who the president of the {1} is
- the president of the {1}

# club fee
of <town> <club>
is <price> a year, <price> a month, <price> a term
+ Members pay the {1} {=}.
+ The {1} asks {=} of its members.
+ Joining the {1} costs {=}.
? How much do members pay the {1}?
? What does it cost to join the {1}?
~ how much the {1} asks of members
- the membership fee of the {1}

# club day
of <town> <club>
is <weekday>s at <clock time>, <weekday> evenings, every other <weekday>, the last <weekday> of the month
+ The {1} gets together on {=}.
+ On {=}, the {1} has its session.
+ The sessions of the {1} are on {=}.
? When does the {1} get together?
? When are the sessions of the {1}?
~ when the {1} gets together
- the {1}'s regular day

# club place
of <town> <club>
is <room>, the <word> <shop>
+ The {1} gathers in {=}.
+ Find the {1} in {=}.
+ Sessions of the {1} are held in {=}.
? Where does the {1} gather?
? Where are the {1}'s sessions held?
? In what place does the {1} gather?
~ where the {1} gathers
- the {1}'s usual place

# team captain
of <sport team>
is <full name>
+ {=} captains the {1}.
+ The captain's armband of the {1} is worn by {=}.
+ The {1} made {=} their captain.
+ The armband of the {1} belongs to {=}.
? Who captains the {1}?
? Who wears the armband for the {1}?
? By whom are the {1} captained?
~ who leads the {1} onto the pitch
- the captain of the {1}

# team sport
of <sport team>
is <sport>
+ The {1} are a {=} club.
+ {=} is the sport of the {1}.
+ The {1} compete in {=}.
? What sport do the {1} compete in?
? What do the {1} play?
~ which sport the {1} do
- the sport of the {1}

# team colours
of <sport team>
is <colour> and <colour>
+ The {1} play in {=}.
+ The shirts of the {1} are {=}.
+ Fans of the {1} wear {=}.
? Which colours do fans of the {1} wear?
? What do the shirts of the {1} look like?
~ which colours the {1} play in
- the colours of the {1}

# stadium
of <sport team>
is the <word> Arena, <road>, the <last> Ground, <word> Park, the <firm> Dome
+ The home ground of the {1} is {=}.
+ The {1} play home matches at {=}.
+ For a home match of the {1}, go to {=}.
? Where do the {1} play home matches?
? Which ground is home to the {1}?
~ where the home matches of the {1} are
- the home ground of the {1}

# mascot
of <sport team>
is <mascot>
+ The mascot of the {1} is {=}.
+ The {1} have {=} as their mascot.
+ At half time, {=} runs around for the {1}.
? What sort of mascot have the {1} got?
? Who runs around for the {1} at half time?
~ what the {1} have as a mascot
- the mascot of the {1}

# shirt number
of <full name>
of <sport team>
is number <1..99>
+ {1} wears {=} for the {2}.
+ On the {2}' team sheet, {1} is {=}.
+ {1} runs out with {=} on the shirt of the {2}.
? Which shirt does {1} wear for the {2}?
? What's on {1}'s shirt at the {2}?
~ which shirt number {1} has at the {2}
- {1}'s shirt number with the {2}

# transfer fee
of <full name>
of <sport team>
is <big price>
+ The {2} paid {=} for {1}.
+ {1} moved to the {2} for {=}.
+ It took {=} to bring {1} to the {2}.
? How much did the {2} pay for {1}?
? What did {1}'s move to the {2} cost?
~ how much the {2} paid to get {1}
- the sum the {2} paid for {1}

# class teacher
of <town> <school>
of <school class>
is Mr. <last>, Ms. <last>, Mrs. <last>, <full name>
+ {=} takes {2} at the {1}.
+ At the {1}, {2} is taught by {=}.
+ The {1} gave {2} to {=}.
? Who takes {2} at the {1}?
? Who teaches {2} at the {1}?
? By whom is {2} taught at the {1}?
~ who teaches {2} at the {1}
- the teacher of {2} at the {1}

# school uniform
of <town> <school>
is <a colour> blazer, <a colour> pullover, a <colour> and <colour> tie, <colour> trousers, a <colour> cap, <a
  material> badge
+ Pupils of the {1} wear {=}.
+ The uniform of the {1} includes {=}.
+ You know pupils of the {1} by {=}.
? What do pupils of the {1} wear?
? How do you know pupils of the {1}?
~ what the uniform of the {1} includes
- the uniform of the {1}

# donation
of <full name>
of <town> <club>
is <big price>, <gift>, <a vehicle>, <a instrument>
+ {1} donated {=} to the {2}.
+ The {2} received {=} from {1}.
+ {1}'s gift to the {2} was {=}.
? What did {1} donate to the {2}?
? What did the {2} receive from {1}?
~ what {1} gave to the {2}
- {1}'s donation to the {2}

# newspaper editor
of <town> <paper>
is <full name>
+ {=} edits the {1}.
+ The {1} has {=} as chief editor.
+ Letters to the {1} go to its editor, {=}.
? Who edits the {1}?
? Who do letters to the {1} go to?
? By whom is the {1} edited?
~ who the editor of the {1} is
- the editor of the {1}

# frequency
of Radio <word>, <town> FM, Radio <town>, <word> Wave
is <88..107>.<1..9> MHz, <5..16>00 kHz
+ {1} broadcasts on {=}.
+ Tune in to {1} at {=}.
+ You receive {1} on {=}.
? Where on the dial do I find {1}?
? On which frequency does {1} broadcast?
? On which frequency does {1} broadcast?
~ which frequency {1} broadcasts on
- the frequency of {1}

# supplier
of <firm>
of <goods>
is <firm>, <full name>
+ {1} makes {2} for {=}.
+ {=} buys {2} from {1}.
+ The {2} of {=} come from {1}.
? For whom does {1} make {2}?
? Whom does {1} supply with {2}?
~ for whom {1} makes {2}
- the buyer of {1}'s {2}

# first backer
of <firm>
is <human>
+ {1} would not exist without {=}.
+ {=} put the first money into {1}.
+ {1} got its first money from {=}.
? Who put the first money into {1}?
? From whom did {1} get its first money?
? Without whom would {1} not exist?
~ who put the first money into {1}
- the first backer of {1}

# beginner's pay
of <firm>
is <price> an hour, <price> a day, <price> a shift
+ {1} pays beginners {=}.
+ Beginners get {=} at {1}.
+ {=} is what beginners get at {1}.
? What do beginners get at {1}?
? How much does {1} pay beginners?
~ what {1} pays beginners
- a beginner's pay at {1}
)";

}  // namespace mplus::train::made
