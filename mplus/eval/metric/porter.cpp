#include "mplus/eval/metric/porter.h"

#include <array>
#include <span>
#include <unordered_map>

namespace mplus::eval {
namespace {

using View = std::string_view;

bool consonant(View word, std::size_t i) {
  switch (word[i]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
      return false;
    case 'y':
      return i == 0 || !consonant(word, i - 1);
    default:
      return true;
  }
}

// m in [C](VC)^m[V].
int measure(View stem) {
  int m = 0;
  for (std::size_t i = 1; i < stem.size(); ++i) m += !consonant(stem, i - 1) && consonant(stem, i);
  return m;
}

bool has_vowel(View stem) {
  for (std::size_t i = 0; i < stem.size(); ++i)
    if (!consonant(stem, i)) return true;
  return false;
}

bool ends_double_consonant(View word) {
  const std::size_t n = word.size();
  return n >= 2 && word[n - 1] == word[n - 2] && consonant(word, n - 1);
}

bool ends_cvc(View word) {
  const std::size_t n = word.size();
  if (n == 2) return !consonant(word, 0) && consonant(word, 1);  // NLTK's extension
  if (n < 3) return false;
  const char last = word[n - 1];
  return consonant(word, n - 3) && !consonant(word, n - 2) && consonant(word, n - 1) && last != 'w' &&
         last != 'x' && last != 'y';
}

struct Rule {
  View suffix, replacement;
  int least_measure;  // of the stem
};

// The first rule whose suffix fits decides, whether its condition holds or not.
std::string apply_rules(std::string word, std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    if (!word.ends_with(rule.suffix)) continue;
    const std::string stem = word.substr(0, word.size() - rule.suffix.size());
    return measure(stem) >= rule.least_measure ? stem + std::string(rule.replacement) : word;
  }
  return word;
}

std::string step_1a(const std::string& word) {
  static constexpr std::array<Rule, 4> kRules{
      {{"sses", "ss", 0}, {"ies", "i", 0}, {"ss", "ss", 0}, {"s", "", 0}}};
  if (word.size() == 4 && word.ends_with("ies")) return word.substr(0, 1) + "ie";
  return apply_rules(word, kRules);
}

std::string step_1b(const std::string& word) {
  if (word.ends_with("ied")) return word.substr(0, word.size() - 3) + (word.size() == 4 ? "ie" : "i");
  if (word.ends_with("eed"))
    return measure(View(word).substr(0, word.size() - 3)) > 0 ? word.substr(0, word.size() - 1) : word;
  std::string stem;
  if (word.ends_with("ed") && has_vowel(View(word).substr(0, word.size() - 2)))
    stem = word.substr(0, word.size() - 2);
  else if (word.ends_with("ing") && has_vowel(View(word).substr(0, word.size() - 3)))
    stem = word.substr(0, word.size() - 3);
  else return word;
  if (stem.ends_with("at") || stem.ends_with("bl") || stem.ends_with("iz")) return stem + "e";
  if (ends_double_consonant(stem)) {
    const char last = stem.back();
    return last == 'l' || last == 's' || last == 'z' ? stem : stem.substr(0, stem.size() - 1);
  }
  return measure(stem) == 1 && ends_cvc(stem) ? stem + "e" : stem;
}

std::string step_1c(std::string word) {
  if (word.size() > 2 && word.back() == 'y' && consonant(word, word.size() - 2)) word.back() = 'i';
  return word;
}

std::string step_2(const std::string& word) {
  static constexpr std::array<Rule, 21> kRules{
      {{"ational", "ate", 1}, {"tional", "tion", 1}, {"enci", "ence", 1},   {"anci", "ance", 1},
       {"izer", "ize", 1},    {"bli", "ble", 1},     {"alli", "al", 1},     {"entli", "ent", 1},
       {"eli", "e", 1},       {"ousli", "ous", 1},   {"ization", "ize", 1}, {"ation", "ate", 1},
       {"ator", "ate", 1},    {"alism", "al", 1},    {"iveness", "ive", 1}, {"fulness", "ful", 1},
       {"ousness", "ous", 1}, {"aliti", "al", 1},    {"iviti", "ive", 1},   {"biliti", "ble", 1},
       {"fulli", "ful", 1}}};
  if (word.ends_with("alli") && measure(View(word).substr(0, word.size() - 4)) > 0)
    return step_2(word.substr(0, word.size() - 2));
  if (word.ends_with("logi"))  // NLTK looks at the stem with its l
    return measure(View(word).substr(0, word.size() - 3)) > 0 ? word.substr(0, word.size() - 1) : word;
  return apply_rules(word, kRules);
}

std::string step_3(const std::string& word) {
  static constexpr std::array<Rule, 7> kRules{{{"icate", "ic", 1},
                                               {"ative", "", 1},
                                               {"alize", "al", 1},
                                               {"iciti", "ic", 1},
                                               {"ical", "ic", 1},
                                               {"ful", "", 1},
                                               {"ness", "", 1}}};
  return apply_rules(word, kRules);
}

std::string step_4(const std::string& word) {
  static constexpr std::array<View, 18> kSuffixes{"al",   "ance", "ence",  "er",   "ic",  "able",
                                                  "ible", "ant",  "ement", "ment", "ent", "ou",
                                                  "ism",  "ate",  "iti",   "ous",  "ive", "ize"};
  if (word.ends_with("ion")) {
    const View stem = View(word).substr(0, word.size() - 3);
    return measure(stem) > 1 && (stem.back() == 's' || stem.back() == 't') ? std::string(stem) : word;
  }
  for (View suffix : kSuffixes) {
    if (!word.ends_with(suffix)) continue;
    const View stem = View(word).substr(0, word.size() - suffix.size());
    return measure(stem) > 1 ? std::string(stem) : word;
  }
  return word;
}

std::string step_5(std::string word) {
  if (word.ends_with('e')) {
    const View stem = View(word).substr(0, word.size() - 1);
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_cvc(stem))) word.pop_back();
  }
  if (word.ends_with("ll") && measure(View(word).substr(0, word.size() - 1)) > 1) word.pop_back();
  return word;
}

}  // namespace

std::string porter_stem(View word) {
  static const std::unordered_map<View, View> kIrregular{
      {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
      {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
      {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
      {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"}};
  if (const auto at = kIrregular.find(word); at != kIrregular.end()) return std::string(at->second);
  if (word.size() <= 2) return std::string(word);
  return step_5(step_4(step_3(step_2(step_1c(step_1b(step_1a(std::string(word))))))));
}

}  // namespace mplus::eval
