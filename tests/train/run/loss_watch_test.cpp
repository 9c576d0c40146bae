#include "mplus/train/run/stages/loss_watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mplus::train {
namespace {

class Watched {
 public:
  Watched& see(double loss, double norm = 1) {
    watch_.see(step_++, torch::tensor(loss), torch::tensor(norm));
    return *this;
  }
  std::string trouble() const { return watch_.trouble(nullptr); }

 private:
  LossWatch watch_{torch::kCPU};
  std::int64_t step_ = 0;
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(TrainWatch, TellsTheFirstStepThatWasLost) {
  EXPECT_EQ(Watched().trouble(), "");
  Watched watch;
  watch.see(1).see(2);
  EXPECT_EQ(watch.trouble(), "");
  watch.see(kNan).see(1).see(kNan);
  EXPECT_NE(watch.trouble().find("step 3 "), std::string::npos) << watch.trouble();
  EXPECT_NE(Watched().see(1, kInfinity).trouble(), "") << "the gradients count, too";
  EXPECT_NE(Watched().see(kInfinity).trouble(), "");
}

// Kinds of lessons differ a hundredfold, and a stage may become three times as hard.
TEST(TrainWatch, IsPatient) {
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(1);
  const Tensor lots = torch::rand({3000}, random);
  Watched watch;
  for (std::int64_t step = 0; step < 3000; ++step) {
    const double lot = lots[step].item<double>(), harder = step < 1500 ? 1 : 3;
    watch.see(harder * (lot < .05 ? 2.8 : lot < .5 ? .03 : .5));
    ASSERT_EQ(watch.trouble(), "") << step;
  }
}

TEST(TrainWatch, SeesALossThatExplodes) {
  Watched watch;
  for (int step = 0; step < 100; ++step) watch.see(2.5 * std::exp(-step / 20.) + .4);
  EXPECT_EQ(watch.trouble(), "");
  for (int step = 0; step < 5; ++step) watch.see(9);
  EXPECT_EQ(watch.trouble(), "") << "a few bad ones";
  for (int step = 0; step < 60; ++step) watch.see(9);
  EXPECT_NE(watch.trouble().find("explodes"), std::string::npos);
}

}  // namespace
}  // namespace mplus::train
