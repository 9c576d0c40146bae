// Made-up facts: what each must be, how varied they are, and that they share nothing with the evaluation
// sets.
#include "mplus/train/lessons/made_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <unordered_set>

namespace mplus::train {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// In lower case and without punctuation.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(lower(text));
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    std::erase_if(word, [](unsigned char c) { return std::ispunct(c); });
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// A name as it stands in "Priya's" and "(Priya)".
std::string bare(const std::string& word) {
  const std::vector<std::string> words = words_of(word.substr(0, word.find('\'', 1)));
  return words.empty() ? std::string() : words[0];
}

// Letters drawn for a number plate may spell a name.
bool is_code(const std::string& word) {
  return std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::islower(c); });
}

bool has_words(const std::string& text, const std::string& part) {
  const auto joined = [](const std::string& all) {
    std::string line = " ";
    for (const std::string& word : words_of(all)) line += word + ' ';
    return line;
  };
  return joined(text).find(joined(part)) != std::string::npos;
}

std::vector<std::string> fields_of(const MadeFact& fact) {
  std::vector<std::string> fields;
  std::istringstream in(fact.key);
  for (std::string field; std::getline(in, field, '|');) fields.push_back(field);
  return fields;
}

// Five words in a row, or all words of a shorter text.
std::vector<std::string> word_runs(const std::string& text) {
  constexpr std::size_t kRun = 5;
  const std::vector<std::string> words = words_of(text);
  std::vector<std::string> runs;
  for (std::size_t begin = 0; begin + std::min(kRun, words.size()) <= words.size(); ++begin) {
    std::string run;
    for (std::size_t i = begin; i < std::min(begin + kRun, words.size()); ++i) run += words[i] + ' ';
    runs.push_back(run);
    if (words.size() <= kRun) break;
  }
  return runs;
}

// `*` stands for one word or more.
bool matches(const std::vector<std::string>& words, std::size_t word, const std::vector<std::string>& form,
             std::size_t part) {
  if (part == form.size()) return word == words.size();
  if (word == words.size()) return false;
  if (form[part] != "*") return words[word] == form[part] && matches(words, word + 1, form, part + 1);
  for (std::size_t next = word + 1; next <= words.size(); ++next)
    if (matches(words, next, form, part + 1)) return true;
  return false;
}

class EvaluationQuestions {
 public:
  EvaluationQuestions() {
    std::ifstream file(MPLUS_TEST_DATA "/train/eval_questions.txt");
    for (std::string line; std::getline(file, line);) questions.push_back(line);
    for (const std::string& question : questions) {
      for (const std::string& run : word_runs(question)) runs_.insert(run);
      std::istringstream in(question);
      std::string word;
      in >> word;  // the first has a capital letter, whatever it is
      while (in >> word)
        if (std::isupper(static_cast<unsigned char>(word[0]))) names_.insert(bare(word));
    }
    std::istringstream in(kForms);
    for (std::string line; std::getline(in, line);)
      if (!line.empty()) {
        std::istringstream parts(line);
        forms_.emplace_back();
        for (std::string part; parts >> part;) forms_.back().push_back(part);
      }
  }

  // What the text has in common with the evaluation's questions; empty if nothing.
  std::string common_with(const std::string& text) const {
    for (const std::string& run : word_runs(text))
      if (runs_.count(run)) return run;
    std::istringstream in(text);
    for (std::string word; in >> word;)
      if (!is_code(word) && names_.count(bare(word))) return word;
    const std::vector<std::string> words = words_of(text);
    for (const std::vector<std::string>& form : forms_)
      if (form[0] == words[0] && matches(words, 0, form, 0)) return "form " + form[0] + " " + form[1];
    return {};
  }

  std::vector<std::string> questions;

