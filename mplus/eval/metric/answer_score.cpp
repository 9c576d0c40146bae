#include "mplus/eval/metric/answer_score.h"

#include <algorithm>
#include <array>
#include <map>

#include "mplus/eval/metric/porter.h"
#include "mplus/eval/metric/words.h"

namespace mplus::eval {
namespace {

using Words = std::vector<std::string>;

double overlap_f1(const Words& answer, const Words& gold) {
  std::map<std::string, int> left;
  for (const std::string& word : gold) ++left[word];
  int common = 0;
  for (const std::string& word : answer)
    if (auto at = left.find(word); at != left.end() && at->second > 0) {
      --at->second;
      ++common;
    }
  if (common == 0) return 0;
  const double precision = common / static_cast<double>(answer.size());
  const double recall = common / static_cast<double>(gold.size());
  return 2 * precision * recall / (precision + recall);
}

Words stems(std::string_view text) {
  std::string without_commas(text);
  std::erase(without_commas, ',');
  Words words =
      split_words(without_words(without_punctuation(lower_case(without_commas)), {"a", "an", "the", "and"}));
  for (std::string& word : words) word = porter_stem(word);
  return words;
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

bool exact_match(std::string_view answer, const Golds& golds) {
  const std::string said = normalised(answer);
  return std::any_of(golds.begin(), golds.end(),
                     [&](const std::string& gold) { return normalised(gold) == said; });
}

bool contains_gold(std::string_view answer, const Golds& golds) {
  const std::string said = normalised(answer);
  return std::any_of(golds.begin(), golds.end(),
                     [&](const std::string& gold) { return has_words(said, normalised(gold)); });
}

bool contains_verbatim(std::string_view output, const Golds& golds) {
  return std::any_of(golds.begin(), golds.end(), [&](const std::string& gold) {
    return !gold.empty() && output.find(gold) != std::string_view::npos;
  });
}

double f1(std::string_view answer, const Golds& golds) {
  const Words said = split_words(normalised(answer));
  double best = 0;
  for (const std::string& gold : golds)
    best = std::max(best, overlap_f1(said, split_words(normalised(gold))));
  return best;
}

double stemmed_f1(std::string_view answer, const Golds& golds) {
  const Words said = stems(answer);
  double best = 0;
  for (const std::string& gold : golds) best = std::max(best, overlap_f1(said, stems(gold)));
  return best;
}

double stemmed_f1_of_parts(std::string_view answer, std::string_view gold) {
  const std::vector<std::string> said = parts_of(answer), wanted = parts_of(gold);
  double sum = 0;
  for (const std::string& part : wanted) {
    double best = 0;
    for (const std::string& word : said) best = std::max(best, stemmed_f1(word, {part}));
    sum += best;
  }
  return sum / static_cast<double>(wanted.size());
}

bool says_unknown(std::string_view answer) {
  static constexpr std::array kWays{"unknown",        "not known",     "dont know", "do not know",
                                    "not mentioned",  "not stated",    "not given", "not specified",
                                    "no information", "not provided",  "no idea",   "cannot say",
                                    "not remember",   "not sure",      "no answer", "never mentioned",
                                    "dont remember",  "not available", "cant say"};
  const std::string said = plain_words(without_punctuation(answer));
  return std::any_of(kWays.begin(), kWays.end(), [&](const char* way) { return has_words(said, way); });
}

AnswerScore score_answer(std::string_view output, const Golds& golds) {
  const std::string line = first_line(output);
  return {.exact = exact_match(line, golds),
          .hit = contains_gold(line, golds),
          .verbatim = contains_verbatim(output, golds),
          .f1 = f1(line, golds),
          .f1_whole = f1(output, golds)};
}

}  // namespace mplus::eval
