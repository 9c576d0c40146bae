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
    force_isa("neon-i8mm");
    cpu::linear(queue, matrices.data(), x.data(), kRows, w.matrix());
    for (const char* isa : {"neon", "neon-dot"}) {
      force_isa(isa);
      cpu::linear(queue, dots.data(), x.data(), kRows, w.matrix());
      EXPECT_TRUE(same_bits(dots.data(), matrices.data(), kRows * kOutputs))
          << isa << ", " << dtype_name(dtype);
    }
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

class InterleavedTest : public IsaTest {};
MPLUS_FOR_EVERY_ISA(InterleavedTest);

// Interleaved weights are the same numbers in another order: products have the bits they have with a file's,
// for one row, a few and many, and for outputs that are no multiple of a group. Where one row of a file is
// summed across lanes, an interleaved one has the bits of a batch.
TEST_P(InterleavedTest, WeightsGiveTheBitsOfAFilesOrder) {
  if (table().interleave == nullptr) GTEST_SKIP() << "this instruction set has no other order";
  constexpr std::int64_t kMostRows = 27, kInputs = 512;
  ThreadPool pool(2);
  Queue queue(pool, Numerics::fast);
  for (const DType dtype : kTypes)
    for (const std::int64_t outputs : {1, 6, 203}) {
      Random random(13);
      const Weights w = random_weights(random, dtype, outputs, kInputs);
      std::vector<std::byte> bytes(cpu::arranged_bytes(Numerics::fast, w.matrix()));
      const Matrix interleaved = cpu::arrange(queue, bytes.data(), w.matrix());
      const std::vector<float> x = random.values(kMostRows * kInputs);
      const std::vector<float> before = random.values(kMostRows * outputs);
      for (const Rows rows : {Rows::few, Rows::batched})
        for (const std::int64_t T : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 27}) {
          const LinearOptions options{.accumulate = T % 2 == 0, .scale = 0.75f, .rows = rows};
          std::vector<float> expected = before, got = before;
          if (T == 1 && rows == Rows::few) {  // the first of two
            std::vector<float> two(before.begin(), before.begin() + 2 * outputs);
            cpu::linear(queue, two.data(), x.data(), 2, w.matrix(), options);
            std::copy_n(two.begin(), outputs, expected.begin());
          } else {
            cpu::linear(queue, expected.data(), x.data(), T, w.matrix(), options);
          }
          cpu::linear(queue, got.data(), x.data(), T, interleaved, options);
          EXPECT_TRUE(same_bits(expected.data(), got.data(), kMostRows * outputs))
              << dtype_name(dtype) << ", " << T << " rows, " << outputs << " outputs";
        }
    }
}

// Exact arithmetic reads weights as files have them, and so do types without codes.
TEST(Linear, OnlyFastProductsOfCodesHaveInterleavedWeights) {
  Random random(14);
  const auto group = static_cast<std::size_t>(table().group_weights);
  const std::size_t expected =
      table().interleave != nullptr ? (5 + group - 1) / group * group * row_bytes(DType::q4_1, 64) : 0;
  const Weights codes = random_weights(random, DType::q4_1, 5, 64);
  EXPECT_EQ(cpu::arranged_bytes(Numerics::fast, codes.matrix()), expected);
  EXPECT_EQ(cpu::arranged_bytes(Numerics::exact, codes.matrix()), 0u);
  EXPECT_EQ(cpu::arranged_bytes(Numerics::fast, random_weights(random, DType::bf16, 5, 64).matrix()), 0u);
  EXPECT_EQ(cpu::arranged_bytes(Numerics::fast, random_weights(random, DType::i8, 5, 33).matrix()), 0u);
}

}  // namespace
}  // namespace mplus::kernels
