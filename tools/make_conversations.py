#!/usr/bin/env python3
"""Makes short conversations in which a user tells several things a turn and then asks for one of them.

JSON lines as `mplus eval mixed` reads them (`turns`, `question`, `answers`), seeded. With --ask PROGRAM they are held with
`mplus chat`, each in a session of its own, and the last answer is judged: right where it holds the asked value and no other
value of its kind that was told.
"""
import argparse
import json
import random
import subprocess

NAMES = "Tom Sara Miguel Ines Pavel Noor Beth Oskar Lucia Hamid Greta Ravi Joan Felipe Mina Carl Aoife Stefan Rita Kenji".split()
CITIES = "Leeds Antwerp Boston Malaga Ghent Osaka Tunis Graz Hull Basel Pisa Cork Lyon Delft Aarhus Salem Bonn Lima".split()
JOBS = "nurse,baker,bus driver,teacher,plumber,gardener,lawyer,dentist,painter,cook,pilot,librarian".split(",")
FOODS = "lasagna,mango,pickles,ramen,cheesecake,olives,curry,waffles,sushi,plum cake".split(",")
PETS = "dog cat parrot rabbit tortoise hamster".split()
PET_NAMES = "Biscuit Pepper Mozart Luna Ziggy Waffle Nero Olive Pixel Juno".split()
COLOURS = "red blue green white black silver yellow".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
RELATIONS = "sister brother neighbour cousin boss aunt".split()
HOBBIES = "chess,pottery,sailing,archery,knitting,climbing,astronomy".split(",")
TALK = ["How are you today?", "It is raining again.", "I slept badly last night.", "What a long week.",
        "I should really clean the kitchen.", "The coffee here is good."]

# kind: (values, what is said of oneself, what is asked; of another: said, asked); {v} the value, {n} the name
KINDS = {
    "city": (CITIES, "I live in {v}", "Where do I live?", "{n} lives in {v}", "Where does {n} live?"),
    "job": (JOBS, "I work as a {v}", "What is my job?", "{n} works as a {v}", "What does {n} work as?"),
    "food": (FOODS, "my favourite food is {v}", "What is my favourite food?", "{n} loves {v} most of all food",
             "Which food does {n} love most?"),
    "car": (COLOURS, "my car is {v}", "What colour is my car?", "{n} drives a {v} car", "What colour is {n}'s car?"),
    "hobby": (HOBBIES, "my hobby is {v}", "What is my hobby?", "{n} does {v} in the evenings", "What does {n} do in the evenings?"),
    "pet": (PET_NAMES, "I have a {p} called {v}", "What is my {p} called?", "{n} has a {p} called {v}",
            "What is the name of {n}'s {p}?"),
    "day": (DAYS, "I see the doctor on {v}", "When do I see the doctor?", "{n} comes to visit on {v}",
            "On which day does {n} come to visit?"),
}


def facts(rng):
    """Of the user and of one other: (said, asked, value, all values of the kind)."""
    me, other = rng.sample(NAMES, 2)
    relation = rng.choice(RELATIONS)
    found = [(f"I am {me}", "What is my name?", me, NAMES),
             (f"my {relation} is called {other}", f"What is my {relation} called?", other, NAMES)]
    for values, own, ask_own, others, ask_others in rng.sample(list(KINDS.values()), 3):
        first, second = rng.sample(values, 2)
        pet, pet2 = rng.sample(PETS, 2)
        found.append((own.format(v=first, p=pet), ask_own.format(p=pet), first, values))
        found.append((others.format(n=other, v=second, p=pet2), ask_others.format(n=other, p=pet2), second, values))
    return found


def conversation(rng, number, never):
    known = facts(rng)
    told = known[:2] + rng.sample(known[2:], 4)
    messages = []
    rest = told
    while rest:
        count = min(len(rest), rng.choice([2, 2, 3]))
        said = [said for said, _, _, _ in rest[:count]]
        rest = rest[count:]
        text = ", ".join(said[:-1]) + " and " + said[-1] if len(said) > 1 else said[0]
        text = text[0].upper() + text[1:] + "."
        messages.append(("Hello! " if not messages and rng.random() < .5 else "") + text)
    messages.insert(rng.randint(1, len(messages)), rng.choice(TALK))
    _, question, answer, values = rng.choice([fact for fact in known if fact not in told] if never else told)
    others = [v for _, _, v, kind in told if kind is values and v != answer]
    answers = ["not know"] if never else [answer]
    turns = [turn for m in messages for turn in ({"role": "user", "content": m}, {"role": "assistant", "content": "Got it."})]
    return {"source": "conversations", "id": f"conversation-{number}", "turns": turns, "question": question,
            "answers": answers, "others": others}


def is_right(answer, sample):
    said = answer.lower()
    return sample["answers"][0].lower() in said and not any(o.lower() in said for o in sample["others"])


def hold(program, sample):
    lines = [t["content"] for t in sample["turns"] if t["role"] == "user"] + [sample["question"]]
    out = subprocess.run(program + ["chat", "--session", "none", "--json", "-n", "24"], input="\n".join(lines) + "\n",
                         text=True, capture_output=True, check=True).stdout
    return json.loads(out.strip().split("\n")[-1])["text"].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="leave out so many, with --ask")
    parser.add_argument("--never", action="store_true", help="ask for what was not told: right is \"I do not know.\"")
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--ask", nargs="+", metavar="PROGRAM", help="hold them with this program instead, and print each answer")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    samples = [conversation(rng, i, args.never) for i in range(args.n)]
    if not args.ask:
        for sample in samples:
            print(json.dumps(sample))
        return
    right = 0
    for sample in samples[args.first:]:
        answer = hold(args.ask, sample)
        good = is_right(answer, sample)
        right += good
        print(f"{'right' if good else 'wrong'}  {sample['question']}  {answer}  ({sample['answers'][0]})", flush=True)
    print(f"{right} of {len(samples) - args.first} right")


if __name__ == "__main__":
    main()
