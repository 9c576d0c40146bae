#include "mplus/cli/bench/writing.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "mplus/cli/bench/work.h"

namespace mplus::cli {
namespace {

// Tokens written by a time.
struct Moment {
  std::int64_t tokens = 0;
  double seconds = 0;
};

// Between the moments at which at least so many tokens had been written.
double rate_between(std::span<const Moment> moments, std::int64_t begin, std::int64_t end) {
  const auto at = [&](std::int64_t tokens) {
    return *std::find_if(moments.begin(), moments.end(), [&](const Moment& m) { return m.tokens >= tokens; });
  };
  const Moment first = at(begin), last = at(end);
  return static_cast<double>(last.tokens - first.tokens) / (last.seconds - first.seconds);
}

}  // namespace

LongWrite long_write(engine::Engine& engine, std::int64_t tokens) {
  using Clock = std::chrono::steady_clock;
  const std::vector<io::TokenId> ids = bench_tokens(engine, tokens);
  const kernels::Backend& device = engine.queue().backend();
  engine::Session session(engine);
  LongWrite result;
  std::vector<Moment> moments;
  const auto start = Clock::now();
  const auto tell = [&](std::int64_t done, std::int64_t total) {
    moments.push_back({done, std::chrono::duration<double>(Clock::now() - start).count()});
    if (result.middle.driver == 0 && 2 * done >= total) result.middle = device.memory_use();
    return true;
  };
  session.remember_ids(ids, "bench", tell);
  result.end = device.memory_use();
  result.seconds = moments.back().seconds;
  const memory::Layout& layout = engine.layout();
  std::vector<double> full;
  const auto until_full = static_cast<std::size_t>((layout.N + layout.K - 1) / layout.K);
  for (std::size_t i = until_full + 1; i + 1 < moments.size(); ++i)  // the last piece may be short
    full.push_back(rate_between(moments, moments[i - 1].tokens, moments[i].tokens));
  if (!full.empty()) result.full = spread_of(std::move(full));
  if (tokens < 2 * LongWrite::kStretch) return result;
  result.first_rate = rate_between(moments, 0, LongWrite::kStretch);
  result.last_rate = rate_between(moments, tokens - LongWrite::kStretch, tokens);
  return result;
}

}  // namespace mplus::cli
