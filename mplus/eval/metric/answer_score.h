// How right an answer is. All take the best over the gold answers; without gold answers all are 0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mplus::eval {

using Golds = std::vector<std::string>;

bool exact_match(std::string_view answer, const Golds& golds);  // equal once normalised
bool contains_gold(std::string_view answer,
                   const Golds& golds);  // a gold answer's words stand in it, in a row
bool contains_verbatim(std::string_view output, const Golds& golds);  // case-sensitive substring: the paper's
double f1(std::string_view answer, const Golds& golds);               // over words, as SQuAD counts them
double stemmed_f1(std::string_view answer, const Golds& golds);  // over Porter stems, as LoCoMo counts them
// LoCoMo's for answers with several parts: both sides split at commas, mean over the gold parts of the best.
double stemmed_f1_of_parts(std::string_view answer, std::string_view gold);

bool says_unknown(std::string_view answer);  // the answer is that it is not known

struct AnswerScore {
  bool exact = false, hit = false;  // of the first line
  bool verbatim = false;            // of the whole output
  double f1 = 0, f1_whole = 0;      // of the first line, of the whole output
};
AnswerScore score_answer(std::string_view output, const Golds& golds);

}  // namespace mplus::eval
