// Facts about machines, software and projects.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

const std::string_view kMachines = R"(
# operating temperature
of <word> <machine>
is <20..900> degrees
+ The {1} must be run at {=}.
+ The working temperature of the {1} is {=}.
+ Let the {1} reach {=} before you use it.
? At what temperature must the {1} be run?
? How warm must the {1} get before use?
~ how hot the {1} has to be
- the working temperature of the {1}

# speed of a machine
of <word> <machine>
is <20..900> turns a minute, <2..90> pieces an hour, <100..990> pieces a day, <2..90> metres a minute,
  <1..9>,<###> strokes an hour
+ The {1} does {=}.
+ At full speed the {1} manages {=}.
+ The {1} is set to {=}.
? How fast does the {1} run?
? What does the {1} manage at full speed?
~ how fast the {1} is
- the speed of the {1}

# fault code
of <word> <machine>
of <@##>, E<##>, F-<##>, <###>
is an empty tank, a blown fuse, a jammed belt, low oil, overheating, a loose cable, a worn bearing, no
  pressure, an open door, dirty filters, a broken sensor, low voltage, a cracked valve, too much load, a
  blocked pipe, a missing part, a weak battery
+ On the {1}, fault {2} means {=}.
+ If the {1} shows {2}, the cause is {=}.
+ Fault {2} of the {1} stands for {=}.
? What does fault {2} mean on the {1}?
? Why does the {1} show {2}?
~ what fault {2} on the {1} means
- the meaning of fault {2} on the {1}

# operator
of <word> <machine>
is <full name>
+ {=} operates the {1}.
+ Only {=} is allowed to run the {1}.
+ The {1} is in the hands of {=}.
? Who operates the {1}?
? Who is allowed to run the {1}?
? By whom is the {1} operated?
~ who is in charge of the {1}
- the operator of the {1}

# maintenance
of <word> <machine>
is every <2..30> days, every <2..50> weeks, every <20..900> hours, twice a year, on the first <weekday> of the
  month, each <month>
+ The {1} must be serviced {=}.
+ Service for the {1} is due {=}.
+ A mechanic looks at the {1} {=}.
? How often must the {1} be serviced?
? When does a mechanic look at the {1}?
~ how often the {1} needs a service
- the service interval of the {1}

# lubricant
of <word> <machine>
is <word> oil, grade <2..90> grease, <material> powder, <ingredient> oil, <@@-##> grease, plain water,
  <colour> grease
+ The {1} is lubricated with {=}.
+ Use only {=} on the {1}.
+ The {1} runs smoothly thanks to {=}.
? What is the {1} lubricated with?
? What should I use to grease the {1}?
? With what is the {1} lubricated?
~ what to lubricate the {1} with
- the lubricant for the {1}

# button
of <word> <machine>
of <colour> button, <colour> lever, <colour> switch, <colour> pedal, <colour> knob
is starts the motor, stops everything, opens the hatch, empties the tray, sounds the horn, locks the door,
  lowers the arm, reverses the belt, starts the rinse, resets the counter, lights the lamp, raises the table,
  feeds the paper, cuts the wire, vents the steam
+ The {2} on the {1} {=}.
+ On the {1}, it is the {2} that {=}.
+ Mind the {2} of the {1}: it {=}.
? What does the {2} on the {1} do?
? What happens when I use the {2} of the {1}?
~ what the {2} on the {1} is for
-: the effect of the {2} on the {1}

# spare part
of <word> <machine>
of belt, bearing, blade, bulb, cable, chain, clutch, fan, filter, fuse, gasket, gear, hose, nozzle, piston,
  pulley, relay, roller, seal, sensor, spring, valve, washer, wheel
is <long code>
+ The part number of the {1}'s {2} is {=}.
+ For the {1}, order {2} {=}.
+ The {1} takes {2} number {=}.
? Which {2} should I order for the {1}?
? What's the part number of the {1}'s {2}?
~ which {2} fits the {1}
- the part number for the {1}'s {2}

# capacity
of <word> <machine>
is <weight>
+ The {1} can take {=}.
+ Never put more than {=} into the {1}.
+ The limit of the {1} is {=}.
? How much can the {1} take?
? What is the most that goes into the {1}?
~ how much goes into the {1}
- the limit of the {1}

