#include "mplus/kernels/cpu/ops/operations.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/io/weights/dequantise.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

constexpr DType kTypes[] = {DType::f32,  DType::f16,  DType::bf16, DType::i8,   DType::q8_0, DType::q4_0,
                            DType::q4_1, DType::q5_0, DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k};
bool has_minimum(DType t) {
  return t == DType::q4_1 || t == DType::q5_1 || t == DType::q4_k || t == DType::q5_k;
}

// Whether fast numerics rounds the activations of weights of this type and width.
bool meets_integers(DType t, std::int64_t inputs) {
  return is_quantised(t) || (t == DType::i8 && inputs % 32 == 0);
}

class LinearTest : public IsaTest {};
MPLUS_FOR_EVERY_ISA(LinearTest);

struct Case {
  std::int64_t T, inputs, outputs;
};

// What fast numerics may add. Values are rounded to multiples of max|x|/most: half a step for each, and the
// rounding of the step itself. Values whose step is below 2^-120 count as zero.
double rounding_error(double largest, double most) {
  const double step = largest / most;
  return step < 0x1p-120 ? largest : step * (0.5 + most * 4.0 * kEpsilon);
}

// How products are made: in f32, of activations as integers, or of both factors rounded: to bf16, x to two
// terms of it, or to integers of 14 bits (64 columns of x) and of 13 (weights of an output).
enum class Path { f32, i8, bf16, terms, i16 };
constexpr double kBf16 = 0x1p-8;             // half a step of x and of w, relative to their product
constexpr double kTerms = 0x1p-9 + 0x1p-16;  // half a step of w, and what both terms leave of x
constexpr double kSmallest = 0x1p-125;       // what is smaller may count as zero there
constexpr std::int64_t kScaled = 64;
constexpr double kMostX = 8191, kMostWeight = 4095;

Path path_of(const Queue& queue, DType dtype, std::int64_t inputs, Rows rows) {
  if (queue.numerics() == Numerics::exact || !meets_integers(dtype, inputs)) return Path::f32;
  if (rows == Rows::few || table().batched_rounded == nullptr) return Path::i8;
  if (rows == Rows::some && table().short_rows > 0) return Path::i8;
  if (isa_name() == "avx512amx") return Path::terms;
  return isa_name().starts_with("neon") ? Path::bf16 : Path::i16;
}

std::vector<double> activation_errors(const float* x, std::int64_t inputs, Path path) {
  std::vector<double> errors(static_cast<std::size_t>(inputs));
  if (path == Path::f32) return errors;
  if (path == Path::bf16 || path == Path::terms) {
    const double step = path == Path::bf16 ? kBf16 : kTerms;
    for (std::size_t i = 0; i < errors.size(); ++i)
      errors[i] = step * std::abs(static_cast<double>(x[i])) + kSmallest;
    return errors;
  }
  const std::int64_t block = path == Path::i16 ? kScaled : 32;
  for (std::int64_t b = 0; b < inputs; b += block) {
    double largest = 0.0;
    for (std::int64_t i = b; i < std::min(inputs, b + block); ++i)
      largest = std::max(largest, std::abs(static_cast<double>(x[i])));
    const double error =
        path == Path::i16 ? rounding_error(largest, kMostX) : rounding_error(largest, 16256.0);
    for (std::int64_t i = b; i < std::min(inputs, b + block); ++i)
      errors[static_cast<std::size_t>(i)] = error;
  }
  return errors;
}

// Of an output's weights as integers. Their step follows from the largest weight that the codes of its blocks
// allow for, which random codes come near: at most twice the largest there is, and its parts.
double weight_error(const Weights& w, std::int64_t o, Path path) {
  if (path != Path::i16 || w.dtype == DType::i8) return 0.0;
  double largest = has_minimum(w.dtype) ? 2.0 : 0.0;
  for (std::int64_t i = 0; i < w.cols; ++i)
    largest = std::max(largest,
                       (has_minimum(w.dtype) ? 2.0 : 0.0) +
                           std::abs(static_cast<double>(w.values[static_cast<std::size_t>(o * w.cols + i)])));
  return rounding_error(2.0 * largest, kMostWeight);
}

