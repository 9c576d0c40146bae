// Products with weights of one byte, whole numbers and small floats, on the device: against the product in
// double precision, beside products of f16, and the law that a row's bits depend on that row alone.
#include "mplus/core/numbers/float8.h"
#include "mplus/kernels/linear/adapter.h"
#include "mplus/kernels/linear/linear.h"
#include "tests/kernels/cuda/device_fixture.h"

namespace mplus::kernels {
namespace {

struct Case {
  std::int64_t T, inputs, outputs;
};

class CudaPacked : public DeviceTest {
 protected:
  struct Packed {
    Matrix matrix;
    std::vector<float> values;  // what the codes stand for
  };

  Packed packed(Random& random, std::int64_t outputs, std::int64_t inputs, DType type) {
    std::vector<std::uint8_t> codes;
    std::vector<float> scales = random.values(outputs), values;
    for (float& scale : scales) scale = std::abs(scale) * 0.01f + 0.001f;
    const std::vector<float> noise = random.values(std::min<std::int64_t>(outputs * inputs, 100'003));
    for (std::int64_t i = 0; i < outputs * inputs; ++i) {
      const float x = noise[index(i % std::ssize(noise))];
      codes.push_back(i == 0 ? 0x80 : code_of(x * 90, type));
      values.push_back(scales[index(i / inputs)] * value_of(codes.back(), type));
    }
    const Tensor there = room(type, {outputs, inputs});
    copy(queue(), there, ConstTensor(codes.data(), type, {outputs, inputs}));
    const Tensor factors = put(scales, {outputs});
    return {{there.data, type, outputs, inputs, static_cast<const float*>(factors.data), kDevice}, values};
  }

  static std::uint8_t code_of(float x, DType type) {
    if (type == DType::u8) return f32_to_e4m3(x);
    return static_cast<std::uint8_t>(static_cast<std::int8_t>(std::clamp(std::round(x), -127.0f, 127.0f)));
  }
  static float value_of(std::uint8_t code, DType type) {
    return type == DType::u8 ? e4m3_to_f32(code) : static_cast<float>(static_cast<std::int8_t>(code));
  }

  void check_case(const Case& c, DType type, Rows rows, bool accumulate) {
    Random random(static_cast<std::uint64_t>(c.T * 1'000'003 + c.inputs * 1009 + c.outputs));
    const Packed w = packed(random, c.outputs, c.inputs, type);
    const std::vector<float> x = random.values(c.T * c.inputs), before = random.values(c.T * c.outputs);
    const float scale = accumulate ? 0.37f : 1.0f;
    const Tensor out = put(before, {c.T, c.outputs});
    linear(queue(), out, put(x, {c.T, c.inputs}), w.matrix,
           {.accumulate = accumulate, .scale = scale, .rows = rows});
    const std::vector<float> found = back(out);
    // x is rounded to f16, and so are weights where they are unpacked; sums of n terms in f32.
    const double epsilon = 2 * 0x1p-11 + (static_cast<double>(c.inputs) + 8) * kEpsilon;
    for (std::int64_t t = 0; t<c.T; t += c.T> 80 ? 37 : 1)
      for (std::int64_t o = 0; o < c.outputs; ++o) {
        double sum = 0, magnitude = 0;
        for (std::int64_t i = 0; i < c.inputs; ++i) {
          const double term = static_cast<double>(w.values[index(o * c.inputs + i)]) *
                              static_cast<double>(x[index(t * c.inputs + i)]);
          sum += term;
          magnitude += std::abs(term);
        }
        const double start = accumulate ? static_cast<double>(before[index(t * c.outputs + o)]) : 0.0;
        const double wanted = start + static_cast<double>(scale) * sum;
        ASSERT_NEAR(static_cast<double>(found[index(t * c.outputs + o)]), wanted,
                    magnitude * epsilon + 4 * kEpsilon * (std::abs(start) + std::abs(wanted)))
            << "[" << c.outputs << ", " << c.inputs << "], row " << t << " of " << c.T << ", output " << o;
      }
    forget();
  }
};
INSTANTIATE_TEST_SUITE_P(Cuda, CudaPacked, testing::Values(Numerics::fast), numerics_of);

TEST_P(CudaPacked, EqualsTheProductInDoublePrecision) {
  const Case cases[] = {{1, 64, 4},     {1, 576, 192},   {2, 4096, 40},  {7, 128, 68},   {8, 576, 1536},
                        {9, 1536, 576}, {16, 64, 16},    {17, 576, 60},  {33, 2048, 36}, {64, 1536, 68},
                        {70, 576, 192}, {300, 1536, 64}, {1, 576, 9000}, {3, 128, 9000}, {1, 14336, 33}};
  for (const Case& c : cases)
    for (const DType type : {DType::i8, DType::u8})
      for (const Rows rows : {Rows::few, Rows::some, Rows::batched})
        for (const bool accumulate : {false, true}) {
          check_case(c, type, rows, accumulate);
          if (HasFatalFailure()) return;
        }
}

TEST_P(CudaPacked, BitsOfARowDependOnTheRowAlone) {
  for (const Case& c : {Case{150, 576, 200}, {150, 4096, 1024}, {150, 1536, 576}, {150, 14336, 40}}) {
    Random random(6);
    const Packed w = packed(random, c.outputs, c.inputs, c.inputs == 4096 ? DType::u8 : DType::i8);
    const Tensor all = put(random.values(c.T * c.inputs), {c.T, c.inputs}),
                 out = room(DType::f32, {c.T, c.outputs});
    for (const Rows rows : {Rows::some, Rows::batched}) {
      linear(queue(), out, all, w.matrix, {.rows = rows});
      const std::vector<float> whole = back(out);
      for (const std::int64_t T : {1, 8, 9, 16, 17, 33, 64, 65, 128}) {
        const std::int64_t from = (c.T - T) / 2;
        linear(queue(), out.rows(0, T), all.rows(from, T), w.matrix, {.rows = rows});
        const std::vector<float> part = back(out.rows(0, T));
        ASSERT_TRUE(same_bits(part.data(), &whole[index(from * c.outputs)], T * c.outputs)) << T << " rows";
      }
    }
    forget();
  }
}

// With low-rank additions of f16, and gated, as a layer has them.
TEST_P(CudaPacked, AdaptedProductsAreThoseOfTheirParts) {
  const std::int64_t inputs = 576, outputs = 192, rank = 16;
  for (const auto& [T, rows, type] : {std::tuple<std::int64_t, Rows, DType>{1, Rows::few, DType::i8},
                                      {1, Rows::few, DType::u8},
                                      {2, Rows::few, DType::u8},
                                      {30, Rows::some, DType::i8},
                                      {100, Rows::batched, DType::u8}}) {
    Random random(static_cast<std::uint64_t>(T));
    const Tensor x = put(random.values(T * inputs), {T, inputs});
    const Packed base[] = {packed(random, outputs, inputs, type), packed(random, outputs, inputs, type)};
    std::vector<float> a = random.values(rank * inputs), b = random.values(outputs * rank);
    const Matrix inner = weights(a, DType::f16, rank, inputs), outer = weights(b, DType::f16, outputs, rank);
    const auto output = [&, T = T](std::size_t i) {
      return AdaptedOutput{room(DType::f32, {T, outputs}),
                           &base[i].matrix,
                           {inner, outer, 0.5f, room(DType::f32, {T, rank})},
                           false};
    };
    const AdaptedOutput one = output(0), gated[] = {output(0), output(1)};
    linear_adapted(queue(), x, {&one, 1}, rows);
    const Tensor plain = room(DType::f32, {T, outputs}), low = room(DType::f32, {T, rank});
    linear(queue(), plain, x, base[0].matrix, {.rows = rows});
    linear(queue(), low, x, inner, {.rows = rows});
    const std::vector<float> found = back(one.out), sums = back(plain), lows = back(low);
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t o = 0; o < outputs; ++o) {
        double wanted = static_cast<double>(sums[index(t * outputs + o)]), magnitude = std::abs(wanted);
        for (std::int64_t r = 0; r < rank; ++r) {
          const double term = 0.5 * static_cast<double>(lows[index(t * rank + r)]) *
                              static_cast<double>(b[index(o * rank + r)]);
          wanted += term;
          magnitude += std::abs(term);
        }
        ASSERT_NEAR(static_cast<double>(found[index(t * outputs + o)]), wanted, 64 * kEpsilon * magnitude);
      }
    swiglu_adapted(queue(), x, gated[0], gated[1], rows);
    for (const float y : back(gated[0].out)) ASSERT_TRUE(std::isfinite(y));
    forget();
  }
}

}  // namespace
}  // namespace mplus::kernels
