#include "mplus/train/run/failure.h"

#include <gtest/gtest.h>

#include "mplus/core/error.h"
#include "mplus/train/torch.h"

namespace mplus::train {
namespace {

template <class Throw>
std::string said(Throw&& make) {
  try {
    make();
  } catch (const std::exception& error) {
    return failure_text(error, "Lower --streams");
  }
  return "nothing was thrown";
}

TEST(Failure, AFullGpuIsSaidPlainly) {
  const std::string text = said(
      [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2.00 GiB."); });
  EXPECT_NE(text.find("the GPU's memory is full"), std::string::npos) << text;
  EXPECT_NE(text.find("Lower --streams"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00 GiB"), std::string::npos) << text;
  EXPECT_EQ(text.find("frame #"), std::string::npos) << text;
}

TEST(Failure, TorchsErrorsComeWithoutBacktraces) {
  const std::string text = said([] { torch::ones({2}) + torch::ones({3}); });
  EXPECT_NE(text.find("must match"), std::string::npos) << text;
  EXPECT_EQ(text.find("frame #"), std::string::npos) << text;
}

TEST(Failure, OwnErrorsStayAsTheyAre) {
  EXPECT_EQ(said([] { fail(ErrorCode::io, "disk full"); }), "disk full");
}

}  // namespace
}  // namespace mplus::train
