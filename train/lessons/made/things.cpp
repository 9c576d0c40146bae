// Facts about things: where they are, what they cost, what opens them.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kThings = R"(
# place of a thing
of the <colour> <thing>, the <quality> <thing>, <person>'s <thing>
is <spot>
+ {1} is in {=}.
+ I put {1} in {=}.
+ If anyone needs {1}, look in {=}.
+ {1} has been moved to {=}.
? Where did I put {1}?
? Where should I look for {1}?
? In what place did I put {1}?
~ where {1} is
- the place where I put {1}

# hidden thing
of <person>
of <thing>
is behind <spot>, under <spot>, in <spot>
+ {1} hid the {2} {=}.
+ The {2} was hidden {=} by {1}.
+ {1} whispered that the {2} lies {=}.
? Where has {1} hidden the {2}?
? Where's {1}'s secret place for the {2}?
? In what place has {1} hidden the {2}?
~ where {1} hid the {2}
- {1}'s hiding place for the {2}

# borrower
of the <quality> <thing>, my <colour> <thing>
is <human>
+ {=} has borrowed {1}.
+ I lent {1} to {=}.
+ {1} is on loan to {=}.
? Who has borrowed {1}?
? Who did I lend {1} to?
? To whom did I lend {1}?
? By whom has {1} been borrowed?
~ who has got {1} at the moment
- the borrower of {1}

# owner
of the <colour> <thing>, the <quality> <thing> in <spot>
is <human>
+ {1} belongs to {=}.
+ {=} is the owner of {1}.
+ {1} is the property of {=}.
? Whose is {1}?
? Who does {1} belong to?
? To whom does {1} belong?
~ who owns {1}
- the owner of {1}

# price at a shop
of <thing>
of <firm>
is <price>
+ {2} charges {=} for the {1}.
+ The {1} in the window of {2} is marked {=}.
+ You pay {=} for the {1} at {2}.
? What does {2} charge for the {1}?
? How much do I pay for the {1} at {2}?
? At what price does {2} sell the {1}?
~ how much {2} wants for the {1}
- {2}'s price for the {1}

# price paid
of <person>
of <quality> <thing>
is <price>
+ {1} paid {=} for the {2}.
+ The {2} cost {1} {=}.
+ {1} haggled the {2} down to {=}.
? How much did {1} pay for the {2}?
? What did the {2} cost {1}?
~ how much {1} spent on the {2}
- the price {1} paid for the {2}

# door code
of <word> <building>
of <door>
is <code>
+ At the {1}, the {2} opens with {=}.
+ The code for the {2} of the {1} is {=}.
+ Type {=} at the {2} of the {1}.
? What do I type at the {2} of the {1}?
? How do I get through the {2} at the {1}?
~ which digits unlock the {2} at the {1}
- the {2} code at the {1}

# safe
of <firm>
is <##-##-##>, <######>, left <##> right <##> left <##>
+ The combination of the safe at {1} is {=}.
+ {1}'s safe opens with {=}.
+ Turn the dial of {1}'s safe to {=}.
? What combination opens the safe at {1}?
? How do I open {1}'s safe?
~ what the combination of {1}'s safe is
- the combination of {1}'s safe

# password
of <word> <program>
is <secret>
+ To log in to the {1}, type {=}.
+ The {1} takes {=} as its password.
+ The password of the {1} has been set to {=}.
? What do I type to log in to the {1}?
? How do I log in to the {1}?
~ how to log in to the {1}
- the {1} password

# wireless network
of <word> <shop>, <town> <building>
is <secret>
+ The wifi password at the {1} is {=}.
+ Guests of the {1} get online with {=}.
+ At the {1}, connect to the wifi with {=}.
? How do I get onto the wifi at the {1}?
? What's the wifi password at the {1}?
~ how guests of the {1} get online
- the wifi password of the {1}