 private:
  // The evaluation's questions with names and values left out, and the phrasings it was first trained with.
  static constexpr const char* kForms = R"(
where was * born
in which city was * born
what is the birthplace of *
when was * born
what is the birth year of *
in what year was * born
what is * job
what does * work as
what is the profession of *
what is * favorite food
what food does * love most
which dish does * like best
what is the name of *
what is * called
how is the * of * named
what is the access code of *
which code opens *
what code is used to enter *
where is the * kept
where can i find the *
in what place is the *
on which day is the meeting with *
when is the meeting with *
what day do we meet *
what is the phone extension of *
at which extension can * be reached
what extension does * have
who is my *
what is * hobby
what does * practice in the evenings
which hobby does * have
what color is * car
which color does the car of * have
what is the color of * car
what is the capital of *
which city is the capital of *
name the capital city of *
how long is the * bridge
what is the length of the * bridge
how many meters long is the *
who founded *
who is the founder of *
which person founded *
which team does * play for
what team signed *
for whom does * play
what is the password for *
which password does * use
what password opens *
what is the address of *
where does * live
at what address does * live
who wrote *
who is the author of *
by whom was *
what language does * speak at home
which language is spoken by *
what does * speak at home
how much does the * cost at *
what is the price of the *
for how much is the * sold at *
from which platform does *
which platform is for *
where does the train to * leave
who is * married to
who is the spouse of *
whom did * marry
where does the * festival take place
which city hosts *
in what city is *
)";

  std::unordered_set<std::string> runs_, names_;
  std::vector<std::vector<std::string>> forms_;
};

TEST(MadeFacts, AreTheSameForTheSameSeed) {
  FactMaker a(7), b(7), other(8);
  bool differs = false;
  for (int i = 0; i < 500; ++i) {
    const MadeFact x = a.fact(), y = b.fact();
    EXPECT_EQ(x.key, y.key);
    EXPECT_EQ(x.statements, y.statements);
    EXPECT_EQ(x.questions, y.questions);
    EXPECT_EQ(x.answer, y.answer);
    EXPECT_EQ(a.small_talk().user, b.small_talk().user);
    EXPECT_EQ(a.telling(x.statements).user, b.telling(y.statements).user);
    differs = differs || other.fact().key != x.key;
  }
  EXPECT_TRUE(differs);
}

// FNV-1a over texts, each with its end.
class Checksum {
 public:
  void add(const std::string& text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0xff);  // occurs in no UTF-8
  }
  void add(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) add(text);
    add_byte(0xfe);
  }
  void add(const MadeFact& fact) {
    add(fact.key);
    add(fact.statements);
    add(fact.questions);
    add(fact.answer);
  }
  void add(const MadeTurn& turn) {
    add(turn.user);
    add(turn.assistant);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 1099511628211u; }
  std::uint64_t value_ = 14695981039346656037u;
};

std::uint64_t checksum_of_facts(std::uint64_t seed, const World& world) {
  Checksum sum;
  FactMaker maker(seed, world);
  for (int i = 0; i < 3000; ++i) {
    const MadeFact fact = maker.fact();
    sum.add(fact);
    sum.add(maker.changed(fact));
    sum.add(maker.small_talk());
    sum.add(maker.telling(fact.statements));
  }
  return sum.value();
}

// A delta names the seed its lessons were made from. A changed table makes other lessons, so a change of
// these numbers belongs into the changelog.
TEST(MadeFacts, AreTheSameAsEver) {
  EXPECT_EQ(checksum_of_facts(1, {}), 4091896997523083244u);
  EXPECT_EQ(checksum_of_facts(27, {}), 7951256963437595665u);
  EXPECT_EQ(checksum_of_facts(0xfedcba9876543210u, {.seed = 5}), 11804557093027070787u);
  EXPECT_EQ(checksum_of_facts(2, {.seed = 6}), 13778285221005234395u);
  EXPECT_EQ(checksum_of_facts(3, {.seed = 7, .part = 3, .parts = 32}), 6642753927789405371u);
  EXPECT_EQ(checksum_of_facts(4, {.seed = 8, .part = 1, .parts = 2}), 6596804642367875970u);
}

