#!/usr/bin/env python3
"""Makes messages that need no memory (talk, tasks, what everybody knows) and questions for what may have been told, as
tools/train_talk.py learns them apart. JSON lines, seeded: `text`, `label` (1: talk), `kind`, `part` (train, or held: of forms
that training does not see).

    tools/talk_prompts.py --data FOLDER --clinc data_full.json > prompts.jsonl

FOLDER has qa_squadshifts.jsonl.xz and qa_fairytaleqa.jsonl.xz; --clinc is CLINC150 (github.com/clinc/oos-eval, CC BY 3.0).
--leave-out FILE: lines of an exam, which are not made.
"""
import argparse
import json
import lzma
import pathlib
import random
import re
import subprocess
import sys

CLINC_TALK = ("translate definition meaning_of_life improve_credit_score fun_fact where_are_you_from "
              "what_can_i_ask_you oil_change_how who_made_you timezone flip_coin thank_you roll_dice food_last "
              "cook_time ingredient_substitution travel_suggestion calculator carry_on do_you_have_pets plug_type "
              "exchange_rate goodbye ingredients_list measurement_conversion international_visa vaccines spelling "
              "greeting what_is_your_name what_are_your_hobbies are_you_a_bot tell_joke how_old_are_you jump_start "
              "meal_suggestion recipe nutrition_info calories who_do_you_work_for").split()
CLINC_TOLD = ("user_name payday balance bill_due bill_balance calendar meeting_schedule reminder todo_list "
              "shopping_list pto_balance pto_used credit_limit interest_rate expiration_date income flight_status "
              "last_maintenance spending_history rewards_balance confirm_reservation min_payment").split()
CLINC_HELD = set("spelling recipe tell_joke measurement_conversion timezone how_old_are_you plug_type payday meeting_schedule "
                 "shopping_list expiration_date".split())

REL = ("sister brother mother father uncle aunt cousin boss neighbour dentist doctor landlord teacher wife husband son "
       "daughter friend colleague vet plumber lawyer").split()
THING = ("car bike house flat office dog cat phone laptop passport bag garden bakery shop boat piano guitar coat "
         "wallet umbrella key").split()
NAMES = ("Tom Sara Miguel Ines Pavel Noor Beth Oskar Lucia Hamid Anna Peter Julia Marta Jonas Emil Clara Ravi Kenji "
         "Lena").split()
COUNTRY = ("Spain Italy Germany Brazil Canada Egypt Kenya India China Mexico Norway Sweden Poland Greece Turkey Peru "
           "Chile Vietnam Australia Portugal Ireland Austria Cuba Morocco").split()
LANG = ("French German Italian Portuguese Dutch Swedish Polish Russian Chinese Korean Turkish Latin").split()
ELEMENT = ("iron silver oxygen helium sodium carbon lead neon copper mercury").split()
ACRO = ("CPU RAM HTML SQL GPS NASA DNA PDF URL API UNESCO LED").split()
ANIMAL = ("whale giraffe spider octopus penguin elephant bat snail shark bee").split()
TOPIC = ("gravity,evolution,inflation,democracy,the water cycle,magnetism,the moon's phases,blockchain,a vaccine,an "
         "algorithm,DNA,electricity,a compiler,the internet,tides,earthquakes,volcanoes,interest rates,the immune "
         "system,neural networks").split(",")
SUBJ = ("spring,the ocean,a lonely robot,friendship,rain,my morning coffee,a lighthouse,the city at night,an old "
        "train,snow,time,hope").split(",")
WORD = ("happy,brave,cold,large,ancient,bright,quiet,difficult,generous,slow,beautiful,angry").split(",")
PLANG = ("Python,JavaScript,C++,Java,Rust,Go,Bash,Ruby").split(",")
PTASK = ("sorts a list,checks whether a number is prime,reads a file line by line,computes a factorial,finds the "
         "largest element,removes duplicates,parses a date,counts words").split(",")
DISH = ("pancakes,an omelette,rice,tomato soup,bread,coffee,lasagna,a salad,hummus,apple pie").split(",")
OCCASION = ("wedding,housewarming,retirement,graduation,anniversary,picnic,dinner party,road trip,camping trip,job "
            "interview").split(",")
PHRASE = ["good morning", "where is the station", "I am hungry", "see you soon", "how much is it", "cheers",
          "my friend", "please", "the red house", "I love you"]
