// What products by matrix instructions have in common with those by dot products.
#include <algorithm>

#include "mplus/kernels/cpu/ops/operations.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

// Types that meet integer activations in fast numerics.
constexpr DType kTypes[] = {DType::i8,   DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0,
                            DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k};

bool has_matrix_instructions() {
  const std::vector<std::string> names = isas();
  return std::ranges::find(names, "neon-i8mm") != names.end();
}

// Products of int8 are exact whatever instruction makes them, and meet their scales in one order: a session
// written before its machine's matrix instructions were used goes on with the same bits.
TEST(Linear, MatrixInstructionsGiveTheBitsOfDotProducts) {
  if (!has_matrix_instructions()) GTEST_SKIP() << "this machine has no i8mm";
  constexpr std::int64_t kOutputs = 203, kRows = 27, kInputs = 512;
  ThreadPool pool(2);
  Queue queue(pool, Numerics::fast);
  for (const DType dtype : kTypes) {
    Random random(11);
    const Weights w = random_weights(random, dtype, kOutputs, kInputs);
    const std::vector<float> x = random.values(kRows * kInputs);
    std::vector<float> dots(kRows * kOutputs), matrices(kRows * kOutputs);
    force_isa("neon");
    cpu::linear(queue, dots.data(), x.data(), kRows, w.matrix());
    force_isa("neon-i8mm");
    cpu::linear(queue, matrices.data(), x.data(), kRows, w.matrix());
    EXPECT_TRUE(same_bits(dots.data(), matrices.data(), kRows * kOutputs)) << dtype_name(dtype);
  }
  force_isa(runnable_isas().front());
}

// With matrix instructions a quantised row has the same bits alone as in a batch: nothing is summed across
// lanes.
TEST(Linear, MatrixInstructionsGiveOneRowTheBitsOfABatch) {
  if (!has_matrix_instructions()) GTEST_SKIP() << "this machine has no i8mm";
  constexpr std::int64_t kOutputs = 203, kRows = 9, kInputs = 512;
  ThreadPool pool(2);
  Queue queue(pool, Numerics::fast);
  force_isa("neon-i8mm");
  for (const DType dtype : kTypes) {
    Random random(12);
    const Weights w = random_weights(random, dtype, kOutputs, kInputs);
    const std::vector<float> x = random.values(kRows * kInputs);
    std::vector<float> together(kRows * kOutputs), alone(kOutputs);
    cpu::linear(queue, together.data(), x.data(), kRows, w.matrix());
    for (std::int64_t t = 0; t < kRows; ++t) {
      cpu::linear(queue, alone.data(), x.data() + t * kInputs, 1, w.matrix());
      EXPECT_TRUE(same_bits(alone.data(), together.data() + t * kOutputs, kOutputs)) << dtype_name(dtype);
    }
  }
  force_isa(runnable_isas().front());
}

}  // namespace
}  // namespace mplus::kernels