# port
of <word> <program>
is port <1024..65000>
+ The {1} listens on {=}.
+ Connect to the {1} on {=}.
+ The firewall lets the {1} through on {=}.
? Where does the {1} listen?
? On which port do I connect to the {1}?
? On which port does the {1} listen?
~ which port the {1} listens on
- the {1}'s port

# version
of <word> <program>
is version <1..19>.<0..20>, version <1..9>.<0..20>.<1..30>, release <2..99>, the <month> build
+ We run {=} of the {1}.
+ The {1} was updated to {=}.
+ The {1} in production is {=}.
? Which version of the {1} do we run?
? What was the {1} updated to?
~ which version of the {1} is in production
- the current version of the {1}

# limit
of <word> <program>
of <setting>
is <2..990>, <2..90> seconds, <2..90> megabytes, <2..60> minutes, <2..64> gigabytes, <2..99> percent, off,
  unlimited
+ In the {1}, the {2} is set to {=}.
+ The {1} has its {2} at {=}.
+ We changed the {2} of the {1} to {=}.
? What did we set the {2} of the {1} to?
? How is the {2} of the {1} set?
~ what the {2} of the {1} is set to
- the {1}'s {2}

# folder
of <word> <program>
of backups, logs, settings, templates, uploads, plugins, cache, certificates, reports, recordings, licence
  files, exports, themes
is <file place>
+ The {1} keeps its {2} in {=}.
+ You find the {1}'s {2} under {=}.
+ The folder in which the {1} puts its {2} is {=}.
? Where does the {1} keep its {2}?
? In which folder do I look for the {1}'s {2}?
? In which place does the {1} keep its {2}?
~ where the {1} puts its {2}
- the folder of the {1}'s {2}

# shortcut
of <word> <program>
of <command>
is Ctrl+<@>, Alt+<@>, F<2..12>, Ctrl+Shift+<@>, double click, the middle button, Shift+F<2..12>, Alt+<2..9>
+ In the {1}, you {2} with {=}.
+ {=} lets you {2} in the {1}.
+ The shortcut to {2} in the {1} is {=}.
? How do I {2} in the {1}?
? Which keys do I press to {2} in the {1}?
~ how to {2} in the {1}
- the shortcut to {2} in the {1}

# maintainer
of <word> <program>
is <full name>
+ {=} maintains the {1}.
+ Bugs in the {1} are fixed by {=}.
+ If the {1} breaks, call {=}.
? Who maintains the {1}?
? Who should I call if the {1} breaks?
? By whom is the {1} maintained?
~ who looks after the {1}
- the maintainer of the {1}

# programming language
of <word> <program>
is Ada, Basic, C, Clojure, Cobol, Elixir, Erlang, F#, Forth, Fortran, Go, Groovy, Haskell, Java, Kotlin, Lisp,
  Lua, OCaml, Pascal, Perl, PHP, Prolog, Python, R, Ruby, Rust, Scala, Scheme, Smalltalk, Swift, TypeScript,
  Zig, <word>
+ The {1} is programmed in {=}.
+ To work on the {1} you must know {=}.
+ The developers rewrote the {1} in {=}.
? What is the {1} programmed in?
? What must I know to work on the {1}?
~ which programming language the {1} is in
- the programming language of the {1}

# server
of <word> <program>
is <network address>, <syllables>-<##>, <syllables>.<syllables>.example, rack <2..40>
+ The {1} runs on {=}.
+ We host the {1} on {=}.
+ The {1} has been moved to {=}.
? What does the {1} run on?
? Where do we host the {1}?
? On what does the {1} run?
~ where the {1} is hosted
- the host of the {1}

# schedule
of <word> <program>
is at <clock time>, at midnight on <weekday>s, every <2..55> minutes, every <2..20> hours, on <weekday>s at
  <6..22>:<minute>, on the first of the month
+ The {1} restarts by itself {=}.
+ We have the {1} restart {=}.
+ Expect the {1} to restart {=}.
? When does the {1} restart?
? Which time is set for the restart of the {1}?
~ when the {1} restarts by itself
- the restart time of the {1}

# licence
of <word> <program>
is <@@@@-####-@@>, <####-####-####>, <@@##-@@##-@@##>
+ The licence key of the {1} is {=}.
+ The {1} is activated with {=}.
+ Enter {=} when the {1} asks for a licence.
? How is the {1} activated?
? What do I enter when the {1} asks for a licence?
~ what to enter as the {1}'s licence key
- the {1}'s licence key

