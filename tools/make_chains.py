#!/usr/bin/env python3
"""Makes questions over two facts that are told apart ("In which city does Ana's boss live?"), as `mplus eval chains` reads them.

A chain is a link (who or what X leads to) and a property of that. JSON lines, seeded: `told` (two texts, the link's and the
property's), `question`, `answers`, `relation`. With --ask first or second the question is about one of the two facts alone, of the
same texts. With --leave-out one of the two texts is null, by turns: then nothing tells the answer.
"""
import argparse
import itertools
import json
import random
import re

FIRST = ("Abelone Balthasar Crispin Dragan Edda Fenella Gottlieb Hedwig Irmgard Jaromir Katinka Leocadia Mathurin Nikodem Oswin Philippa "
         "Quirin Radomir Severin Tiburce Ursel Valdemar Wilhelmine Xaver Yseult Zdenka Amabel Benedek Clotilde Domhnall Eulalia Friedhelm "
         "Gislind Hjalmar Ingvild Joachim Kunigunde Ludovine Melisande Njal").split()
LAST = ("Abendroth Brightwater Castellane Dunmarrow Eskelund Fairweather Grimsditch Hollander Ironwood Jessamy Kirkbride Lovelock "
        "Mossgrove Nethercott Ottershaw Pemberley Quartermain Ravenhill Silverlock Tattersall Ullathorne Vandermeer Wainscott Yarborough "
        "Zeitblom Applegarth Birdwhistle Coppinger Draycott Elphinstone Fennimore Goldsworthy Hawksworth Inglenook Kettering "
        "Lambourne Maplethorpe Northcliffe Oglethorpe Peverell").split()
FIRMS = ("Blackfern Candlewick Driftmoor Emberline Foxhollow Glasswing Hartshorn Ivorygate Jackdaw Kestrel Lanternhill Mooncrest "
         "Nightjar Oakhaven Pinecroft Quillstone Rooksgate Saltbrook Thornfield Umberdale Vellum Whitstone Yewbridge Amberley").split()
FIRM_KINDS = {"company": "Mills Foundry Logistics Glassworks Brewery".split(), "school": "Academy College Institute Grammar Lyceum".split(),
              "band": "Quartet Ensemble Players Serenaders Trio".split(), "club": "Rowers Strollers Wanderers Ramblers Harriers".split()}
CITIES = ("Trondheim Salamanca Plovdiv Utrecht Galway Ravenna Tampere Coimbra Bergamo Olomouc Aberdeen Cordoba Innsbruck Leipzig Nantes "
          "Toledo Uppsala Verona Wexford Zagreb Bruges Debrecen Exeter Freiburg Gdansk Heraklion Izmir Jaipur Kaunas Lucerne").split()
TOWNS = ("Bantry Ludlow Sintra Arezzo Bamberg Cashel Durness Evora Figueres Gouda Hallstatt Imola Jedburgh Kilkenny Lerwick Maribor "
         "Naxos Orvieto Pecs Quimper Ronda Segovia Tavira Urbino Viborg Whitby Ystad Zadar Assisi Bled").split()
JOBS = ("locksmith,beekeeper,cartographer,upholsterer,glazier,midwife,stonemason,translator,optician,violin maker,lighthouse keeper,"
        "actuary,shepherd,tailor,bookbinder,chimney sweep,surveyor,puppeteer,botanist,ferryman,watchmaker,auctioneer,saddler,weaver").split(",")
FOODS = ("gnocchi,apricot jam,smoked trout,pea soup,rhubarb crumble,stuffed peppers,lentil stew,poppy seed rolls,fig tart,barley risotto,"
         "pickled herring,chestnut puree,saffron rice,leek quiche,quince paste,onion bhaji,plum dumplings,crab cakes,bread pudding,dal").split(",")
INSTRUMENTS = ("oboe,harp,bassoon,mandolin,accordion,cello,trombone,zither,clarinet,banjo,viola,dulcimer,bagpipes,harpsichord,tuba,"
               "ukulele,marimba,piccolo,lute,cornet").split(",")
PETS = "Muffin Tinker Bramble Domino Gizmo Hazel Inky Jigsaw Kiwi Lolly Marble Nutmeg Orbit Pickle Quaver Rusty Sprout Toffee Velvet Whisk".split()
HOBBIES = ("falconry,origami,fencing,orienteering,calligraphy,snorkelling,juggling,stargazing,whittling,bell ringing,kite flying,fossil hunting,"
           "tap dancing,beach combing,ice skating,marquetry,darts,genealogy,topiary,bookkeeping").split(",")

# Links from a person X to Y: kind of Y, what is said, how a question names Y, how Y alone is asked for.
PERSON = "person"


