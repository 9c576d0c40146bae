// BM25 (Robertson, Zaragoza) over passages, k1 = 1.2, b = 0.75: words lower-cased, no stemming, no stop list.
// idf = ln(1 + (N − n + 0.5) / (n + 0.5)), so that no word counts against a passage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mplus::eval {

class Bm25 {
 public:
  static constexpr double kK1 = 1.2, kB = 0.75;

  void add(std::string_view passage);
  std::size_t size() const { return lengths_.size(); }
  std::vector<double> scores(std::string_view question) const;  // of every passage
  // The best n passages, best first; ties: older first. Passages without any of the words are left out.
  std::vector<std::size_t> best(std::string_view question, std::size_t n) const;

 private:
  struct Entry {
    std::size_t passage;
    int count;
  };
  std::unordered_map<std::string, std::vector<Entry>> entries_;
  std::vector<double> lengths_;
  double total_length_ = 0;
};

}  // namespace mplus::eval
