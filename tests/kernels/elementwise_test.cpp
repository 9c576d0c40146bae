#include <bit>

#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/rows/convert.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

class ElementwiseTest : public IsaTest {};
MPLUS_FOR_EVERY_ISA(ElementwiseTest);

constexpr std::int64_t kSizes[] = {0, 1, 3, 4, 7, 16, 31, 33, 64, 576, 1001, 70'000};

TEST_P(ElementwiseTest, RmsNormEqualsItsDefinition) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::exact);
  for (const std::int64_t T : {0, 1, 5, 130}) {
    for (const std::int64_t d : {1, 2, 15, 64, 77, 576}) {
      Random random(static_cast<std::uint64_t>(T * 1000 + d));
      const std::vector<float> x = random.values(T * d, 30.0f), weight = random.values(d);
      std::vector<float> out(x.size());
      const ConstTensor scale = floats(weight, {d});
      cpu::rms_norm(queue, floats(out, {T, d}), floats(x, {T, d}), scale, 1e-5f);
      for (std::int64_t t = 0; t < T; ++t) {
        double squares = 0.0;
        for (std::int64_t i = 0; i < d; ++i)
          squares += std::pow(static_cast<double>(x[static_cast<std::size_t>(t * d + i)]), 2);
        const double factor = 1.0 / std::sqrt(squares / static_cast<double>(d) + static_cast<double>(1e-5f));
        for (std::int64_t i = 0; i < d; ++i) {
          const auto at = static_cast<std::size_t>(t * d + i);
          const double wanted =
              static_cast<double>(x[at]) * factor * static_cast<double>(weight[static_cast<std::size_t>(i)]);
          // The sum's relative error halves under the root; division, root and two products follow.
          const double bound = kEpsilon * (static_cast<double>(d) / 2.0 + 6.0) * std::abs(wanted);
          ASSERT_NEAR(out[at], wanted, bound) << T << " rows of " << d;
        }
      }
      std::vector<float> in_place = x;
      const Tensor both = floats(in_place, {T, d});
      cpu::rms_norm(queue, both, both, scale, 1e-5f);
      ASSERT_TRUE(same_bits(in_place.data(), out.data(), T * d));
    }
  }
}

double silu_of(double x) { return x / (1.0 + std::exp(-x)); }

// exp within 2 ulp (4 epsilon), its argument's rounding none; sum, quotient and product one each. Where e^-x
// leaves the range of f32, sigmoid is below 2^-128 and may be taken for zero.
double silu_bound(double x, double wanted) {
  return 10.0 * kEpsilon * std::abs(wanted) + 0x1p-127 * std::abs(x);
}

TEST_P(ElementwiseTest, SiluAndSwigluEqualTheirDefinitions) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::exact);
  for (const std::int64_t n : kSizes) {
    Random random(static_cast<std::uint64_t>(n));
    std::vector<float> gate = random.values(n, n > 1000 ? 100.0f : 8.0f);
    const std::vector<float> up = random.values(n);
    std::vector<float> out(gate.size()), alone = gate;
    cpu::swiglu(queue, out.data(), gate.data(), up.data(), n);
    cpu::silu(queue, alone.data(), n);
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const auto x = static_cast<double>(gate[i]);
      const double wanted = silu_of(x);
      ASSERT_NEAR(alone[i], wanted, silu_bound(x, wanted)) << "silu(" << gate[i] << ")";
      const double product = wanted * static_cast<double>(up[i]);
      ASSERT_NEAR(out[i], product, silu_bound(x, wanted)) << "gate " << gate[i] << ", up " << up[i];
    }
    cpu::swiglu(queue, gate.data(), gate.data(), up.data(), n);
    ASSERT_TRUE(same_bits(gate.data(), out.data(), n)) << "in place";
  }
}

TEST_P(ElementwiseTest, AnElementsBitsDoNotDependOnItsPlace) {
  ThreadPool pool(1);
  Queue queue(pool, Numerics::exact);
  Random random(5);
  const std::vector<float> x = random.values(100, 9.0f);
  std::vector<float> whole = x;
  cpu::silu(queue, whole.data(), 100);
  for (std::int64_t i = 0; i < 100; ++i) {
    float one = x[static_cast<std::size_t>(i)];
    cpu::silu(queue, &one, 1);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(one),
              std::bit_cast<std::uint32_t>(whole[static_cast<std::size_t>(i)]));
  }
}

