// Facts about people: who they are, home, work, family and health.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kPeople = R"(
# occupation
of <person>
is <job>
+ {1} earns a living as {a =}.
+ {1} is {a =} by trade.
+ {1} trained for years and is now {a =}.
? How does {1} earn a living?
? Which line of work is {1} in?
~ what {1} does for a living
- {1}'s occupation

# employer
of <person>
is <firm>
+ {1} is on the payroll of {=}.
+ {1}'s employer is {=}.
+ {=} pays {1}'s salary.
+ {=} pays {1}.
? Who pays {1}'s salary?
? Which firm employs {1}?
? For whom does {1} work?
~ which company {1} is employed by
- {1}'s employer

# home town
of <person>
is <town>
+ {1} has settled in {=}.
+ {1}'s home is in {=} these days.
+ These days {1} calls {=} home.
? Where is {1} at home these days?
? Which town does {1} call home?
? In what town has {1} settled?
~ which town {1} has settled in
- {1}'s home town

# childhood town
of <person>
is <city>
+ {1} grew up in {=}.
+ {1} spent a whole childhood in {=}.
+ It was in {=} that {1} grew up.
+ {=} is where {1} spent a childhood.
? Where did {1} grow up?
? Which place does {1} come from originally?
? In what town did {1} grow up?
~ where {1} lived as a child
- the place where {1} grew up

# pet's name
of <person>
of <pet>
is <word>, <syllables>, <first>
+ {1} owns {a 2} that answers to {=}.
+ {1}'s {2} goes by {=}.
+ When {1} shouts "{=}!", the {2} comes running.
? What does {1} call the {2}?
? What name did {1} give the {2}?
~ what {1}'s {2} goes by
- the name {1} gave the {2}

# kind of pet
of <person>
is <pet>
+ {1} keeps {a =} as a pet.
+ The only pet {1} has is {a =}.
+ {1} shares a flat with {a =}.
? What sort of pet does {1} keep?
? Which animal shares {1}'s flat?
~ which animal {1} keeps as a pet
- {1}'s pet

# birthday
of <person>
is <date>
+ {1}'s birthday falls on {=}.
+ {1} has a birthday on {=}.
+ Every year on {=}, {1} blows out the candles.
? When do we wish {1} a happy birthday?
? When does {1} have a birthday?
~ when {1}'s birthday is
- {1}'s birthday

# age
of <person>
is <18..97>
+ {1} is {=} years old.
+ {1} has just turned {=}.
+ At last count {1} was {=} years of age.
? How old is {1}?
? What age has {1} reached?
~ how old {1} is
- {1}'s age

# height
of <person>
is <148..205> cm, <5..6> feet <2..11> inches
+ {1} stands {=} tall.
+ {1} measures {=} from head to toe.
+ The doctor wrote down {=} as {1}'s height.
? How tall is {1}?
? How far from head to toe does {1} measure?
~ how tall {1} is
- {1}'s height

# shoe size
of <person>
is <34..49>, <34..48> and a half
+ {1} wears shoes in size {=}.
+ {1}'s feet are a size {=}.
+ Shoes for {1} must be size {=}.
? Which shoe size does {1} take?
? How big are {1}'s feet?
~ what size shoes {1} wears
- {1}'s shoe size

# allergy
of <person>
is <allergen>
+ {1} is allergic to {=}.
+ {1} breaks out in a rash because of {=}.
+ Keep {1} away from {=}: there is an allergy.
? What is {1} allergic to?
? What must {1} be kept away from?
? To what is {1} allergic?
~ what brings out {1}'s allergy
- {1}'s allergy

# dish
of <person>
is <dish>
+ Nothing makes {1} happier at table than {=}.
+ {1} would choose {=} over every other meal.
+ If you cook for {1}, make {=}.
? What should I cook to please {1}?
? Which meal makes {1} happiest?
~ what {1} most enjoys eating
- {1}'s preferred meal

# hated food
of <person>
is <ingredient>
+ {1} cannot stand {=}.
+ {1} refuses to eat anything with {=}.
+ The one thing {1} leaves on the plate is {=}.
? What will {1} not eat?
? Which food can {1} not stand?
~ what {1} refuses to eat
- the food that {1} hates

# drink
of <person>
is <drink>
+ {1} always orders {=}.
+ At the bar, {1} asks for {=}.
+ {1}'s usual drink is {=}.
+ {1} prefers {=} to every other drink.
? What should I order for {1} to drink?
? What does {1} usually drink?
? Which drink does {1} prefer to all others?
~ what {1} always orders to drink
- {1}'s usual drink

