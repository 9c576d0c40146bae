// Products with a low-rank addition under fast numerics, which an instruction set may fold in: the same up to
// what rounding both factors costs, the same bits for a row whatever stands beside it, and rows left for the
// next product are those it would have made.
#include "mplus/kernels/linear/adapter.h"

#include <algorithm>
#include <utility>

#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/activation.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

constexpr double kRounded = 0x1p-8;  // of a product of two factors as bf16, the coarsest there is

class LinearAdaptedTest : public IsaTest {};
MPLUS_FOR_EVERY_ISA(LinearAdaptedTest);

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// A projection and its adapter, with room for T rows.
struct Projection {
  Weights base, a, b;
  Matrix matrix;
  std::vector<float> low, out;
  float scale = 0.5f;
  std::int64_t T;

  Projection(std::uint64_t seed, DType base_type, DType b_type, std::int64_t outputs, std::int64_t inputs,
             std::int64_t r, std::int64_t rows)
      : T(rows) {
    Random random(seed);
    base = random_weights(random, base_type, outputs, inputs);
    a = random_weights(random, DType::i8, r, inputs);
    b = random_weights(random, b_type, outputs, r);
    matrix = base.matrix();
    low.resize(index(rows * r));
    out = random.values(rows * outputs);
  }

  AdaptedOutput output(bool accumulate = false) {
    return {floats(out, {T, base.rows}),
            &matrix,
            {a.matrix(), b.matrix(), scale, floats(low, {T, a.rows})},
            accumulate};
  }

  // A row's inner half in double precision, or the sum of its terms' sizes.
  std::vector<double> inner(const float* x, bool sizes) const {
    std::vector<double> sums(index(a.rows));
    for (std::int64_t k = 0; k < a.rows; ++k)
      for (std::int64_t i = 0; i < a.cols; ++i) {
        const double term = static_cast<double>(x[i]) * static_cast<double>(a.values[index(k * a.cols + i)]);
        sums[index(k)] += sizes ? std::abs(term) : term;
      }
    return sums;
  }
};

// What a row's outputs have to be, and how far off they may be: factors of the base are rounded twice, those
// of the addition four times. A code's scaled value and its minimum are rounded together, but may be of other
// signs.
void check_row(const Projection& p, const float* x, const float* before, const float* found) {
  const std::vector<double> inner = p.inner(x, false), sizes = p.inner(x, true);
  const double parts = p.base.dtype == DType::q4_1 ? 4.0 : 1.0, scale = static_cast<double>(p.scale);
  for (std::int64_t o = 0; o < p.base.rows; ++o) {
    double wanted = before == nullptr ? 0.0 : static_cast<double>(before[o]), size = 0.0;
    for (std::int64_t i = 0; i < p.base.cols; ++i) {
      const double term =
          static_cast<double>(x[i]) * static_cast<double>(p.base.values[index(o * p.base.cols + i)]);
      wanted += term;
      size += parts * std::abs(term);
    }
    for (std::int64_t k = 0; k < p.a.rows; ++k) {
      const double outer = scale * static_cast<double>(p.b.values[index(o * p.b.cols + k)]);
      wanted += outer * inner[index(k)];
      size += 2.0 * std::abs(outer) * sizes[index(k)];
    }
    ASSERT_NEAR(found[o], wanted, kRounded * size + 1e-6) << "output " << o;
  }
}

TEST_P(LinearAdaptedTest, AddsTheProductOfBothHalves) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::fast);
  for (const DType type : {DType::q4_1, DType::q8_0, DType::q6_k, DType::i8})
    for (const DType outer : {DType::i8, DType::bf16, DType::f32})
      for (const std::int64_t T : {1, 33, 70})
        for (const std::int64_t r : {5, 32, 40}) {
          const std::int64_t inputs = 256, outputs = 83;
          Projection first(1, type, outer, outputs, inputs, r, T), second(2, type, outer, 7, inputs, r, T);
          Random random(3);
          const std::vector<float> x = random.values(T * inputs), before = first.out;
          const AdaptedOutput both[] = {first.output(/*accumulate=*/true), second.output()};
          linear_adapted(queue, floats(x, {T, inputs}), both, Rows::batched);
          for (std::int64_t t = 0; t < T; ++t) {
            SCOPED_TRACE(testing::Message() << dtype_name(type) << ", " << dtype_name(outer) << ", rank " << r
                                            << ", row " << t << " of " << T);
            check_row(first, x.data() + t * inputs, before.data() + t * outputs,
                      first.out.data() + t * outputs);
            check_row(second, x.data() + t * inputs, nullptr, second.out.data() + t * 7);
          }
        }
}

