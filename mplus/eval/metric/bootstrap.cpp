#include "mplus/eval/metric/bootstrap.h"

#include <algorithm>
#include <functional>
#include <random>

namespace mplus::eval {
namespace {

constexpr int kResamples = 2000;

// Resamples n groups and collects what `statistic` makes of each drawing; sorted.
std::vector<double> resample(std::size_t n,
                             const std::function<double(const std::vector<std::size_t>&)>& statistic) {
  std::mt19937_64 random(n);
  std::vector<std::size_t> drawn(n);
  std::vector<double> results(kResamples);
  for (double& result : results) {
    // Not std::uniform_int_distribution: libraries differ in it.
    for (std::size_t& d : drawn) d = static_cast<std::size_t>((random() >> 32) * n >> 32);
    result = statistic(drawn);
  }
  std::sort(results.begin(), results.end());
  return results;
}

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

}  // namespace

void Values::add(std::string_view question, double value) {
  auto at = questions_.find(question);
  if (at == questions_.end()) at = questions_.emplace(std::string(question), Group{}).first;
  at->second.sum += value;
  ++at->second.n;
}

Interval Values::interval() const {
  if (questions_.empty()) return {};
  std::vector<Group> groups;
  Group all;
  for (const auto& [name, group] : questions_) {
    groups.push_back(group);
    all.sum += group.sum;
    all.n += group.n;
  }
  const auto means = resample(groups.size(), [&](const std::vector<std::size_t>& drawn) {
    Group sum;
    for (std::size_t d : drawn) {
      sum.sum += groups[d].sum;
      sum.n += groups[d].n;
    }
    return sum.sum / static_cast<double>(sum.n);
  });
  return {.mean = all.sum / static_cast<double>(all.n),
          .low = quantile(means, 0.025),
          .high = quantile(means, 0.975),
          .values = all.n,
          .questions = static_cast<std::int64_t>(groups.size())};
}

void PairedValues::add(std::string_view question, double a, double b) {
  a_.add(question, a);
  b_.add(question, b);
}

PairedValues::Difference PairedValues::difference() const {
  Difference result;
  if (a_.empty()) return result;
  std::vector<Values::Group> differences;  // both have the same questions and counts
  double sum_a = 0, sum_b = 0;
  std::int64_t n = 0;
  for (auto a = a_.questions_.begin(), b = b_.questions_.begin(); a != a_.questions_.end(); ++a, ++b) {
    differences.push_back({b->second.sum - a->second.sum, a->second.n});
    sum_a += a->second.sum;
    sum_b += b->second.sum;
    n += a->second.n;
  }
  const auto means = resample(differences.size(), [&](const std::vector<std::size_t>& drawn) {
    Values::Group sum;
    for (std::size_t d : drawn) {
      sum.sum += differences[d].sum;
      sum.n += differences[d].n;
    }
    return sum.sum / static_cast<double>(sum.n);
  });
  const auto count = static_cast<double>(n);
  result.mean_a = sum_a / count;
  result.mean_b = sum_b / count;
  result.difference = {.mean = (sum_b - sum_a) / count,
                       .low = quantile(means, 0.025),
                       .high = quantile(means, 0.975),
                       .values = n,
                       .questions = static_cast<std::int64_t>(differences.size())};
  const auto not_above =
      static_cast<double>(std::upper_bound(means.begin(), means.end(), 0.0) - means.begin());
  const auto not_below = static_cast<double>(means.end() - std::lower_bound(means.begin(), means.end(), 0.0));
  result.p = std::min(1.0, 2 * std::min(not_above, not_below) / kResamples);
  return result;
}

}  // namespace mplus::eval
