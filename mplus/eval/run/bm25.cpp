#include "mplus/eval/run/bm25.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "mplus/eval/metric/words.h"

namespace mplus::eval {

void Bm25::add(std::string_view passage) {
  std::map<std::string, int> counts;
  const std::vector<std::string> words = split_words(plain_words(passage));
  for (const std::string& word : words) ++counts[word];
  for (const auto& [word, count] : counts) entries_[word].push_back({lengths_.size(), count});
  lengths_.push_back(static_cast<double>(words.size()));
  total_length_ += lengths_.back();
}

std::vector<double> Bm25::scores(std::string_view question) const {
  std::vector<double> result(lengths_.size(), 0.0);
  const auto N = static_cast<double>(lengths_.size());
  const double mean_length = total_length_ / N;
  const std::vector<std::string> words = split_words(plain_words(question));
  for (const std::string& word : std::set<std::string>(words.begin(), words.end())) {
    const auto at = entries_.find(word);
    if (at == entries_.end()) continue;
    const auto n = static_cast<double>(at->second.size());
    const double idf = std::log(1 + (N - n + 0.5) / (n + 0.5));
    for (const Entry& entry : at->second) {
      const double tf = entry.count;
      result[entry.passage] +=
          idf * tf * (kK1 + 1) / (tf + kK1 * (1 - kB + kB * lengths_[entry.passage] / mean_length));
    }
  }
  return result;
}

std::vector<std::size_t> Bm25::best(std::string_view question, std::size_t n) const {
  const std::vector<double> score = scores(question);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < score.size(); ++i)
    if (score[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
  order.resize(std::min(n, order.size()));
  return order;
}

}  // namespace mplus::eval