# sugar
of <person>
is no sugar, one lump of sugar, two lumps of sugar, three sugars, a spoon of honey, a dash of oat milk, cream
  only, a pinch of salt, cinnamon on top, a slice of lemon, half a spoon of sugar, condensed milk
+ {1} takes coffee with {=}.
+ Bring {1} a coffee with {=}.
+ For {1}, coffee comes with {=}.
? How does {1} like coffee?
? What goes into {1}'s coffee?
~ how {1} takes coffee
- the way {1} takes coffee

# instrument
of <person>
is the <instrument>
+ {1} plays {=}.
+ {1} has taken lessons on {=} since school.
+ In the band, {1} is the one on {=}.
? Which instrument does {1} play?
? What does {1} play in the band?
~ which instrument {1} plays
- {1}'s instrument

# pastime
of <person>
is <pastime>
+ {1} spends every free hour on {=}.
+ {1} is mad about {=}.
+ On weekends {1} is busy with {=}.
? How does {1} pass the weekend?
? What is {1} mad about?
~ how {1} spends free time
- {1}'s favourite pastime

# second language
of <person>
is <language>
+ {1} is fluent in {=}.
+ Besides English, {1} speaks {=}.
+ {1} learned {=} as a second language.
? Which language did {1} learn besides English?
? What is {1} fluent in?
? In which language besides English is {1} fluent?
~ which foreign language {1} has mastered
- {1}'s second language

# studies
of <person>
is <subject>
+ {1} has a degree in {=}.
+ At university {1} read {=}.
+ {1} studied {=}.
? What did {1} study?
? Which subject is {1}'s degree in?
? In what subject does {1} have a degree?
~ what {1} read at university
- {1}'s subject at university

# university
of <person>
is the University of <town>, <word> College, <last> College, the <city> Polytechnic, the <word> Institute,
  <town> Business School
+ {1} graduated from {=}.
+ {1} is a former student of {=}.
+ {1}'s diploma comes from {=}.
? Which university did {1} graduate from?
? Where did {1} get a diploma?
? From which university does {1} have a degree?
~ where {1} went to university
- {1}'s university

# school of a child
of <person>
is <last> Primary, St. <first>'s, <word> Academy, <town> Grammar School, the <Tree> Lane School, <word> House
  School
+ {1}'s children go to {=}.
+ {1} drops the kids off at {=} every morning.
+ The school that {1} chose for the children is {=}.
? Where do {1}'s children go to school?
? Which school did {1} choose for the kids?
~ which school {1}'s children go to
- the school of {1}'s children

# number of children
of <person>
is two children, three children, four children, five children, six children, seven children, no children, only
  one child, twins, triplets, eight children
+ {1} has {=}.
+ At home {1} has {=} to look after.
+ {1} told me: "I have {=}."
? How big is {1}'s family?
? How many kids does {1} have?
~ how many kids there are in {1}'s family
- the size of {1}'s family

# female relative
of <person>
of <kinswoman>
is <woman> <last>
+ {1}'s {2} is {=}.
+ {=} is {1}'s {2}.
+ {1} has {a 2}, {=} by name.
? Which person is {1}'s {2}?
? What name does {1}'s {2} go by?
~ who {1}'s {2} is
- the name of {1}'s {2}

# male relative
of <person>
of <kinsman>
is <man> <last>
+ {1}'s {2} is {=}.
+ {=} is {1}'s {2}.
+ {1} has {a 2}, {=} by name.
? Which man is {1}'s {2}?
? What name does {1}'s {2} go by?
~ who {1}'s {2} is
- the name of {1}'s {2}

# associate
of <person>
of <associate>
is <full name>
+ {1}'s {2} is {=}.
+ {=} is {1}'s {2}.
+ {1} has found {a 2}: {=}.
? Who does {1} have as {2}?
? What name does {1}'s {2} go by?
? Whom does {1} have as {2}?
~ who {1}'s {2} is
- the name of {1}'s {2}

# engagement
of <person>
is <full name>
+ {1} is engaged to {=}.
+ {=} has proposed to {1}, who said yes.
+ {1} and {=} are engaged.
? To whom is {1} engaged?
? Who proposed to {1}?
~ who {1} is going to wed
- {1}'s future spouse

