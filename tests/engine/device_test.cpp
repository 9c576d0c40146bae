// Which device an engine computes on, and that every one this machine has gives what the processor gives.
#include <gtest/gtest.h>

#include <cmath>

#include "mplus/core/error.h"
#include "mplus/engine/session.h"
#include "mplus/kernels/backend.h"
#include "tests/engine/tiny_engine.h"

namespace mplus::engine {
namespace {

EngineOptions exact_options(const DeviceChoice& device) {
  EngineOptions options = tiny_options();
  options.numerics = kernels::Numerics::exact;
  options.device = device;
  return options;
}

// Negative log likelihoods of a text behind what was written and read before.
std::vector<double> surprise(Engine& engine) {
  Session session(engine, 3);
  session.remember_ids(random_ids(3000, 1), "text");
  return session.score(random_ids(60, 2)).nll;
}

TEST(EngineDevice, OneThatIsNotThereIsAnError) {
  try {
    Engine engine(exact_options({.automatic = false, .device = {DeviceKind::cuda, 99}}));
    FAIL() << "there is no such device";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("cuda:99"), std::string::npos);
  }
}

TEST(EngineDevice, TheAutomaticOneIsThere) {
  const Engine engine(exact_options({.automatic = true}));
  EXPECT_EQ(engine.device().is_cpu(), kernels::cuda_devices() == 0) << "the tiny model fits anywhere";
}

// Without a GPU this compares the processor with itself.
TEST(EngineDevice, EveryDeviceGivesTheProcessorsAnswers) {
  Engine processor(exact_options({}));
  const std::vector<double> wanted = surprise(processor);
  Engine other(exact_options({.automatic = true}));
  const std::vector<double> found = surprise(other);
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-3) << "token " << i;
  EXPECT_EQ(other.numerics_id() == processor.numerics_id(), other.device().is_cpu());
}

// Drawn where the logits are, or, where somebody wants to see these, on the host: the same tokens.
TEST(EngineDevice, TokensAreDrawnAsOnTheHost) {
  Engine engine(exact_options({.automatic = true}));
  Session session(engine, 3);
  session.remember_ids(random_ids(1500, 1), "text");
  const SamplingOptions kinds[] = {
      {.temperature = 1, .seed = 1},
      {.temperature = 0.7f, .top_p = 0.9f, .seed = 2},
      {.temperature = 2, .top_k = 20, .min_p = 0.01f, .seed = 3},
      {.temperature = 1, .repetition_penalty = 1.5f, .bias = {{7, 3.0f}}, .seed = 4},
      {.frequency_penalty = 0.5f, .presence_penalty = 0.5f}};
  for (const SamplingOptions& sampling : kinds) {
    GenerateOptions options;
    options.max_tokens = 40;
    options.sampling = sampling;
    const std::vector<io::TokenId> prompt = random_ids(20, 2);
    Session there = session.fork(), here = session.fork();
    const std::vector<io::TokenId> tokens = there.generate_ids(prompt, options).tokens;
    options.chances = 1;
    EXPECT_EQ(here.generate_ids(prompt, options).tokens, tokens) << "seed " << sampling.seed;
    EXPECT_FALSE(tokens.empty());
  }
}

}  // namespace
}  // namespace mplus::engine