// In the order that the instruction set reads codes in, where it has one.
Matrix arranged(Queue& queue, std::vector<std::byte>& bytes, const Matrix& m) {
  const std::size_t size = queue.backend().arranged_bytes(queue.numerics(), m);
  if (size == 0) return m;
  bytes.resize(size);
  return queue.backend().arrange(queue, bytes.data(), m);
}

TEST_P(LinearAdaptedTest, ArrangedWeightsGiveTheSameBits) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::fast);
  for (const std::int64_t T : {1, 40}) {
    Projection p(8, DType::q4_1, DType::i8, 83, 96, 32, T);
    Random random(9);
    const std::vector<float> x = random.values(T * 96);
    AdaptedOutput output = p.output();
    linear_adapted(queue, floats(x, {T, 96}), {&output, 1}, Rows::batched);
    const std::vector<float> plain = std::exchange(p.out, std::vector<float>(p.out.size()));
    output = p.output();
    std::vector<std::byte> bytes[3];
    p.matrix = arranged(queue, bytes[0], p.matrix);
    output.adapter.a = arranged(queue, bytes[1], output.adapter.a);
    output.adapter.b = arranged(queue, bytes[2], output.adapter.b);
    linear_adapted(queue, floats(x, {T, 96}), {&output, 1}, Rows::batched);
    EXPECT_EQ(p.out, plain) << T;
  }
}

// silu(gate) · up, read by a product: left as rows of floats, or as the product reads them.
std::vector<float> through_a_layer(Queue& queue, const std::vector<float>& x, std::int64_t T, ResultUse use) {
  constexpr std::int64_t kHidden = 96, kInner = 224, kRank = 32;
  Projection gate(4, DType::q4_1, DType::i8, kInner, kHidden, kRank, T),
      up(5, DType::q4_1, DType::i8, kInner, kHidden, kRank, T),
      down(6, DType::q4_1, DType::i8, kHidden, kInner, kRank, T);
  swiglu_adapted(queue, floats(x, {T, kHidden}), gate.output(), up.output(), Rows::batched, use);
  const AdaptedOutput output = down.output();
  linear_adapted(queue, floats(gate.out, {T, kInner}), {&output, 1}, Rows::batched);
  return down.out;
}

TEST_P(LinearAdaptedTest, WhatIsLeftForAProductIsWhatItWouldHaveRead) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::fast);
  for (const std::int64_t T : {1, 31, 32, 100}) {
    Random random(static_cast<std::uint64_t>(T));
    const std::vector<float> x = random.values(T * 96);
    const std::vector<float> read = through_a_layer(queue, x, T, ResultUse::any);
    EXPECT_EQ(through_a_layer(queue, x, T, ResultUse::products), read) << T;
    EXPECT_TRUE(std::ranges::all_of(read, [](float v) { return std::isfinite(v); }));
  }
}

TEST_P(LinearAdaptedTest, BitsDependOnTheRowAlone) {
  constexpr std::int64_t kRows = 75, kHidden = 96;
  Random random(7);
  const std::vector<float> x = random.values(kRows * kHidden);
  ThreadPool one(1), three(3);
  Queue alone(one, Numerics::fast), shared(three, Numerics::fast);
  const std::vector<float> all = through_a_layer(alone, x, kRows, ResultUse::products);
  EXPECT_EQ(through_a_layer(shared, x, kRows, ResultUse::products), all);
  for (const auto& [first, n] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {17, 40}, {74, 1}}) {
    const std::vector<float> some(x.begin() + first * kHidden, x.begin() + (first + n) * kHidden);
    const std::vector<float> part = through_a_layer(shared, some, n, ResultUse::products);
    EXPECT_TRUE(same_bits(part.data(), all.data() + first * kHidden, n * kHidden)) << first;
  }
}

}  // namespace
}  // namespace mplus::kernels