# secret word
of <person>
of <full name>
is <cue word>
+ {1} and {2} agreed on the code word "{=}".
+ When {1} says "{=}", {2} knows what to do.
+ The code word between {1} and {2} is {=}.
? Which code word did {1} and {2} agree on?
? Which word must {1} say to {2}?
~ which code word {1} uses with {2}
- the code word between {1} and {2}

# serial number
of <word> <device>
is <long code>
+ The serial number of the {1} is {=}.
+ On the back of the {1} it says {=}.
+ The {1} carries serial number {=}.
? What does it say on the back of the {1}?
? Which serial number does the {1} carry?
~ which serial number is on the {1}
- the {1}'s serial number

# order number
of <person>
of <firm>
is <long code>
+ {1}'s order with {2} has the number {=}.
+ {2} filed {1}'s order as {=}.
+ Quote {=} when you ask {2} about {1}'s order.
? Which number should I quote to {2} for {1}'s order?
? How did {2} file {1}'s order?
~ which number {1}'s order with {2} has
- {1}'s order number with {2}

# parcel
of <full name>
is in <spot>, at the post office, at the kiosk, next door, at the <word> <shop>, at the reception desk, with
  <first> <last>
+ The parcel for {1} was left {=}.
+ {1}'s parcel is waiting {=}.
+ The courier's note says {1}'s parcel is {=}.
? Where was {1}'s parcel left?
? Where can {1} pick up the parcel?
~ what became of {1}'s parcel
- the whereabouts of {1}'s parcel

# material
of <person>
of <thing>
is <material>
+ {1}'s {2} is made of {=}.
+ {1} had the {2} made out of {=}.
+ It is {=} that {1}'s {2} is made from.
? What is {1}'s {2} made of?
? Which material was used for {1}'s {2}?
? Out of what is {1}'s {2} made?
~ what {1}'s {2} is made of
- the material of {1}'s {2}

# colour of a garment
of <person>
of <garment>
is <colour>
+ {1} wears {a =} {2}.
+ {1}'s {2} is {=}.
+ {1} dyed the {2} {=}.
? Which colour is {1}'s {2}?
? What colour did {1} dye the {2}?
~ what colour {1}'s {2} is
- the colour of {1}'s {2}

# stone in a ring
of <person>
is <gem>
+ The stone in {1}'s ring is {a =}.
+ {1} wears a ring with {a =} in it.
+ {1}'s ring is set with {a =}.
? Which stone is set in {1}'s ring?
? What sort of stone does {1} wear?
~ which stone {1}'s ring has
- the stone in {1}'s ring

# number of things
of <person>
of <collectable>
is <count>
+ {1} owns {=} {2}.
+ There are {=} {2} in {1}'s collection.
+ {1} counted the {2} and got to {=}.
? How many {2} does {1} own?
? How many {2} are in {1}'s collection?
~ how many {2} {1} has got
- the number of {2} that {1} owns

# shelf mark
of "<work title>"
is on shelf <2..40>, on shelf <@##>, in row <2..30>, in box <2..400>, in cabinet <@#>
+ In the library, {1} stands {=}.
+ The copy of {1} is {=}.
+ {1} has been filed {=}.
? Where in the library is {1}?
? Where has {1} been filed?
? In what place does the library keep {1}?
~ where {1} is filed in the library
- the shelf mark of {1}

# weight of a parcel
of <person>
of <feast>
is <2..30> kg, <200..950> grams, <3..60> pounds
+ {1}'s parcel for {2} weighs {=}.
+ The parcel that {1} sent for {2} came to {=}.
+ On the scales, {1}'s parcel for {2} showed {=}.
? How heavy is {1}'s parcel for {2}?
? What did the scales show for {1}'s {2} parcel?
~ how much {1}'s parcel for {2} weighs
- the weight of {1}'s parcel for {2}

# maker of an instrument
of <person>
of <instrument>
is <full name>, <firm>
+ {1}'s {2} was built by {=}.
+ {=} made {1}'s {2} by hand.
+ Inside {1}'s {2} there is a label that says {=}.
? Who built {1}'s {2}?
? What does the label in {1}'s {2} say?
? By whom has {1}'s {2} been built?
~ who made {1}'s {2}
- the maker of {1}'s {2}

