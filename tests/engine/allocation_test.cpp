// The token loop allocates nothing: every new and delete of this program is counted.
#include <gtest/gtest.h>

#include "mplus/engine/generation.h"
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
    options.max_tokens = 200;
    options.sampling = {.temperature = 0.8f, .top_k = 40, .top_p = 0.9f, .seed = 1};
    const auto prompt = random_ids(40, 2);
    Generation generation = Generation::generate_ids(session, prompt, options);
    const auto steps = [&](int n) {
      for (int i = 0; i < n; ++i) {
        Work* work = generation.next_work();
        if (!work) return i;
        WorkItem item{work};
        engine.runner().step({&item, 1});
        generation.take(std::move(item.result));
      }
      return n;
    };
    ASSERT_EQ(steps(3), 3);  // the prompt, and buffers of a first step
    const int before = kernels::allocation_count();
    EXPECT_EQ(steps(150), 150) << "the text ended; another seed would go on";
    EXPECT_EQ(kernels::allocation_count() - before, 0) << "with " << threads << " threads";
  }
}

}  // namespace
}  // namespace mplus::engine
