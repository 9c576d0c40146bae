// Means with 95 % intervals by bootstrap over questions. Several values of one question are drawn together,
// since they are not independent. The random choice is fixed: the same values give the same interval.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mplus::eval {

struct Interval {
  double mean = 0;
  double low = 0, high = 0;
  std::int64_t values = 0;     // 0: nothing was measured
  std::int64_t questions = 0;  // different ones
};

class Values {
 public:
  void add(std::string_view question, double value);
  bool empty() const { return questions_.empty(); }
  Interval interval() const;

 private:
  friend struct PairedValues;
  struct Group {
    double sum = 0;
    std::int64_t n = 0;
  };
  std::map<std::string, Group, std::less<>> questions_;
};

// Two runs of the same questions: how much the second is above the first.
struct PairedValues {
  struct Difference {
    Interval difference;
    double mean_a = 0, mean_b = 0;
    double p = 1;  // two-sided: how often a resampled difference has the other sign, doubled
  };
  void add(std::string_view question, double a, double b);
  Difference difference() const;

 private:
  Values a_, b_;
};

}  // namespace mplus::eval