TEST_P(ElementwiseTest, AdditionsAreExact) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::exact);
  for (const std::int64_t n : kSizes) {
    Random random(static_cast<std::uint64_t>(n));
    const std::vector<float> x = random.values(n), y = random.values(n);
    std::vector<float> out = x;
    cpu::add_row(queue, out.data(), y.data(), 1, n);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], x[i] + y[i]);
  }
  for (const std::int64_t T : {0, 1, 9, 300}) {
    for (const std::int64_t d : {1, 19, 576}) {
      Random random(static_cast<std::uint64_t>(T + d));
      const std::vector<float> x = random.values(T * d), row = random.values(d);
      std::vector<float> out = x;
      cpu::add_row(queue, out.data(), row.data(), T, d);
      for (std::int64_t i = 0; i < T * d; ++i)
        ASSERT_EQ(out[static_cast<std::size_t>(i)],
                  x[static_cast<std::size_t>(i)] + row[static_cast<std::size_t>(i % d)]);
    }
  }
}

TEST_P(ElementwiseTest, RopeTurnsPairsByTheirAngle) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::exact);
  for (const std::int64_t half : {1, 4, 7, 32}) {
    Random random(static_cast<std::uint64_t>(half));
    std::vector<float> frequencies;
    for (std::int64_t i = 0; i < half; ++i) frequencies.push_back(std::abs(random.value()));
    RopeTable table(frequencies);
    table.reserve(20);
    table.reserve(9000);
    ASSERT_GE(table.positions(), 9000);
    ASSERT_EQ(table.half(), half);
    for (const std::int64_t T : {0, 1, 6, 200}) {
      const std::int64_t heads = 3, stride = heads * 2 * half + 5, first = 8000;
      const std::vector<float> x = random.values(T * stride);
      std::vector<float> out = x;
      Tensor rows = floats(out, {T, stride});
      rows.shape[1] = heads * 2 * half;
      rope(queue, rows, table, first);
      for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t i = 0; i < stride; ++i) {
          const auto at = static_cast<std::size_t>(t * stride + i);
          if (i >= heads * 2 * half) {
            ASSERT_EQ(out[at], x[at]) << "past the heads";
            continue;
          }
          const std::int64_t in_head = i % (2 * half), pair = in_head % half;
          const std::size_t low = at - static_cast<std::size_t>(in_head - pair),
                            high = low + static_cast<std::size_t>(half);
          const auto angle = static_cast<double>(static_cast<float>(first + t) *
                                                 frequencies[static_cast<std::size_t>(pair)]);
          const double c = std::cos(angle), s = std::sin(angle), a = static_cast<double>(x[low]),
                       b = static_cast<double>(x[high]);
          ASSERT_NEAR(out[at], in_head < half ? a * c - b * s : b * c + a * s,
                      4.0 * kEpsilon * (std::abs(a) + std::abs(b)));
        }
      }
    }
  }
}

// Every f16 and bf16 there is, both ways, against the bit-exact statements in core.
TEST_P(ElementwiseTest, ConversionsAreExact) {
  std::vector<std::uint16_t> halves(65'536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const auto n = static_cast<std::int64_t>(halves.size());
  std::vector<float> wide(halves.size());
  std::vector<std::uint16_t> back(halves.size());
  for (const DType dtype : {DType::f16, DType::bf16}) {
    to_f32(wide.data(), halves.data(), dtype, n);
    from_f32(back.data(), dtype, wide.data(), n);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const float wanted = dtype == DType::f16 ? f16_to_f32(halves[i]) : bf16_to_f32(halves[i]);
      if (std::isnan(wanted)) {
        ASSERT_TRUE(std::isnan(wide[i])) << i;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(wanted)) << i;
        ASSERT_EQ(back[i], halves[i]);
      }
    }
  }
}

TEST_P(ElementwiseTest, RoundingIsToNearestEven) {
  Random random(3);
  for (const std::int64_t n : {0, 1, 5, 17, 4099}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (float& v : x) {
      const std::uint32_t bits = random.bits();  // all magnitudes, with ties made likely
      v = std::bit_cast<float>((bits & 7) == 0 ? bits & 0xfffff000u : bits);
      if (std::isnan(v)) v = 1.0f;
    }
    std::vector<std::uint16_t> out(x.size());
    from_f32(out.data(), DType::f16, x.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], f32_to_f16(x[i])) << x[i];
    from_f32(out.data(), DType::bf16, x.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], f32_to_bf16(x[i])) << x[i];
    std::vector<float> same(x.size());
    from_f32(same.data(), DType::f32, x.data(), n);
    ASSERT_TRUE(same_bits(same.data(), x.data(), n));
  }
}

}  // namespace
}  // namespace mplus::kernels