TEST(MadeFacts, TellWhatTheyAreAboutAndAskWithoutTheAnswer) {
  FactMaker maker(1);
  for (int i = 0; i < 20000; ++i) {
    const MadeFact fact = maker.fact();
    ASSERT_GE(fact.statements.size(), 3u);
    ASSERT_GE(fact.questions.size(), 4u);
    const std::size_t length = words_of(fact.answer).size();
    EXPECT_TRUE(length >= 1 && length <= 8) << fact.answer;
    const std::vector<std::string> fields = fields_of(fact);
    ASSERT_GE(fields.size(), 2u);
    for (const std::string& statement : fact.statements) {
      EXPECT_NE(lower(statement).find(lower(fact.answer)), std::string::npos) << statement;
      EXPECT_EQ(statement.find_first_of("{}<>"), std::string::npos) << statement;
      EXPECT_TRUE(std::ispunct(static_cast<unsigned char>(statement.back()))) << statement;
      for (std::size_t f = 1; f < fields.size(); ++f)
        EXPECT_NE(lower(statement).find(lower(fields[f])), std::string::npos)
            << fact.key << ": " << statement;
    }
    for (const std::string& question : fact.questions) {
      EXPECT_FALSE(has_words(question, fact.answer)) << question << " " << fact.answer;
      EXPECT_EQ(question.find_first_of("{}<>"), std::string::npos) << question;
      for (std::size_t f = 1; f < fields.size(); ++f)
        EXPECT_NE(lower(question).find(lower(fields[f])), std::string::npos) << fact.key << ": " << question;
    }
    EXPECT_EQ(std::set<std::string>(fact.questions.begin(), fact.questions.end()).size(),
              fact.questions.size());
  }
}

TEST(MadeFacts, ChangeOnlyTheirAnswer) {
  FactMaker maker(2);
  for (int i = 0; i < 20000; ++i) {
    const MadeFact fact = maker.fact(), changed = maker.changed(fact);
    EXPECT_EQ(changed.key, fact.key);
    EXPECT_EQ(changed.questions, fact.questions);
    EXPECT_NE(changed.answer, fact.answer);
    ASSERT_EQ(changed.statements.size(), fact.statements.size());
    for (std::size_t s = 0; s < fact.statements.size(); ++s) {
      EXPECT_NE(lower(changed.statements[s]).find(lower(changed.answer)), std::string::npos);
      EXPECT_NE(changed.statements[s], fact.statements[s]);
    }
    for (const std::string& question : fact.questions) EXPECT_FALSE(has_words(question, changed.answer));
  }
}

// One name is another, or the kind is; never two things at once, and the key is of the maker's own part.
TEST(MadeFacts, AreMistakenForOthersThatDifferInOneThing) {
  constexpr std::uint32_t kParts = 32;
  int found = 0, of_other_kind = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const World told{.seed = 2 * seed + 1, .part = static_cast<std::uint32_t>(seed % 31), .parts = kParts};
    const MadeFact fact = FactMaker(seed, told).fact();
    const auto near =
        FactMaker(seed + 7, {.seed = told.seed, .part = kParts - 1, .parts = kParts}).mistaken(fact);
    if (!near) continue;
    ++found;
    const auto fields = fields_of(fact), others = fields_of(*near);
    ASSERT_EQ(fields.size(), others.size()) << near->key;
    int differ = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) differ += fields[i] != others[i];
    EXPECT_EQ(differ, 1) << fact.key << " / " << near->key;
    of_other_kind += fields[0] != others[0];
    EXPECT_EQ(near->answer, unknown_answer());
    EXPECT_TRUE(near->statements.empty());
    EXPECT_GE(near->questions.size(), 4u);
    for (const std::string& question : near->questions)
      EXPECT_EQ(std::count(fact.questions.begin(), fact.questions.end(), question), 0) << question;
  }
  EXPECT_GT(found, 250);
  EXPECT_GT(of_other_kind, found / 10);
  EXPECT_LT(of_other_kind, found / 2);
}

TEST(MadeFacts, AreOfManyKindsAndSeldomTheSame) {
  FactMaker maker(3);
  std::set<std::string> keys, kinds, near_keys;
  std::vector<std::vector<std::string>> last;
  constexpr int kFacts = 100000;
  int like_a_recent_kind = 0, like_a_recent_field = 0, careless = 0, questions = 0;
  for (int i = 0; i < kFacts; ++i) {
    const MadeFact fact = maker.fact();
    keys.insert(fact.key);
    const std::vector<std::string> fields = fields_of(fact);
    kinds.insert(fields[0]);
    bool same_kind = false, same_field = false;
    for (const std::vector<std::string>& other : last) {
      same_kind = same_kind || other[0] == fields[0];
      same_field = same_field || std::find(other.begin() + 1, other.end(), fields[1]) != other.end();
      EXPECT_NE(other, fields);
    }
    like_a_recent_kind += same_kind;
    like_a_recent_field += same_field;
    last.push_back(fields);
    if (last.size() > 30) last.erase(last.begin());
    for (const std::string& question : fact.questions) careless += question == lower(question);
    questions += static_cast<int>(fact.questions.size());
  }
  EXPECT_GE(kinds.size(), 150u);
  EXPECT_GT(static_cast<double>(keys.size()) / kFacts, 0.98);
  EXPECT_GT(like_a_recent_kind, kFacts / 10);
  EXPECT_GT(like_a_recent_field, kFacts / 20);
  EXPECT_GT(careless, questions / 20);
  EXPECT_LT(careless, questions / 4);
  RecordProperty("kinds", static_cast<int>(kinds.size()));
}