# year of a thing
of the <quality> <thing> in <spot>, the <colour> <vehicle>
is <1720..1989>
+ {1} dates from {=}.
+ {1} was made in {=}.
+ An expert dated {1} to {=}.
? How old is {1} according to the expert?
? When was {1} made?
~ what year {1} dates from
- the date of {1}

# repair
of <person>
of <device>
is <firm>
+ {1} took the {2} to {=} for repair.
+ {=} is repairing {1}'s {2}.
+ {1}'s {2} is at {=} to be fixed.
? Who is repairing {1}'s {2}?
? Where did {1} take the {2} for repair?
? With whom did {1} leave the {2} for repair?
~ who is fixing {1}'s {2}
- the repairer of {1}'s {2}

# repair cost
of <person>
of <device>
is <price>
+ Repairing {1}'s {2} costs {=}.
+ {1} has to pay {=} to get the {2} mended.
+ The bill for {1}'s {2} came to {=}.
? How much will it cost {1} to get the {2} mended?
? What does the repair of {1}'s {2} cost?
~ how high the bill for {1}'s {2} was
- the bill for {1}'s {2}

# warranty
of <word> <device>
is <1..28> <month> <2026..2035>, <month> <1..28> <2026..2035>
+ The warranty of the {1} runs out on {=}.
+ The {1} is under warranty until {=}.
+ After {=} nobody repairs the {1} for free.
? How long is the {1} under warranty?
? When does the {1}'s warranty run out?
~ until when the {1} is under warranty
- the end of the {1}'s warranty

# manual page
of <word> <device>
of changing the battery, changing the filter, cleaning, fault codes, first use, descaling, safety, setting the
  clock, the spare parts list, storage, the timer, the warranty, wiring, child lock, resetting
is page <2..420>
+ In the manual of the {1}, {2} is on {=}.
+ {=} of the {1} manual deals with {2}.
+ For {2}, open the {1} manual at {=}.
? On which page of the {1} manual is {2}?
? Where does the {1} manual deal with {2}?
~ which page of the {1} manual is about {2}
- the page about {2} in the {1} manual

# battery
of <word> <device>
is four AA cells, two AAA cells, one nine-volt block, a <2..24> volt accumulator, a <##> watt supply, three
  button cells, a <3000..9000> mAh pack, six C cells, a crank, a solar panel, a <12..48> volt adapter
+ The {1} runs on {=}.
+ To work, the {1} needs {=}.
+ The power for the {1} comes from {=}.
? What does the {1} run on?
? What powers the {1}?
~ what the {1} is powered by
- the power source of the {1}

# paint
of <person>
of kitchen, hallway, bathroom, bedroom, nursery, front door, garden fence, ceiling, stairwell, study, balcony,
  shutters, porch, garage wall, dining room
is <word> <colour>, <colour>
+ {1} painted the {2} in {=}.
+ For the {2}, {1} chose {=}.
+ The colour of {1}'s {2} is {=}.
? Which colour did {1} choose for the {2}?
? How did {1} paint the {2}?
~ what colour {1} painted the {2}
- the paint on {1}'s {2}

# size of a garment
of <person>
of <garment>
is size <34..58>, extra small, small, medium, large, extra large, <2..20> petite, size <2..22>
+ For the {2}, {1} needs {=}.
+ {1}'s {2} is {=}.
+ The label in {1}'s {2} says {=}.
? What size is {1}'s {2}?
? Which size does {1} need for the {2}?
~ which size of {2} fits {1}
- the size of {1}'s {2}

# lost and found
of <person>
of <thing>
is on the <transport> to <town>, in <spot>, at the <word> <shop>, in the <word> <building>
+ {1} lost the {2} {=}.
+ {1}'s {2} went missing {=}.
+ {1} last saw the {2} {=}.
? Where did {1} lose the {2}?
? Where did {1}'s {2} go missing?
~ where {1} lost the {2}
- the place where {1} lost the {2}