// A chain of n fused or separate f32 operations errs by at most (n + 2) * epsilon * Σ|terms|, plus, in fast
// numerics, Σ |w| * (error of x), where the error of a weight in bf16 counts as one of x. Types with a
// minimum sum scale * q and it apart there: |scale * q| + |minimum| can be larger than |w|; both are below
// the block's bound used here.
void check_row(const Weights& w, const float* x, const float* out, const float* before, float scale,
               Path path) {
  const std::vector<double> errors = activation_errors(x, w.cols, path);
  for (std::int64_t o = 0; o < w.rows; ++o) {
    const double of_weights = weight_error(w, o, path);
    double exact = 0.0, magnitude = 0.0, rounding = 0.0;
    for (std::int64_t i = 0; i < w.cols; ++i) {
      const auto weight = static_cast<double>(w.values[static_cast<std::size_t>(o * w.cols + i)]);
      const auto at = static_cast<double>(x[i]);
      exact += weight * at;
      const double parts = has_minimum(w.dtype) ? 2.0 + std::abs(weight) : std::abs(weight);
      magnitude += parts * (std::abs(at) + errors[static_cast<std::size_t>(i)]);
      const double of_x = errors[static_cast<std::size_t>(i)];
      rounding += std::abs(weight) * of_x + of_weights * (std::abs(at) + of_x);
    }
    const double start = before == nullptr ? 0.0 : static_cast<double>(before[o]);
    const double wanted = start + static_cast<double>(scale) * exact;
    const double bound = std::abs(static_cast<double>(scale)) *
                             ((static_cast<double>(w.cols) + 8.0) * kEpsilon * magnitude + rounding) +
                         2.0 * kEpsilon * (std::abs(start) + std::abs(wanted));
    ASSERT_LE(std::abs(static_cast<double>(out[o]) - wanted), bound)
        << dtype_name(w.dtype) << " output " << o << " of " << w.rows << ", " << w.cols << " inputs";
  }
}

void check_case(Queue& queue, DType dtype, const Case& c, Rows rows, bool accumulate) {
  Random random(static_cast<std::uint64_t>(c.T * 1'000'003 + c.inputs * 1009 + c.outputs));
  const Weights w = random_weights(random, dtype, c.outputs, c.inputs);
  const std::vector<float> x = random.values(c.T * c.inputs);
  const std::int64_t stride = c.outputs + 3;
  const std::vector<float> before = random.values(c.T * stride);
  std::vector<float> out = before;
  const float scale = accumulate ? 0.37f : 1.0f;
  const Matrix matrix = w.matrix();
  const cpu::Product product{
      out.data(), &matrix, {.accumulate = accumulate, .scale = scale, .rows = rows}, stride};
  cpu::linear(queue, x.data(), c.T, {&product, 1});
  const Path path = path_of(queue, dtype, c.inputs, rows);
  for (std::int64_t t = 0; t < c.T; ++t) {
    const float* row = out.data() + t * stride;
    check_row(w, x.data() + t * c.inputs, row, accumulate ? before.data() + t * stride : nullptr, scale,
              path);
    ASSERT_TRUE(same_bits(row + c.outputs, before.data() + t * stride + c.outputs, 3))
        << "wrote past row " << t;
  }
}

TEST_P(LinearTest, EqualsTheProductInDoublePrecision) {
  ThreadPool pool(2);
  const Case block_cases[] = {{0, 32, 5},   {1, 32, 1},    {1, 96, 7},    {2, 64, 48},
                              {3, 32, 49},  {5, 128, 33},  {17, 96, 50},  {1, 576, 96},
                              {31, 64, 97}, {300, 32, 19}, {33, 1088, 70}};
  const Case plain_cases[] = {{1, 1, 1}, {1, 33, 3}, {4, 0, 6}, {7, 31, 2}, {9, 5, 101}, {20, 67, 47}};
  for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
    Queue queue(pool, numerics);
    for (const DType dtype : kTypes)
      for (const Rows rows : {Rows::few, Rows::some, Rows::batched})
        for (const bool accumulate : {false, true}) {
          for (Case c : block_cases) {
            if (block_elements(dtype) == kSuperBlock) c.inputs = (c.inputs + 255) / 256 * 256;
            check_case(queue, dtype, c, rows, accumulate);
          }
          if (is_quantised(dtype)) continue;
          for (const Case& c : plain_cases) check_case(queue, dtype, c, rows, accumulate);
        }
  }
}

