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

}  // namespace
}  // namespace mplus::engine