WORK = ["Hamlet", "Don Quixote", "War and Peace", "Pride and Prejudice", "The Odyssey", "Moby Dick", "Faust", "1984", "The Great Gatsby",
        "Les Miserables"]
UNIT = [("miles", "kilometers"), ("pounds", "kilograms"), ("inches", "centimeters"), ("Celsius", "Fahrenheit"),
        ("hours", "seconds"), ("liters", "gallons")]

# Asked for what somebody may have told.
TOLD = """\
Where do I live?
What is my name?
Who am I?
How old am I?
What did I tell you about my {rel}?
Who is the {rel}?
Who is my {rel}?
What is my {rel}'s name?
Where does my {rel} live?
And her {rel}?
and his {rel}?
And the {thing}?
What about {name}?
And {name}?
Where is the {thing}?
Where did I leave the {thing}?
Where did I put my {thing}?
What colour is my {thing}?
What color is the {thing}?
When is my appointment with the {rel}?
What does my {rel} do for a living?
What does {name} do?
Where does {name} work?
Who is {name}?
Who is {name} married to?
What did {name} say about the {thing}?
What did {name} buy?
When did we last talk about the {thing}?
Which day do I see the {rel}?
How much did my {thing} cost?
How much did I pay for the {thing}?
Do I have a {thing}?
Do you remember my {rel}'s birthday?
Do you know where {name} lives?
Can you tell me what my {rel} is called?
Tell me what {name} likes to eat.
Remind me when the {rel} comes.
What was the name of the {rel} again?
What is {name}'s favourite food?
What's my favourite colour?
Which city do I live in?
What do I do for a living?
What was it called?
Where was that?
When does it open?
Who told me about the {thing}?
What is the code for the {thing}?
What is the phone number of {name}?
What is {name}'s address?
Is {name} allergic to anything?
What happened to the {thing}?
Why did {name} leave?
How did {name} get home?
Who broke the {thing}?
What did the {rel} give to {name}?
On which day does {name} come?
What is the wifi password?
What time does my train leave?
Where are we meeting {name}?
Which hotel did we book?
What does the note say about the {thing}?
According to the report, who won?
What does the document say about {name}?
Summarize what I told you about {name}.
What do you know about me?
What do you know about {name}?
Have I told you about my {thing}?
""".splitlines()