# doctor
of <person>
is Dr. <last>
+ {1} is a patient of {=}.
+ {1} sees {=} when ill.
+ {1}'s family doctor is {=}.
? Which doctor does {1} see?
? Whose patient is {1}?
? By whom is {1} treated?
~ which doctor {1} goes to
- {1}'s family doctor

# illness
of <person>
is <illness>
+ {1} suffers from {=}.
+ {1} is off work with {=}.
+ The doctors say {1} has {=}.
? What does {1} suffer from?
? Why is {1} off work?
? From what does {1} suffer?
~ what {1} is being treated for
- {1}'s complaint

# medicine
of <person>
is <medicine>
+ {1} takes {=} every day.
+ The pills {1} takes are called {=}.
+ {1} was prescribed {=}.
? Which medicine does {1} take?
? What was {1} prescribed?
~ which pills {1} takes
- {1}'s medicine

# blood group
of <person>
is A positive, A negative, B positive, B negative, AB positive, AB negative, O positive, O negative
+ {1} has blood group {=}.
+ {1}'s blood is {=}.
+ On {1}'s donor card it says {=}.
? Which blood group has {1} got?
? What does it say on {1}'s donor card?
~ which blood group {1} has
- {1}'s blood group

# speech writer
of <full name>
is <full name>, <firm>
+ {1} writes speeches for {=}.
+ {=} has the speeches written by {1}.
+ The speeches of {=} come from {1}.
? For whom does {1} write speeches?
? Whose speeches does {1} write?
~ whose speeches {1} writes
- the client of {1} the speech writer

# nanny
of <full name>
is the <last> family, the <last> twins, <full name>
+ {1} looks after the children of {=}.
+ {=} took {1} on for the children.
+ {1} is the nanny of {=}.
? For whom does {1} look after children?
? Where does {1} work as a nanny?
~ whose nanny {1} is
- the family that {1} looks after

# musician's ensemble
of <full name>
of <instrument>
is the <town> Orchestra, the <word> Quartet, the <word> Ensemble, the <town> Brass Band, <band>
+ {1} plays the {2} in {=}.
+ {=} has engaged {1} for the {2}.
+ You can hear {1} on the {2} with {=}.
? In which ensemble does {1} play the {2}?
? With whom does {1} play the {2}?
~ with whom {1} plays the {2}
- the ensemble in which {1} plays the {2}

# badge
of <full name>
is <####>, <#####>, <@###>, <@@-##>
+ The number on {1}'s badge is {=}.
+ {1} wears badge {=}.
+ Badge {=} belongs to {1}.
? Which badge does {1} wear?
? What badge number does {1} have?
~ which number {1}'s badge has
- {1}'s badge number

# pager
of <person>
is <###>, <####>, <#####>
+ {1} answers the pager {=}.
+ To page {1}, dial {=}.
+ Pager {=} is {1}'s.
? Which pager does {1} carry?
? What do I dial to page {1}?
~ which pager {1} carries
- {1}'s pager number

# birth
of <person>
is <1880..2015>
+ {1} came into the world in {=}.
+ {1}'s passport gives {=} as the year of birth.
+ {=} is the year that stands in {1}'s passport.
+ {1} belongs to those of {=}.
? Which year did {1} come into the world?
? Which year does {1}'s passport give?
~ which year {1} comes from
- {1}'s birth according to the passport

# wedding
of <person>
is <human>
+ {1} and {=} are husband and wife.
+ {=} walked down the aisle with {1}.
+ {1} has a wedding ring from {=}.
? With whom did {1} walk down the aisle?
? From whom has {1} a wedding ring?
? Whose wedding ring does {1} wear?
~ who {1} walked down the aisle with
- {1}'s better half

# mother tongue
of <person>
is <language>, <word>ese, <word>ian, <word>ish, <word>ic
+ {1} grew up with {=}.
+ In dreams {1} talks {=}.
+ With the family, {1} talks {=}.
? Which language did {1} grow up with?
? What does {1} talk in dreams?
~ which language {1} grew up with
- {1}'s mother tongue

# landlord
of <person>
is <human>
+ {1} pays the rent to {=}.
+ {1} lodges with {=}.
+ {=} rents a room to {1}.
? To whom does {1} pay the rent?
? Who rents a room to {1}?
? With whom does {1} lodge?
~ who {1} lodges with
- {1}'s landlord
)";

}  // namespace mplus::train::made