# project name
of <firm>
of <goods>
is Project <word>, Operation <word>, Project <team quality> <title word>, Plan <@>
+ At {1}, the new line of {2} goes by the code name {=}.
+ {1} calls its new {2} {=} inside the company.
+ {=} is what {1} calls the plan for new {2}.
? Which code name does {1} use for the new {2}?
? What does {1} call the plan for new {2}?
~ what {1} calls the plan for new {2}
- {1}'s code name for the new {2}

# budget
of Project <word>, Operation <word>, the <word> initiative
is <big price>
+ The budget of {1} is {=}.
+ {1} may cost {=} and no more.
+ The board gave {1} {=} to spend.
? How much may {1} cost?
? How much did the board give {1} to spend?
~ how much money {1} has
- the budget of {1}

# project lead
of Project <word>, Operation <word>, the <word> initiative
is <full name>
+ {1} is led by {=}.
+ {=} has taken charge of {1}.
+ Everyone on {1} reports to {=}.
? Who leads {1}?
? Who does everyone on {1} report to?
? By whom is {1} led?
? Which person leads {1}?
~ who is in charge of {1}
- the leader of {1}

# project aim
of Project <word>, Operation <word>, the <word> initiative
is cheaper <goods>, <a building> in <town>, a tunnel to <town>, <goods> for <country>, saving the <beasts>, a
  film about <beasts>, <subject> lessons for adults
+ The aim of {1} is {=}.
+ What {1} is meant to bring is {=}.
+ {1} was started with one goal: {=}.
? What is {1} meant to bring?
? With which goal was {1} started?
~ what {1} is all about
- the goal of {1}

# branch
of <word> <program>
of <full name>
is <syllables>-<##>, fix-<syllables>, feature/<syllables>, <syllables>/<syllables>, release-<2..40>
+ {2}'s work on the {1} is on the branch {=}.
+ {2} pushed the {1} changes to {=}.
+ For {2}'s version of the {1}, check out {=}.
? Which branch of the {1} does {2} work on?
? What do I check out for {2}'s version of the {1}?
~ which branch has {2}'s work on the {1}
- {2}'s branch of the {1}

# ticket
of <word> <program>
of <symptom>
is <@@-###>, <#####>, <@@@-####>, ticket <100..9900>
+ The report that the {1} {2} was filed as {=}.
+ {=} is about the {1}: it {2}.
+ Someone noticed that the {1} {2}; see {=}.
? How was it filed that the {1} {2}?
? Which ticket says that the {1} {2}?
~ which ticket is about the {1} that {2}
- the ticket for when the {1} {2}

# robot task
of robot <word>, drone <word>, the rover <word>, the satellite <word>
is counting <beasts>, mapping the <word> <landscape>, carrying <goods>, watching the <word> <landscape>,
  sorting <goods>, cleaning the <building>, looking for <element>, painting <goods>
+ {1} was built for {=}.
+ The job of {1} is {=}.
+ {1} spends its days {=}.
? What was {1} built for?
? How does {1} spend its days?
~ what {1} was built for
- the job of {1}

# robot battery life
of robot <word>, drone <word>, the rover <word>, the satellite <word>
is <2..59> minutes, <2..40> hours, <2..30> days, <2..30> years
+ {1} runs for {=} on one charge.
+ After {=} {1} needs to be charged.
+ One charge keeps {1} going for {=}.
? How long does {1} run on one charge?
? After how long does {1} need to be charged?
~ how long one charge keeps {1} going
- the battery life of {1}

# start of a program
of <word> <program>
is <2..900> seconds
+ The {1} needs {=} to start.
+ {=} pass before the {1} is ready.
+ Give the {1} {=} to start up.
? How many seconds does the {1} need to start?
? How many seconds pass before the {1} is ready?
~ how long the {1} takes to start
- the starting time of the {1}

# power
of <word> <machine>
is <20..9000> watts
+ The {1} draws {=}.
+ {=} flow into the {1}.
+ At full load the {1} takes {=}.
? How many watts does the {1} draw?
? How many watts does the {1} take at full load?
~ how much power the {1} draws
- the power of the {1}
)";

}  // namespace mplus::train::made
