"""Our scorer against public ones: SQuAD's exact match and F1 (as transformers carries them), NLTK's Porter stemmer.

usage: test_public_scorers.py SCORER FOLDER

The two wheels are fetched by name into FOLDER once, without what they depend on: only single files of them are used.
Without a network the test says that it is skipped.
"""
import json
import random
import subprocess
import sys
import types
import zipfile
from pathlib import Path

WHEELS = {"transformers==4.44.2": "transformers/data/metrics/squad_metrics.py", "nltk==3.9.1": "nltk/stem/porter.py"}


def source(folder, package, path):
    name = package.split("==")[0]
    wheels = list(folder.glob(f"{name}-*.whl"))
    if not wheels:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder),
                               package], capture_output=True, text=True, timeout=200)
        wheels = list(folder.glob(f"{name}-*.whl"))
        if done.returncode != 0 or not wheels:
            print(f"SKIPPED: {package} cannot be fetched: {done.stderr.strip()[-300:]}")
            sys.exit(77)
    return zipfile.ZipFile(wheels[0]).read(path).decode()


def module(name, text, stubs):
    """Executes a single file of a package; the modules it names beside it are empty stand-ins."""
    for stub, attributes in stubs.items():
        made = types.ModuleType(stub)
        made.__path__ = []
        for key, value in attributes.items():
            setattr(made, key, value)
        sys.modules[stub] = made
    result = types.ModuleType(name)
    result.__package__ = name.rpartition(".")[0]
    sys.modules[name] = result
    exec(compile(text, name, "exec"), result.__dict__)
    return result


class Quiet:
    def get_logger(self, _):
        return None


def squad(folder):
    stubs = {"transformers": {}, "transformers.data": {}, "transformers.data.metrics": {}, "transformers.models": {},
             "transformers.models.bert": {"BasicTokenizer": object}, "transformers.utils": {"logging": Quiet()}}
    return module("transformers.data.metrics.squad_metrics",
                  source(folder, "transformers==4.44.2", WHEELS["transformers==4.44.2"]), stubs)


def porter(folder):
    class StemmerI:
        pass
    stubs = {"nltk": {}, "nltk.stem": {}, "nltk.stem.api": {"StemmerI": StemmerI}}
    return module("nltk.stem.porter", source(folder, "nltk==3.9.1", WHEELS["nltk==3.9.1"]), stubs)


def cases():
    """Answers and golds that share words in many ways; every fifth is odd."""
    rng = random.Random(7)
    words = ("The the a An Cat, cat's Río São Paulo. ÉCOLE école 1,000 1000 \"quoted\" half-time half time U.S. US x–y "
             "— naïve NAÏVE an-other theatre 12% $12 nearly _under_ tab\tbed   spaces café Straße ǅ Ω ω").split(" ")
    for number in range(4000):
        golds = [" ".join(rng.choices(words, k=rng.randint(0 if number % 5 == 0 else 1, 4))) for _ in range(rng.randint(1, 3))]
        answer = rng.choice(golds) if number % 3 == 0 else " ".join(rng.choices(words, k=rng.randint(0, 5)))
        yield {"answer": answer, "golds": golds}


def vocabulary():
    rng = random.Random(11)
    stems = "run hop fall fly die lie agree plaster motor conflat troubl siz fail fil happ sky relat condition rational " \
            "valenc hesitanc digitiz conform radic differ vile analog vietnam predic operat feudal decisive hopeful " \
            "callous formal sensitiv sensib triplic form electric good reviv allow infer airlin gyroscop adjust defens " \
            "irrit replac adopt homolog commun activ angular effect bowdler probat rat ceas control roll oscillat be".split()
    ends = "s es ed eed ied ies ing er or ly ally ality ation ational ization iveness fulness ousness fully logi logy e y " \
           "ible able ment ement ent ism ate iti ous ive ize ical icate ative alize ful ness ll lled ss sses news".split()
    words = {stem + end for stem in stems for end in ends} | set(stems) | set(ends)
    words |= {"dying", "skies", "innings", "as", "is", "tied", "dies", "howe", "proceed", "y", "yy", "sayy"}
    letters = "abeilnosty"
    words |= {"".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(4000)}
    return sorted(words)


def main():
    scorer, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    theirs, stemmer = squad(folder), porter(folder).PorterStemmer()
    asked = list(cases()) + [{"word": word} for word in vocabulary()]
    done = subprocess.run([scorer], input="\n".join(map(json.dumps, asked)), capture_output=True, text=True, check=True)
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(ours) == len(asked), (len(ours), len(asked))
    wrong = []
    for question, got in zip(asked, ours):
        if "word" in question:
            expected = {"stem": stemmer.stem(question["word"])}
        else:
            # Their F1 of two empty texts is 1, ours 0: an answer of nothing is never half right.
            golds = question["golds"]
            empty = not theirs.get_tokens(question["answer"])
            expected = {"exact": any(theirs.compute_exact(g, question["answer"]) for g in golds),
                        "f1": 0.0 if empty else max(theirs.compute_f1(g, question["answer"]) for g in golds)}
        same = all(abs(got[key] - value) < 1e-9 if isinstance(value, float) else got[key] == value
                   for key, value in expected.items())
        if not same:
            wrong.append((question, expected, got))
    for line in wrong[:20]:
        print(*line)
    print(f"{len(asked)} compared with public scorers, {len(wrong)} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