# Nobody need have told anything.
TALK = """\
Hi!
Hello there.
Hey, what's up?
Good afternoon!
How is it going?
Nice to meet you.
Thanks a lot.
Thanks, that helps.
Bye for now.
Have a nice day!
You are very helpful.
Sorry about that.
Great, thank you!
I am bored.
I feel a bit sad today.
I had a long day.
It is sunny today.
I love music.
What can you do?
Who are you?
Are you a robot?
Can you help me?
Tell me a story.
Tell me something interesting.
Tell me a riddle.
Make me laugh.
What is the capital of {country}?
What language is spoken in {country}?
What is the population of {country}?
Which continent is {country} in?
Which currency does {country} use?
What is the flag of {country} like?
Name a famous city in {country}.
What is {country} famous for?
Translate "{phrase}" into {lang}.
How do you say "{phrase}" in {lang}?
What is "{phrase}" in {lang}?
Explain {topic} to a child.
What is {topic}?
How does {topic} work?
Explain {topic} in two sentences.
Why is {topic} important?
Give me a short overview of {topic}.
Write a poem about {subj}.
Write a short story about {subj}.
Write a limerick about {subj}.
Compose a song about {subj}.
Write two sentences about {subj}.
Describe {subj} in three words.
Write a tweet about {subj}.
What is the opposite of "{word}"?
Give me another word for "{word}".
Use "{word}" in a sentence.
What does "{word}" mean?
What rhymes with "{word}"?
Spell "{word}".
Name five words that mean "{word}".
Write a {plang} function that {ptask}.
How do I write a loop in {plang}?
Show me a {plang} program that {ptask}.
What is a class in {plang}?
How do I install a package in {plang}?
Explain pointers in {plang}.
Is {plang} a compiled language?
Write a unit test in {plang}.
What does this error mean: undefined variable?
How do I make {dish}?
Give me a recipe for {dish}.
How long does it take to make {dish}?
What goes well with {dish}?
Which ingredients do I need for {dish}?
What is the chemical symbol for {element}?
What is the atomic number of {element}?
What is {element} used for?
Who wrote {work}?
When was {work} published?
What is {work} about?
What does {acro} stand for?
What is {acro}?
How fast can a {animal} move?
What do {animal}s eat?
How long do {animal}s live?
Are {animal}s mammals?
How many legs does a {animal} have?
Tell me a fact about {animal}s.
What is {a} plus {b}?
What is {a} times {b}?
What is {a} minus {b}?
Calculate {a} * {b} + 3.
What is the square of {a}?
Divide {b} by {a}.
What is {a} percent of {b}?
Is {a} a prime number?
How many {u1} are in {a} {u2}?
Convert {a} {u1} to {u2}.
Count backwards from {a}.
List the first five even numbers.
What comes after 2, 4, 8, 16?
Give me ideas for a {occasion}.
What should I bring to a {occasion}?
What should I wear to a {occasion}?
Write an invitation to a {occasion}.
How do I prepare for a {occasion}?
Plan a {occasion} for me.
Write an email to my boss asking for a raise.
Write a thank-you note.
Write a cover letter for a job as a nurse.
Correct this sentence: "She don't like apples."
Rewrite this in a formal tone: "Hey, send me the file."
Make this shorter: "I am writing to let you know that the meeting has been moved."
Summarize the plot of {work}.
List three {animal} facts.
Name three fruits.
Name the planets of the solar system.
List the months of the year.
What are the seasons?
Which planet is closest to the sun?
How far is the moon from the earth?
Why is the sky blue?
Why do leaves fall in autumn?
How do birds fly?
What causes thunder?
How many continents are there?
How many minutes are in a day?
How many bones does a human have?
What is the tallest mountain in the world?
What is the longest river in the world?
What is the speed of light?
At what temperature does water freeze?
Who painted the Mona Lisa?
Who was the first man on the moon?
Who invented the telephone?
When did the Second World War end?
What year did the Titanic sink?
What is the largest ocean?
How do I tie a tie?
How do I remove a coffee stain?
How can I sleep better?
How do I learn to play the guitar?
What is a good way to learn a language?
What is a good book to read?
Recommend a movie.
Suggest a title for a blog about travel.
Suggest a name for a cat.
Suggest three names for a coffee shop.
Give me a slogan for a gym.
Give me a workout plan.
What is a balanced diet?
What are the benefits of exercise?
Is coffee bad for you?
Is a whale a fish?
What is the difference between a virus and a bacterium?
What is the difference between affect and effect?
How do I create a folder in Linux?
How do I copy a file in the terminal?
How do I undo a git commit?
Write an SQL query that selects all users older than 30.
Write a regular expression for an email address.
Write a CSS rule that centers a div.
What is a linked list?
What is object-oriented programming?
What time is it in Tokyo when it is noon in London?
What is the meaning of life?
Do you like chess?
Do you sleep?
What is your favourite colour?
Say something nice.
Repeat after me: hello.
Continue the sequence: A, B, C.
Pick a number between 1 and 10.
Give me a random fact.
What day comes after Tuesday?
""".splitlines()

FACTS = """\
Where was {n} born?|In which city was {n} born?|When was {n} born?|What is {n}'s job?|What does {n} work as?
What is {n}'s favorite food?|What food does {n} love most?|What is the name of {n}'s {animal}?|What is {n}'s {animal} called?
What is the access code of the {w} archive?|Which code opens the {w} archive?|Where is the {word} {thing} kept?
Where can I find the {word} {thing}?|On which day is the meeting with {n}?|When is the meeting with {n}?
What is the phone extension of {n}?|At which extension can {n} be reached?|What is {n}'s hobby?|What color is {n}'s car?
What is the capital of {w}?|Which city is the capital of {w}?|How long is the {w} bridge?|What is the length of the {w} bridge?
Who founded {w}?|Who is the founder of {w}?|Which team does {n} play for?|What is the password for {w}?|Which password does {w} use?
What is the address of {n}?|Where does {n} live?|Who wrote the novel {w}?|Who is the author of {w}?
What language does {n} speak at home?|How much does the {thing} cost at {w}?|What is the price of the {thing} at {w}?
Who is {n} married to?|Where does the {w} festival take place?|Which city hosts the {w} festival?|What is the currency of {w}?
What is the population of {w}?|Who is the mayor of {w}?|When was {w} built?|What does {w} stand for?|Who invented the {w} machine?
What is the chemical symbol for {w}?|How do I get to {w}?|What is {w} used for?|What is the {w} festival about?
""".replace("\n", "|").strip("|").split("|")
LAST = ("Abbott Brandt Castillo Dahl Eriksen Garcia Haas Ibrahim Jensen Kowalski Lindgren Moreau Novak Okafor Petrov Rossi Schmidt Tanaka "
        "Vogel Zimmer Archer Bishop Cooper Dalton Ellis Foster Grant Harper").split()