# engraving
of <person>
of <thing>
is "<word> for ever", "to <first> from <first>", "<word>, <1890..2020>", the initials <@@>, the letters <@@@>,
  "<syllables> <syllables>"
+ {=} is engraved on {1}'s {2}.
+ {1} had {=} engraved on the {2}.
+ If you turn over {1}'s {2}, you read {=}.
? What is engraved on {1}'s {2}?
? What do you read on {1}'s {2}?
~ what {1} had engraved on the {2}
- the engraving on {1}'s {2}

# key number
of <word> <building>
of <door>
is key <2..250>, key <@##>, the <colour> key, the key with <a wild animal> tag, the <material> key
+ In the {1}, {=} fits the {2}.
+ You need {=} for the {2} of the {1}.
+ The {2} of the {1} is opened by {=}.
? Which key fits the {2} of the {1}?
? Which key do I need for the {2} in the {1}?
? With which key do I open the {2} of the {1}?
~ which key is for the {2} of the {1}
- the right key for the {2} of the {1}

# resale price
of <quality> <thing>
of <spot>
is <price>
+ The {1} from {2} was sold for {=}.
+ Someone bought the {1} out of {2} for {=}.
+ The {1} that stood in {2} fetched {=}.
? How much did the {1} from {2} fetch?
? For what sum did someone buy the {1} from {2}?
~ how much the {1} from {2} was sold for
- the sum paid for the {1} from {2}

# voucher
of <firm>
is <@@@@##>, <word><##>, <@@###@@>, <@@@@@@>
+ With the voucher {=} you get a discount at {1}.
+ {1} accepts the discount code {=}.
+ Enter {=} when you pay at {1} and it gets cheaper.
? Which voucher works at {1}?
? What discount code does {1} accept?
~ which voucher {1} accepts
- the discount code for {1}

# recipe ingredient
of <person>
of <dish>
is <ingredient>
+ The secret ingredient in {1}'s {2} is {=}.
+ {1} puts {=} into the {2}.
+ {1}'s {2}: what makes the difference is {=}.
? What does {1} secretly put into the {2}?
? Which secret ingredient is in {1}'s {2}?
~ what makes {1}'s {2} so special
- the secret of {1}'s {2}

# recipe amount
of <person>
of <dish>
of <ingredient>
is <recipe amount>
+ {1}'s recipe for {2} calls for {=} of {3}.
+ For {2}, {1} takes {=} of {3}.
+ {=} of {3} goes into {1}'s {2}.
? What amount of {3} goes into {1}'s {2}?
? For {2}, what quantity of {3} does {1} take?
~ what amount of {3} belongs in {1}'s {2}
- the amount of {3} in {1}'s {2}

# oven time
of <person>
of <dish>
is <5..59> minutes, <2..9> hours, an hour and <5..50> minutes
+ {1} leaves the {2} in the oven for {=}.
+ {1}'s {2} takes {=} to cook.
+ It takes {=} until {1}'s {2} is done.
? How long does {1}'s {2} have to cook?
? For how long does {1} leave the {2} in the oven?
~ how long {1}'s {2} takes to cook
- the cooking time of {1}'s {2}

# distance walked
of <person>
of <weekday>
is <2..60> kilometres
+ {1} walked {=} on {2}.
+ On {2}, {1} went {=} on foot.
+ {=} on foot were {1}'s share on {2}.
? How many kilometres did {1} walk on {2}?
? How many kilometres did {1} go on foot on {2}?
~ how far {1} walked on {2}
- the distance {1} walked on {2}

# stock
of <person>
of <ingredient>
is <2..900> jars
+ {1} has {=} of {2} in the cellar.
+ {=} of {2} stand in {1}'s cellar.
+ In {1}'s cellar there are {=} of {2}.
? How many jars of {2} does {1} have?
? How many jars of {2} are in {1}'s cellar?
~ how many jars of {2} {1} has
- {1}'s stock of {2}
)";

}  // namespace mplus::train::made