// The law of the write pass: a batched row has the same bits alone, among any neighbours, on any threads.
TEST_P(LinearTest, BatchedBitsDependOnTheRowAlone) {
  constexpr std::int64_t kOutputs = 203, kRows = 75;
  for (const auto& [numerics, rows] :
       {std::pair{Numerics::exact, Rows::batched}, std::pair{Numerics::fast, Rows::batched},
        std::pair{Numerics::fast, Rows::some}}) {
    for (const DType dtype : kTypes) {
      const std::int64_t kInputs = block_elements(dtype) == kSuperBlock ? 256 : 160;
      Random random(7);
      const Weights w = random_weights(random, dtype, kOutputs, kInputs);
      const std::vector<float> x = random.values(kRows * kInputs);
      std::vector<float> whole(kRows * kOutputs), part(kRows * kOutputs);
      ThreadPool one(1), three(3);
      Queue alone(one, numerics), shared(three, numerics);
      const LinearOptions batched{.rows = rows};
      cpu::linear(alone, whole.data(), x.data(), kRows, w.matrix(), batched);
      cpu::linear(shared, part.data(), x.data(), kRows, w.matrix(), batched);
      ASSERT_TRUE(same_bits(whole.data(), part.data(), kRows * kOutputs)) << dtype_name(dtype);
      for (const std::int64_t T : {1, 2, 3, 5, 13, 66}) {
        const std::int64_t from = kRows - T;
        cpu::linear(shared, part.data(), x.data() + from * kInputs, T, w.matrix(), batched);
        ASSERT_TRUE(same_bits(whole.data() + from * kOutputs, part.data(), T * kOutputs))
            << dtype_name(dtype) << ", " << T << " rows";
      }
    }
  }
}

TEST_P(LinearTest, OneRowHasTheSameBitsOnAnyThreads) {
  for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
    for (const DType dtype : kTypes) {
      Random random(8);
      const std::int64_t inputs = block_elements(dtype) == kSuperBlock ? 512 : 576;
      const Weights w = random_weights(random, dtype, 1030, inputs);
      const std::vector<float> x = random.values(inputs);
      std::vector<float> a(1030), b(1030);
      ThreadPool one(1), three(3);
      Queue alone(one, numerics), shared(three, numerics);
      cpu::linear(alone, a.data(), x.data(), 1, w.matrix());
      cpu::linear(shared, b.data(), x.data(), 1, w.matrix());
      ASSERT_TRUE(same_bits(a.data(), b.data(), 1030)) << dtype_name(dtype);
    }
  }
}

// Products of one x in one call: each has the bits it has alone.
TEST_P(LinearTest, ProductsTogetherHaveTheBitsOfEachAlone) {
  ThreadPool pool(3);
  constexpr std::int64_t kInputs = 256;
  const std::int64_t widths[] = {40, 203, 1, 7, 64, 530};
  const DType types[] = {DType::q4_1, DType::i8, DType::q6_k, DType::f32, DType::q4_0, DType::q8_0};
  for (const Numerics numerics : {Numerics::exact, Numerics::fast})
    for (const Rows rows : {Rows::few, Rows::some, Rows::batched})
      for (const std::int64_t T : {0, 1, 2, 9, 70}) {
        Queue queue(pool, numerics);
        Random random(21);
        const std::vector<float> x = random.values(T * kInputs);
        std::vector<Weights> weights;
        std::vector<Matrix> matrices;
        std::vector<std::vector<float>> alone, together;
        std::vector<cpu::Product> products;
        for (std::size_t i = 0; i < 6; ++i)
          weights.push_back(random_weights(random, types[i], widths[i], kInputs));
        for (const Weights& w : weights) matrices.push_back(w.matrix());
        for (std::size_t i = 0; i < 6; ++i) {
          alone.push_back(random.values(T * widths[i]));
          together.push_back(alone.back());
          const LinearOptions options{.accumulate = i % 2 == 1, .scale = 0.5f, .rows = rows};
          cpu::linear(queue, alone.back().data(), x.data(), T, matrices[i], options);
          products.push_back({.out = together.back().data(), .w = &matrices[i], .options = options});
        }
        cpu::linear(queue, x.data(), T, products);
        for (std::size_t i = 0; i < 6; ++i)
          ASSERT_TRUE(same_bits(alone[i].data(), together[i].data(), T * widths[i]))
              << dtype_name(types[i]) << ", " << T << " rows";
      }
}

// Integer dot products at their largest: every product of a block at ±128 * 127.
TEST_P(LinearTest, IntegerDotsDoNotSaturate) {
  ThreadPool pool(1);
  Queue queue(pool, Numerics::fast);
  constexpr std::int64_t kOutputs = 20, kInputs = 64;
  Random random(1);
  Weights w = random_weights(random, DType::q8_0, kOutputs, kInputs);
  for (std::size_t b = 0; b < w.bytes.size(); b += 34) {
    const std::uint16_t one = f32_to_f16(1.0f);
    std::memcpy(&w.bytes[b], &one, 2);
    for (std::size_t i = 2; i < 34; ++i) w.bytes[b + i] = std::byte{0x80};
  }
  const std::vector<float> x(2 * kInputs, 127.0f);  // scale 1, q = 127: exact
  std::vector<float> out(2 * kOutputs);
  for (const std::int64_t T : {1, 2}) {
    cpu::linear(queue, out.data(), x.data(), T, w.matrix());
    for (std::int64_t i = 0; i < T * kOutputs; ++i)
      ASSERT_EQ(out[static_cast<std::size_t>(i)], -128.0f * 127.0f * kInputs);
  }
}