def of_person(noun, *said):
    return (PERSON, [f"{{x}}'s {noun} is {{y}}", f"{{y}} is the {noun} of {{x}}", f"{{x}} has {{y}} as {noun}", *said],
            [f"{{x}}'s {noun}", f"the {noun} of {{x}}", f"the person who is {{x}}'s {noun}", f"the {noun} that {{x}} has"],
            [f"Who is {{x}}'s {noun}?", f"Who is the {noun} of {{x}}?", f"What is the name of {{x}}'s {noun}?"])


def of_place(kind, noun, verb, *said):
    return (kind, [f"{{x}} {verb} {{y}}", f"{{y}} is the {noun} of {{x}}", f"{{x}}'s {noun} is {{y}}", *said],
            [f"{{x}}'s {noun}", f"the {noun} of {{x}}", f"the {noun} that {{x}} {verb}", f"the {noun} {{x}} {verb}"],
            [f"What is {{x}}'s {noun} called?", f"What is the name of the {noun} of {{x}}?", f"Which {noun} is {{x}}'s?"])


LINKS = {
    "boss": of_person("boss", "{x} reports to {y}, the boss", "the boss {x} answers to is {y}"),
    "sister": of_person("sister", "{x} and {y}, the sister, grew up together", "{y} is known here as {x}'s sister"),
    "neighbour": of_person("neighbour", "{x} lives next door to {y}", "{y}, the neighbour, looks after {x}'s plants"),
    "landlord": of_person("landlord", "{x} rents a room from {y}", "the landlord {x} pays every month is {y}"),
    "dentist": of_person("dentist", "{x}'s teeth are looked after by {y}", "the dentist {x} goes to is {y}"),
    "teacher": of_person("teacher", "{x} takes lessons from {y}", "the teacher {x} learns from is {y}"),
    "cousin": of_person("cousin", "{x} and {y} are cousins", "{y}, a cousin, visits {x} every summer"),
    "partner": of_person("business partner", "{x} runs a shop together with {y}", "{x} does business with {y}, a partner since school"),
    "company": of_place("company", "company", "works for", "{x} is employed by {y}", "the company {x} works at is {y}"),
    "school": of_place("school", "school", "goes to", "{x} is a pupil at {y}", "the school {x} attends is {y}"),
    "band": of_place("band", "band", "sings in", "{x} is the singer of {y}", "the band {x} performs with is {y}"),
    "club": of_place("club", "club", "trains with", "{x} is a member of {y}", "the club {x} belongs to is {y}"),
}

# Properties of Y: values, what is said, what is asked ({y} is a name or how a question names it).
OF_PERSONS = {
    "city": (CITIES, ["{y} lives in {v}", "{v} is the city where {y} lives", "{y}'s home is in {v}", "{y} has a flat in {v}", "{y} moved to {v} to live there"],
             ["In which city does {y} live?", "Where does {y} live?", "What city does {y} live in?", "Which city is the home of {y}?", "Tell me, where does {y} live?"]),
    "job": (JOBS, ["{y} works as a {v}", "{y} is a {v} by profession", "by trade {y} is a {v}", "the job of {y} is that of a {v}", "{y} earns a living as a {v}"],
            ["What does {y} work as?", "What is the profession of {y}?", "What is the job of {y}?", "What is the trade of {y}?", "How does {y} earn a living?"]),
    "birth": (TOWNS, ["{y} was born in {v}", "{v} is the birthplace of {y}", "{y} comes from {v}", "{y}'s birthplace is {v}", "it was in {v} that {y} was born"],
              ["Where was {y} born?", "In which town was {y} born?", "What is the birthplace of {y}?", "Which town does {y} come from?", "What town was {y} born in?"]),
    "food": (FOODS, ["{y}'s favourite food is {v}", "{y} likes {v} more than any other food", "{v} is the favourite food of {y}", "of all dishes {y} prefers {v}", "{y} could eat {v} every day"],
             ["What is the favourite food of {y}?", "Which food does {y} like best?", "What dish does {y} prefer?", "What food does {y} like most?", "Which food is the favourite of {y}?"]),
    "instrument": (INSTRUMENTS, ["{y} plays the {v}", "the instrument that {y} plays is the {v}", "{y} has played the {v} for years", "{y} practises the {v} in the evening", "{y}'s instrument is the {v}"],
                   ["Which instrument does {y} play?", "What instrument does {y} play?", "What does {y} play?", "What is the instrument of {y}?", "Which instrument does {y} practise?"]),
    "hobby": (HOBBIES, ["{y}'s hobby is {v}", "the hobby of {y} is {v}", "in spare time {y} enjoys {v}", "{v} is the hobby of {y}", "{y} took up {v} as a hobby"],
              ["What is the hobby of {y}?", "Which hobby does {y} have?", "What does {y} enjoy in spare time?", "What hobby did {y} take up?", "What is it that {y} has as a hobby?"]),
    "dog": (PETS, ["{y} has a dog called {v}", "the dog of {y} is called {v}", "{y}'s dog is named {v}", "{v} is the name of {y}'s dog", "{y} walks a dog called {v}"],
            ["What is the dog of {y} called?", "What is the name of the dog that {y} has?", "What is the dog that {y} walks called?", "How is the dog of {y} called?", "Which name has the dog of {y}?"]),
}
NUMBERS = [str(n) for n in range(20011, 99999, 1117)]
YEARS = [str(n) for n in range(1811, 1990, 3)]
OF_PLACES = {
    "seat": (CITIES, ["{y} is based in {v}", "{v} is where {y} has its seat", "the city where {y} is based is {v}", "{y} has its home in {v}", "{y} is at home in {v}"],
             ["In which city is {y} based?", "Where is {y} based?", "What city is {y} based in?", "Which city is the home of {y}?", "Where does {y} have its seat?"]),
    "founded": (YEARS, ["{y} was founded in {v}", "the year {y} was founded is {v}", "{y} has existed since it was founded in {v}", "{v} is the year in which {y} was founded", "{y} began in the year {v}"],
                ["When was {y} founded?", "In which year was {y} founded?", "What year was {y} founded in?", "Which year was {y} founded?", "In what year did {y} begin?"]),
    "telephone": (NUMBERS, ["the telephone number of {y} is {v}", "{y} has the telephone number {v}", "call {v} to reach {y} by telephone", "{y}'s telephone number is {v}", "{y} can be reached by telephone at {v}"],
                  ["What is the telephone number of {y}?", "Which telephone number does {y} have?", "At which telephone number can {y} be reached?", "What number reaches {y} by telephone?", "What telephone number has {y}?"]),
}
FRAMES = ["{S}.", "By the way, {s}.", "It is no secret that {s}.", "Everyone in the street knows that {s}.", "A note in the margin says that {s}."]
ABOUT_PLACES = ["{x} was in the newspaper.", "Not many people have heard of {x}.", "Somebody had painted {x} on a wall.", "{x} has a new sign."]
ASIDES = ["{x} came in late that day.", "{x} had not slept much.", "Somebody had seen {x} at the station.", "{x} never speaks of it.",
          "A letter for {x} lay on the table.", "{x} smiled at that."]