SYLLABLES = "ba do ka li mo ne pu ri sa ta vo xe zi lor fen gar hul mir nok tav bren quo sel dra thu wim yar osk pell und".split()
TOLD_PART, TALK_PART = 8, 7  # of a form with places to fill


def filled(rng, form):
    one, other = rng.choice(UNIT)
    made_up = "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 3))).capitalize()
    whole = rng.choice(NAMES) + (" " + rng.choice(LAST) if rng.random() < 0.7 else "")
    return form.format(rel=rng.choice(REL), thing=rng.choice(THING), name=rng.choice(NAMES), country=rng.choice(COUNTRY), lang=rng.choice(LANG),
                       phrase=rng.choice(PHRASE), topic=rng.choice(TOPIC), subj=rng.choice(SUBJ), word=rng.choice(WORD),
                       plang=rng.choice(PLANG), ptask=rng.choice(PTASK), dish=rng.choice(DISH), element=rng.choice(ELEMENT),
                       work=rng.choice(WORK), acro=rng.choice(ACRO), animal=rng.choice(ANIMAL), a=rng.randint(2, 60), b=rng.randint(2, 900),
                       u1=one, u2=other, occasion=rng.choice(OCCASION), n=whole, w=made_up)


def forms(rng, kind, label, every, most, held):
    """Each form several times; `held` of them are kept for the exam."""
    kept = set(rng.sample(range(len(every)), held))
    for i, form in enumerate(every):
        for _ in range(most if "{" in form else 2):
            yield kind, label, filled(rng, form), "held" if i in kept else "train"


def written(rng, text):
    """As typed in a hurry, or with capitals and a mark."""
    text = text.strip()
    if rng.random() < 0.5:
        return text
    text = re.sub(r"\bi\b", "I", text[0].upper() + text[1:])
    asks = re.match(r"(?i)(what|who|where|when|which|how|is|are|do|does|can|could|will|did|why|would|should|have|has|am)\b", text)
    return text + ("?" if asks else "." if text[-1].isalnum() else "")


def clinc(rng, file):
    by_intent = {}
    for text, intent in json.load(open(file))["train"]:
        by_intent.setdefault(intent, []).append(text)
    for label, intents in ((1, CLINC_TALK), (0, CLINC_TOLD)):
        for intent in intents:
            for text in rng.sample(by_intent[intent], 30):
                yield "clinc/" + intent, label, written(rng, text), "held" if intent in CLINC_HELD else "train"


def passages(rng, folder):
    for name, n, held in (("qa_squadshifts", 600, 120), ("qa_fairytaleqa", 150, 0)):
        with lzma.open(folder / f"{name}.jsonl.xz", "rt") as file:
            found = rng.sample([json.loads(line)["question"].strip() for line in file], n)
        for i, text in enumerate(found):
            yield name, 0, text[:1].upper() + text[1:], "held" if i < held else "train"


def generated(rng):
    tools = pathlib.Path(__file__).parent
    lines = lambda *command: subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines(tools / "make_conversations.py", "--seed", "101", "-n", "150"):
        talk = json.loads(line)
        yield "conversation", 0, talk["question"], "train"
        yield "said", 1, rng.choice([turn["content"] for turn in talk["turns"] if turn["role"] == "user"]), "train"
    for how, n in (([], 120), (["--ask", "first"], 60), (["--ask", "second"], 60)):
        for line in rng.sample(lines(tools / "make_chains.py", "--seed", "77", *how), n):
            yield "chains", 0, json.loads(line)["question"], "train"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--clinc", required=True, metavar="FILE")
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    seen = {line.strip().lower() for file in arguments.leave_out for line in open(file)}
    made = [*clinc(rng, arguments.clinc), *forms(rng, "facts", 0, FACTS, 14, 8), *passages(rng, arguments.data), *generated(rng),
            *forms(rng, "told", 0, TOLD, TOLD_PART, 14), *forms(rng, "talk", 1, TALK, TALK_PART, 50)]
    rng.shuffle(made)
    for kind, label, text, part in made:
        if text.lower() not in seen:
            seen.add(text.lower())
            print(json.dumps({"text": text, "label": label, "kind": kind, "part": part}))


if __name__ == "__main__":
    main()
