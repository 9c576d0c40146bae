#include "mplus/kernels/queue.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/kernels/backend.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

TEST(Queue, ScratchIsAlignedAndKept) {
  ThreadPool pool(3);
  Queue queue(pool, Numerics::fast);
  for (int worker = 0; worker < 3; ++worker) {
    std::byte* at = queue.scratch(worker, 1000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 64, 0u);
    EXPECT_EQ(queue.scratch(worker, 10), at);
    EXPECT_EQ(queue.scratch(worker, 1000), at);
    std::fill(at, at + 1000, std::byte{1});
  }
  EXPECT_NE(queue.scratch(0, 1000), queue.scratch(1, 1000));
  EXPECT_NE(queue.scratch(0, 1000), queue.shared_scratch(1000));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(queue.scratch(0, 1 << 20)) % 64, 0u);
}

// In a program with CUDA and in one without, with and without a driver.
TEST(Queue, ADeviceThatIsNotThereIsAnError) {
  ThreadPool pool(1);
  EXPECT_LT(cuda_devices(), 100);
  try {
    Queue queue(pool, Numerics::fast, {DeviceKind::cuda, 100});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    const std::string message = error.what();
    EXPECT_NE(message.find("cuda:100"), std::string::npos) << message;
    EXPECT_NE(message.find("use the device cpu"), std::string::npos) << message;
  }
}

TEST(Isa, IdsNameTheSetAndTheNumerics) {
  const auto sets = runnable_isas();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.back(), "portable");
  for (const auto name : sets) {
#if defined(__x86_64__)
    const std::string version = name == "avx512vnni" ? "k7-" : name == "avx2" ? "k8-" : "k5-";
#else
    const std::string version = "k4-";
#endif
    force_isa(name);
    EXPECT_EQ(isa_name(), name);
    EXPECT_EQ(numerics_id(Numerics::fast), version + std::string(name) + "-fast");
    EXPECT_EQ(numerics_id(Numerics::exact), "k1-" + std::string(name) + "-exact");
  }
  force_isa(sets.front());
}

TEST(Isa, AnUnknownSetIsAnError) {
  try {
    force_isa("abacus");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace mplus::kernels