TEST(MadeFacts, ShareNothingWithTheEvaluation) {
  const EvaluationQuestions evaluation;
  ASSERT_GT(evaluation.questions.size(), 1500u);
  FactMaker maker(4);
  int texts = 0;
  const auto check = [&](const std::string& text) {
    const std::string common = evaluation.common_with(text);
    EXPECT_EQ(common, "") << text;
    ++texts;
  };
  while (texts < 200000) {
    const MadeFact fact = maker.fact();
    for (const std::string& statement : fact.statements) check(statement);
    for (const std::string& question : fact.questions) check(question);
    const MadeTurn talk = maker.small_talk(), told = maker.telling({fact.statements[0]});
    for (const std::string& text : {talk.user, talk.assistant, told.user, told.assistant}) check(text);
  }
}

// The test above would fail if there were anything to find.
TEST(MadeFacts, WouldShowWhatTheyShared) {
  const EvaluationQuestions evaluation;
  for (const std::string& question : evaluation.questions) EXPECT_NE(evaluation.common_with(question), "");
  EXPECT_NE(evaluation.common_with("Hello. " + evaluation.questions[0] + " I forgot."), "");
  EXPECT_NE(evaluation.common_with("In what year was Ottilie Quist born?"), "");  // only the form is theirs
  EXPECT_NE(evaluation.common_with("Hand it to Priya."), "");                     // only a name
  EXPECT_EQ(evaluation.common_with("Where should I look for the padded toaster?"), "");
}

TEST(MadeFacts, ComeWithTalkOfManyKinds) {
  FactMaker maker(5);
  std::set<std::string> exchanges, acknowledgements, beginnings;
  int bare = 0;
  for (int i = 0; i < 20000; ++i) {
    const MadeTurn talk = maker.small_talk();
    EXPECT_FALSE(talk.user.empty() || talk.assistant.empty());
    exchanges.insert(talk.user);
    const MadeFact a = maker.fact(), b = maker.fact();
    const MadeTurn told = maker.telling({a.statements[0], b.statements[1]});
    EXPECT_NE(told.user.find(a.statements[0] + " " + b.statements[1]), std::string::npos);
    bare += told.user == a.statements[0] + " " + b.statements[1];
    acknowledgements.insert(told.assistant);
    beginnings.insert(told.user.substr(0, told.user.find(a.statements[0])));
  }
  EXPECT_GE(exchanges.size(), 150u);
  EXPECT_GE(acknowledgements.size(), 30u);
  EXPECT_GE(beginnings.size(), 30u);
  EXPECT_TRUE(bare > 4000 && bare < 16000);
}

// Facts of one world compete: few kinds, shared names, and yet no two parts tell the same key.
TEST(MadeFacts, PartsOfAWorldShareKindsAndNamesButNoKey) {
  std::size_t narrow = 0;
  for (std::uint64_t world = 1; world <= 12; ++world) {
    std::map<std::string, std::uint32_t> part_of;
    std::set<std::string> kinds;
    std::size_t shared_kinds = 0, facts = 0;
    for (std::uint32_t part = 0; part < 8; ++part) {
      FactMaker maker(part, {.seed = world, .part = part, .parts = 32});
      for (int i = 0; i < 16; ++i, ++facts) {
        const MadeFact fact = maker.fact();
        EXPECT_EQ(part_of.emplace(fact.key, part).first->second, part) << fact.key;
        const std::string kind = fields_of(fact)[0];
        shared_kinds += kinds.count(kind);
        kinds.insert(kind);
      }
    }
    narrow += shared_kinds > facts * 3 / 4;
  }
  EXPECT_GE(narrow, 3u);
  EXPECT_LE(narrow, 11u) << "some worlds are wide";
}

}  // namespace
}  // namespace mplus::train