def sentence(rng, said, **names):
    text = re.sub(r"\ba (?=[aeiou])", "an ", said.format(**names))
    frame = rng.choice(FRAMES)
    return frame.format(s=text, S=text[0].upper() + text[1:])


def told(rng, said, subject, kind, names):
    """The fact beside a sentence of no weight about its subject."""
    aside = rng.choice(ASIDES if kind == PERSON else ABOUT_PLACES)
    parts = [aside.format(x=subject), sentence(rng, said, **names)]
    if rng.random() < .5:
        parts.reverse()
    return " ".join(parts)


class Names:
    """Each is given once."""
    def __init__(self, rng):
        people = [f"{a} {b}" for a, b in itertools.product(FIRST, LAST)]
        firms = {kind: [f"{a} {b}" for a, b in itertools.product(FIRMS, ends)] for kind, ends in FIRM_KINDS.items()}
        self.lists = {PERSON: people, **firms}
        for names in self.lists.values():
            rng.shuffle(names)

    def next(self, kind):
        return self.lists[kind].pop()


def chain(rng, number, names, args):
    link_name = list(LINKS)[number % len(LINKS)]
    kind, said_links, nouns, ask_link = LINKS[link_name]
    properties = OF_PERSONS if kind == PERSON else OF_PLACES
    property_name = rng.choice(list(properties))
    values, said_values, ask_value = properties[property_name]
    x, y, v = names.next(PERSON), names.next(kind), rng.choice(values)
    texts = [told(rng, rng.choice(said_links), x, PERSON, {"x": x, "y": y}),
             told(rng, rng.choice(said_values), y, kind, {"y": y, "v": v})]
    noun, value_form, link_form = rng.choice(nouns), rng.choice(ask_value), rng.choice(ask_link)
    question, answers = value_form.format(y=noun.format(x=x)), [v]
    if args.ask == "first":
        question, answers = link_form.format(x=x), [y]
    elif args.ask == "second":
        question, answers = value_form.format(y=y), [v]
    if args.leave_out:
        texts[number // len(LINKS) % 2] = None
    return {"source": "chains", "id": f"chain-{number}", "relation": f"{link_name}/{property_name}", "told": texts,
            "question": question, "answers": answers}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=252)
    parser.add_argument("--ask", choices=["both", "first", "second"], default="both")
    parser.add_argument("--leave-out", action="store_true", help="one of the two texts, by turns")
    parser.add_argument("--seed", type=int, default=24)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    names = Names(rng)
    for number in range(args.n):
        print(json.dumps(chain(rng, number, names, args)))


if __name__ == "__main__":
    main()