// The same of the types with codes: every bit set, or none where that makes the largest code.
TEST_P(LinearTest, CodesDoNotSaturate) {
  ThreadPool pool(1);
  constexpr std::int64_t kOutputs = 20, kInputs = 512;
  const std::vector<float> x(2 * kInputs, 127.0f);
  for (const DType dtype : {DType::q5_0, DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k})
    for (const std::byte bits : {std::byte{0}, std::byte{0xff}}) {
      Random random(1);
      Weights w = random_weights(random, dtype, kOutputs, kInputs);
      std::fill(w.bytes.begin(), w.bytes.end(), bits);
      for (std::size_t b = 0; b < w.bytes.size(); b += block_bytes(dtype)) {
        const std::uint16_t one = f32_to_f16(1.0f);
        const bool last = dtype == DType::q6_k;
        std::memcpy(&w.bytes[b + (last ? block_bytes(dtype) - 2 : 0)], &one, 2);
        if (has_minimum(dtype)) std::memcpy(&w.bytes[b + 2], &one, 2);
        if (last) std::memset(&w.bytes[b + 192], 0x80, 16);  // scales of -128
      }
      io::dequantise_row(w.values.data(), w.matrix(), 0);
      double expected = 0;  // integers: exact
      for (std::int64_t i = 0; i < kInputs; ++i)
        expected += 127.0 * static_cast<double>(w.values[static_cast<std::size_t>(i)]);
      Queue queue(pool, Numerics::fast);
      std::vector<float> out(2 * kOutputs);
      for (const std::int64_t T : {1, 2}) {
        cpu::linear(queue, out.data(), x.data(), T, w.matrix());
        for (std::int64_t i = 0; i < T * kOutputs; ++i)
          ASSERT_EQ(static_cast<double>(out[static_cast<std::size_t>(i)]), expected)
              << dtype_name(dtype) << ", " << T << " rows";
      }
    }
}

TEST_P(LinearTest, ZeroAndTinyInputsStayFinite) {
  ThreadPool pool(1);
  Queue queue(pool, Numerics::fast);
  Random random(2);
  const Weights w = random_weights(random, DType::q4_1, 5, 32);
  for (const float tiny : {0.0f, 1e-45f, 1e-38f, 1e-30f}) {
    const std::vector<float> x(32, tiny);
    std::vector<float> out(5, std::numeric_limits<float>::quiet_NaN());
    cpu::linear(queue, out.data(), x.data(), 1, w.matrix());
    check_row(w, x.data(), out.data(), nullptr, 1.0f, Path::i8);
  }
}

// Damaged weights must show: int8 has no NaN, and an input that became an integer would hide it.
TEST_P(LinearTest, WhatIsNoNumberStaysNone) {
  ThreadPool pool(2);
  constexpr std::int64_t kOutputs = 37, kInputs = 256, kRows = 9;
  for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
    Queue queue(pool, numerics);
    for (const DType dtype : kTypes)
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
        for (const std::int64_t T : {std::int64_t{1}, kRows}) {
          Random random(3);
          const Weights w = random_weights(random, dtype, kOutputs, kInputs);
          std::vector<float> x = random.values(T * kInputs);
          x[static_cast<std::size_t>((T - 1) * kInputs + 40)] = bad;  // the first of its lanes is fine
          std::vector<float> out(static_cast<std::size_t>(T * kOutputs));
          cpu::linear(queue, out.data(), x.data(), T, w.matrix());
          for (std::int64_t i = 0; i < T * kOutputs; ++i)
            ASSERT_EQ(std::isfinite(out[static_cast<std::size_t>(i)]), i < (T - 1) * kOutputs)
                << dtype_name(dtype) << ", row " << i / kOutputs << " of " << T << ", output "
                << i % kOutputs;
        }
  }
}

TEST(Linear, RefusesWhatItCannotMultiply) {
  ThreadPool pool(1);
  Queue queue(pool, Numerics::exact);
  const std::vector<float> x(64), data(64);
  std::vector<float> out(64);
  try {
    cpu::linear(queue, out.data(), x.data(), 1, Matrix{data.data(), DType::i64, 1, 8, nullptr});
    FAIL() << "i64 weights were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
  try {
    cpu::linear(queue, out.data(), x.data(), 1, Matrix{data.data(), DType::q8_0, 1, 33, nullptr});
    FAIL() << "half a block was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace mplus::kernels
