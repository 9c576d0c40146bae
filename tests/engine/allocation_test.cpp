// The token loop allocates nothing: every new and delete of this program is counted.
#include <gtest/gtest.h>

#include "mplus/engine/answer/reading.h"
#include "mplus/engine/answer/sampler.h"
#include "tests/engine/tiny_engine.h"
#include "tests/kernels/counting_new.h"

namespace mplus::engine {
namespace {

TEST(TokenLoop, AllocatesNothing) {
  for (int threads : {1, 2}) {
    Engine engine(tiny_options(threads));
    Session session(engine);
    session.remember_ids(random_ids(3000, 1), "text");
    GenerateOptions options;
    memory::WindowRows rows(engine.layout());
    Reading reading(engine, session.memory(), rows, options);
    std::vector<float> next(300);
    const model::LogitsSink sink = [&](std::size_t, std::int64_t, std::span<const float> logits) {
      std::copy(logits.begin(), logits.end(), next.begin());
    };
    const auto prompt = random_ids(40, 2);
    reading.prefill(prompt, 0, 40, 200, 39, sink);
    Sampler sampler({.temperature = 0.8f, .top_k = 40, .top_p = 0.9f}, 300);
    reading.step(sampler.pick(next, {}, 0, 0), sink);  // buffers of a first step
    const int before = kernels::allocation_count();
    for (std::uint32_t n = 1; n < 150; ++n) reading.step(sampler.pick(next, {}, n, 0), sink);
    EXPECT_EQ(kernels::allocation_count() - before, 0) << "with " << threads << " threads";
  }
}

}  // namespace
}  // namespace mplus::engine
