// Products on the device against the product in double precision, and the law of the write pass.
#include "mplus/kernels/linear/linear.h"

#include "mplus/kernels/linear/activation.h"
#include "mplus/kernels/linear/adapter.h"
#include "mplus/kernels/linear/norm.h"
#include "mplus/kernels/rows/rows.h"
#include "tests/kernels/cuda/device_fixture.h"

namespace mplus::kernels {
namespace {

struct Case {
  std::int64_t T, inputs, outputs;
};

class CudaLinear : public DeviceTest {
 protected:
  std::vector<DType> types() const {
    if (exact()) return {DType::f32, DType::bf16};
    return {DType::bf16, DType::f16, DType::f32};
  }
  // x is rounded to the weights' type at most; sums of n terms in f32, in any order.
  void check_case(DType type, const Case& c, Rows rows, bool accumulate) {
    Random random(static_cast<std::uint64_t>(c.T * 1'000'003 + c.inputs * 1009 + c.outputs));
    std::vector<float> w = random.values(c.outputs * c.inputs), x = random.values(c.T * c.inputs);
    const std::int64_t stride = c.outputs + 4;
    const std::vector<float> before = random.values(c.T * stride);
    const float scale = accumulate ? 0.37f : 1.0f;
    const Matrix matrix = weights(w, type, c.outputs, c.inputs);
    const Tensor all = put(before, {c.T, stride});
    linear(queue(), all.part(1, 0, c.outputs), put(x, {c.T, c.inputs}), matrix,
           {.accumulate = accumulate, .scale = scale, .rows = rows});
    const std::vector<float> found = back(all);
    const double epsilon =
        (exact() ? 0.0 : half_epsilon(type)) + (static_cast<double>(c.inputs) + 8) * kEpsilon;
    for (std::int64_t t = 0; t < c.T; ++t) {
      for (std::int64_t o = 0; o < c.outputs; ++o) {
        double sum = 0, magnitude = 0;
        for (std::int64_t i = 0; i < c.inputs; ++i) {
          const double term = static_cast<double>(w[index(o * c.inputs + i)]) *
                              static_cast<double>(x[index(t * c.inputs + i)]);
          sum += term;
          magnitude += std::abs(term);
        }
        const double start = accumulate ? static_cast<double>(before[index(t * stride + o)]) : 0.0;
        const double wanted = start + static_cast<double>(scale) * sum;
        const double bound = std::abs(static_cast<double>(scale)) * magnitude * epsilon +
                             4 * kEpsilon * (std::abs(start) + std::abs(wanted));
        ASSERT_LE(std::abs(static_cast<double>(found[index(t * stride + o)]) - wanted), bound)
            << dtype_name(type) << " [" << c.outputs << ", " << c.inputs << "], row " << t << " of " << c.T
            << ", output " << o << (rows == Rows::few ? ", few" : ", batched");
      }
      ASSERT_TRUE(same_bits(&found[index(t * stride + c.outputs)], &before[index(t * stride + c.outputs)], 4))
          << "wrote past row " << t;
    }
    forget();
  }
};
MPLUS_FOR_BOTH_NUMERICS(CudaLinear);

TEST_P(CudaLinear, EqualsTheProductInDoublePrecision) {
  const Case cases[] = {{0, 32, 5},    {1, 1, 1},      {1, 32, 1},     {2, 33, 7},    {3, 64, 48},
                        {5, 16, 130},  {8, 96, 17},    {9, 160, 203},  {16, 576, 96}, {17, 64, 64},
                        {31, 576, 61}, {64, 40, 100},  {65, 128, 129}, {130, 96, 68}, {1, 4096, 16},
                        {4, 4096, 72}, {33, 2048, 16}, {12, 1536, 80}, {1, 100, 40},  {1, 130, 40}};
  for (const DType type : types())
    for (const Case& c : cases)
      for (const Rows rows : {Rows::few, Rows::some, Rows::batched})
        for (const bool accumulate : {false, true}) {
          check_case(type, c, rows, accumulate);
          if (HasFatalFailure()) return;
        }
}

// Short prompts: a row's bits are the same alone, among few and among many, as those of a token.
TEST_P(CudaLinear, BitsOfSomeRowsDependOnTheRowAlone) {
  for (const Case& c : {Case{200, 576, 200}, {200, 64, 16}, {200, 4096, 4096}, {130, 14336, 80}}) {
    Random random(6);
    std::vector<float> w = random.values(std::min<std::int64_t>(c.outputs * c.inputs, 1 << 20));
    while (std::ssize(w) < c.outputs * c.inputs)
      w.insert(w.end(), w.begin(), w.begin() + std::min(std::ssize(w), c.outputs * c.inputs - std::ssize(w)));
    const Matrix matrix = weights(w, exact() ? DType::f32 : DType::bf16, c.outputs, c.inputs);
    const Tensor all = put(random.values(c.T * c.inputs), {c.T, c.inputs}),
                 out = room(DType::f32, {c.T, c.outputs});
    linear(queue(), out, all, matrix, {.rows = Rows::some});
    const std::vector<float> whole = back(out);
    for (const std::int64_t T : {1, 7, 8, 9, 16, 17, 32, 33, 64, 65, 128}) {
      const std::int64_t from = (c.T - T) / 2;
      for (const Rows rows : {Rows::some, Rows::few}) {
        if (rows == Rows::few && T > 64) continue;
        linear(queue(), out.rows(0, T), all.rows(from, T), matrix, {.rows = rows});
        const std::vector<float> part = back(out.rows(0, T));
        ASSERT_TRUE(same_bits(part.data(), &whole[index(from * c.outputs)], T * c.outputs))
            << "[" << c.outputs << ", " << c.inputs << "]: " << T << " rows";
      }
    }
    forget();
  }
}

// A row's bits in a batch of 1, 2 and 16 sessions, for the shapes of the default model and of 8B.
TEST_P(CudaLinear, BatchedBitsDependOnTheRowAlone) {
  const Case small[] = {{0, 576, 576}, {0, 576, 192}, {0, 576, 1536}, {0, 1536, 576},
                        {0, 576, 16},  {0, 16, 576},  {0, 577, 33},   {0, 128, 64}};
  const Case large[] = {{0, 4096, 4096}, {0, 4096, 1024}, {0, 4096, 14336}, {0, 14336, 4096},
                        {0, 4096, 16},   {0, 16, 1024},   {0, 4096, 512}};
  std::vector<Case> cases(std::begin(small), std::end(small));
  if (!exact()) cases.insert(cases.end(), std::begin(large), std::end(large));
  const std::int64_t rows = exact() ? 500 : 16 * 512;
  for (const Case& c : cases) {
    Random random(5);
    std::vector<float> w = random.values(std::min<std::int64_t>(c.outputs * c.inputs, 1 << 20));
    while (std::ssize(w) < c.outputs * c.inputs)
      w.insert(w.end(), w.begin(), w.begin() + std::min(std::ssize(w), c.outputs * c.inputs - std::ssize(w)));
    std::vector<float> x = random.values(1'000'003);
    while (std::ssize(x) < rows * c.inputs)
      x.insert(x.end(), x.begin(), x.begin() + std::min(std::ssize(x), rows * c.inputs - std::ssize(x)));
    x.resize(index(rows * c.inputs));
    const Matrix matrix = weights(w, exact() ? DType::f32 : DType::bf16, c.outputs, c.inputs);
    const Tensor all = put(x, {rows, c.inputs}), out = room(DType::f32, {rows, c.outputs});
    linear(queue(), out, all, matrix, {.rows = Rows::batched});
    const std::vector<float> whole = back(out);
    for (const std::int64_t T : {1, 2, 3, 8, 17, 130, 300, 512, 768, 1024, 1536}) {
      if (T > rows) continue;
      for (const std::int64_t from : {std::int64_t{0}, (rows - T) / 2, rows - T}) {
        linear(queue(), out.rows(0, T), all.rows(from, T), matrix, {.rows = Rows::batched});
        const std::vector<float> part = back(out.rows(0, T));
        ASSERT_TRUE(same_bits(part.data(), &whole[index(from * c.outputs)], T * c.outputs))
            << "[" << c.outputs << ", " << c.inputs << "]: " << T << " rows from " << from << " of " << rows;
      }
    }
    forget();
  }
}

// Several products of one x have the bits each has alone.
TEST_P(CudaLinear, ProductsTogetherHaveTheBitsTheyHaveAlone) {
  const std::int64_t inputs = 576, sizes[] = {576, 192, 192, 16, 33};
  for (const Rows rows : {Rows::few, Rows::batched})
    for (const std::int64_t T : {1, 5, 40}) {
      Random random(9);
      const Tensor x = put(random.values(T * inputs), {T, inputs});
      std::vector<Matrix> matrices;
      std::vector<LinearOutput> outputs;
      for (const std::int64_t size : sizes) {
        std::vector<float> w = random.values(size * inputs);
        matrices.push_back(weights(w, exact() ? DType::f32 : DType::bf16, size, inputs));
      }
      for (const Matrix& matrix : matrices)
        outputs.push_back({room(DType::f32, {T, matrix.rows}), &matrix, {.rows = rows}});
      linear(queue(), x, outputs);
      for (const LinearOutput& output : outputs) {
        const Tensor alone = room(DType::f32, {T, output.w->rows});
        linear(queue(), alone, x, *output.w, {.rows = rows});
        const std::vector<float> a = back(output.out), b = back(alone);
        ASSERT_TRUE(same_bits(a.data(), b.data(), std::ssize(a)))
            << output.w->rows << " outputs, " << T << " rows";
      }
      forget();
    }
}

// Products with low-rank additions: the same laws.
class CudaAdapted : public CudaLinear {
 protected:
  struct Projection {
    std::vector<float> base, a, b;
    Matrix base_there, a_there, b_there;
    std::int64_t outputs = 0;
    bool accumulate = false;
  };
  static constexpr std::int64_t kInputs = 576;
  static constexpr float kScale = 1.7f;

  Projection projection(Random& random, std::int64_t outputs, std::int64_t rank, bool accumulate) {
    const DType type = exact() ? DType::f32 : DType::bf16;
    Projection p{random.values(outputs * kInputs),
                 random.values(rank * kInputs),
                 random.values(outputs * rank),
                 {},
                 {},
                 {},
                 outputs,
                 accumulate};
    p.base_there = weights(p.base, type, outputs, kInputs);
    p.a_there = weights(p.a, type, rank, kInputs);
    p.b_there = weights(p.b, type, outputs, rank);
    return p;
  }
  AdaptedOutput output(const Projection& p, const Tensor& out) {
    return {out,
            &p.base_there,
            {p.a_there, p.b_there, kScale, room(DType::f32, {out.size(0), p.a_there.rows})},
            p.accumulate};
  }
  // A row's outputs in double precision, and by how much sums in f32 may differ from them. The outer half may
  // take its inner one in two terms of bf16, of 16 bits together.
  struct Summed {
    double value = 0, error = 0;
  };
  static std::vector<Summed> sums(const Projection& p, const float* x) {
    const auto dot = [](const float* a, const auto* b, std::int64_t n, double& magnitude) {
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double term = static_cast<double>(a[i]) * static_cast<double>(b[i]);
        sum += term;
        magnitude += std::abs(term);
      }
      return sum;
    };
    const std::int64_t rank = p.a_there.rows;
    const double share = (kInputs + 64) * kEpsilon, scale = static_cast<double>(kScale);
    std::vector<double> low(index(rank)), low_error(index(rank));
    for (std::int64_t r = 0; r < rank; ++r) {
      double magnitude = 0;
      low[index(r)] = dot(&p.a[index(r * kInputs)], x, kInputs, magnitude);
      low_error[index(r)] = magnitude * share + 0x1p-16 * std::abs(low[index(r)]);
    }
    std::vector<Summed> result(index(p.outputs));
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const float* b = &p.b[index(o * rank)];
      double magnitude = 0, outer = 0, error = 0;
      Summed& summed = result[index(o)];
      summed.value = dot(&p.base[index(o * kInputs)], x, kInputs, magnitude);
      summed.value += scale * dot(b, low.data(), rank, outer);
      for (std::int64_t r = 0; r < rank; ++r)
        error += std::abs(static_cast<double>(b[r])) * low_error[index(r)];
      summed.error = (magnitude + scale * outer) * share + scale * error;
    }
    return result;
  }
  void check_rows(const Projection& p, const std::vector<float>& x, const std::vector<float>& before,
                  const std::vector<float>& found) {
    const std::int64_t rank = p.a_there.rows, T = std::ssize(x) / kInputs;
    const double epsilon = exact() ? 0.0 : 2 * half_epsilon(DType::bf16);
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t o = 0; o < p.outputs; ++o) {
        double sum = 0, magnitude = 0;
        const auto at = [&](const std::vector<float>& v, std::int64_t i) {
          return static_cast<double>(v[index(i)]);
        };
        for (std::int64_t i = 0; i < kInputs; ++i) {
          double w = at(p.base, o * kInputs + i), size = std::abs(w);
          for (std::int64_t r = 0; r < rank; ++r) {
            const double part =
                static_cast<double>(kScale) * at(p.b, o * rank + r) * at(p.a, r * kInputs + i);
            w += part;
            size += std::abs(part);
          }
          sum += w * at(x, t * kInputs + i);
          magnitude += size * std::abs(at(x, t * kInputs + i));
        }
        const double wanted = sum + (p.accumulate ? at(before, t * p.outputs + o) : 0.0);
        ASSERT_NEAR(at(found, t * p.outputs + o), wanted, magnitude * (epsilon + (kInputs + 64) * kEpsilon))
            << "row " << t << " of " << T << ", output " << o << " of " << p.outputs;
      }
  }
};
MPLUS_FOR_BOTH_NUMERICS(CudaAdapted);

TEST_P(CudaAdapted, EqualsTheProductWithTheWholeMatrix) {
  for (const std::int64_t rank : {16, 5})
    for (const Rows rows : {Rows::few, Rows::batched})
      for (const std::int64_t T : {1, 9, 70}) {
        Random random(static_cast<std::uint64_t>(T));
        const std::vector<Projection> projections = {projection(random, 96, rank, false),
                                                     projection(random, 40, rank, true),
                                                     projection(random, 40, rank, true)};
        const std::vector<float> x = random.values(T * kInputs);
        std::vector<AdaptedOutput> outputs;
        std::vector<std::vector<float>> before;
        for (const Projection& p : projections) {
          before.push_back(random.values(T * p.outputs));
          outputs.push_back(output(p, put(before.back(), {T, p.outputs})));
        }
        linear_adapted(queue(), put(x, {T, kInputs}), outputs, rows);
        for (std::size_t i = 0; i < projections.size(); ++i) {
          check_rows(projections[i], x, before[i], back(outputs[i].out));
          if (HasFatalFailure()) return;
        }
        forget();
      }
}

TEST_P(CudaAdapted, BatchedBitsDependOnTheRowAlone) {
  Random random(6);
  const std::int64_t rows = 700;
  const Projection p = projection(random, 192, 16, false);
  const Tensor x = put(random.values(rows * kInputs), {rows, kInputs}),
               out = room(DType::f32, {rows, p.outputs});
  const AdaptedOutput all = output(p, out);
  linear_adapted(queue(), x, {&all, 1}, Rows::batched);
  const std::vector<float> whole = back(out);
  for (const std::int64_t T : {1, 2, 17, 256, 512}) {
    const AdaptedOutput some = output(p, out.rows(0, T));
    linear_adapted(queue(), x.rows(rows - T, T), {&some, 1}, Rows::batched);
    const std::vector<float> part = back(out.rows(0, T));
    ASSERT_TRUE(same_bits(part.data(), &whole[index((rows - T) * p.outputs)], T * p.outputs)) << T << " rows";
  }
}

// Of a norm that was left for products alone, too; rank 5 has no kernel of its own.
TEST_P(CudaAdapted, SomeOutputsAreOfTheFirstRowsAlone) {
  const std::int64_t rows = 90, first = 70;
  for (const std::int64_t rank : {16, 5}) {
    Random random(9);
    const Projection p = projection(random, 192, rank, false);
    const Tensor x = put(random.values(rows * kInputs), {rows, kInputs}),
                 xn = room(DType::f32, {rows, kInputs}),
                 ones = put(std::vector<float>(index(kInputs), 1.0f), {kInputs});
    for (const Rows kind : {Rows::some, Rows::batched}) {
      AdaptedOutput outputs[] = {output(p, room(DType::f32, {first, p.outputs})),
                                 output(p, room(DType::f32, {rows, p.outputs}))};
      for (AdaptedOutput& one : outputs) one.adapter.low = room(DType::f32, {rows, rank});
      rms_norm(queue(), xn, x, ones, 1e-5f, p.base_there.dtype);
      linear_adapted(queue(), xn, outputs, kind);
      const std::vector<float> some = back(outputs[0].out), all = back(outputs[1].out);
      ASSERT_TRUE(same_bits(some.data(), all.data(), first * p.outputs)) << "rank " << rank;
      rms_norm(queue(), xn, x, ones, 1e-5f);
      linear_adapted(queue(), xn, {&outputs[1], 1}, kind);
      const std::vector<float> wanted = back(outputs[1].out);
      ASSERT_TRUE(same_bits(all.data(), wanted.data(), rows * p.outputs)) << "rank " << rank;
    }
    forget();
  }
}

// Of several x, with matrices that lie one behind the other (made together) or anywhere (one by one).
TEST_P(CudaAdapted, ProductsOfSeveralLayersHaveTheBitsTheyHaveAlone) {
  constexpr std::int64_t kLayers = 5, kInner = 4096, kRank = 16, kSizes[] = {64, 96, 48};
  const DType type = exact() ? DType::f32 : DType::bf16;
  for (const std::int64_t T : {1, 37, 256})
    for (const bool together : {true, false}) {
      Random random(8);
      const Tensor x = put(random.values(kLayers * T * kInner), {kLayers * T, kInner});
      const auto made = [&](std::int64_t rows, std::int64_t width) {
        std::vector<float> values = random.values(rows * width);
        return weights(values, type, rows, width);
      };
      std::vector<Matrix> base, a, b;  // of each output, all layers behind one another
      std::vector<Tensor> out, low;
      for (const std::int64_t size : kSizes) {
        base.push_back(made(kLayers * size, kInner));
        a.push_back(made(kLayers * kRank, kInner));
        b.push_back(made(kLayers * size, kRank));
        out.push_back(room(DType::f32, {kLayers * T, size}));
        low.push_back(room(DType::f32, {kLayers * T, kRank}));
      }
      const auto part = [](const Matrix& all, std::int64_t layer) {
        const std::int64_t rows = all.rows / kLayers;
        Matrix one = all;
        one.rows = rows;
        one.data = static_cast<const std::byte*>(all.data) +
                   static_cast<std::size_t>(layer) * row_bytes(all.dtype, rows * all.cols);
        return one;
      };
      std::vector<std::vector<Matrix>> bases(kLayers);
      std::vector<std::vector<AdaptedOutput>> outputs(kLayers);
      std::vector<AdaptedProducts> all;
      for (std::int64_t l = 0; l < kLayers; ++l) {
        const std::int64_t which = together ? l : l * 2 % kLayers;
        for (std::size_t o = 0; o < std::size(kSizes); ++o) bases[index(l)].push_back(part(base[o], which));
        for (std::size_t o = 0; o < std::size(kSizes); ++o) {
          AdaptedOutput one{out[o].rows(l * T, T), &bases[index(l)][o], {}, false};
          if (o < 2) one.adapter = {part(a[o], which), part(b[o], which), kScale, low[o].rows(l * T, T)};
          outputs[index(l)].push_back(one);
        }
        all.push_back({x.rows(l * T, T), outputs[index(l)]});
      }
      linear_adapted(queue(), all, Rows::batched);
      std::vector<std::vector<float>> found;
      for (const Tensor& one : out) found.push_back(back(one));
      for (const AdaptedProducts& one : all) linear_adapted(queue(), one.x, one.outputs, Rows::batched);
      for (std::size_t o = 0; o < out.size(); ++o)
        EXPECT_EQ(found[o], back(out[o])) << T << " rows, output " << o << (together ? ", together" : "");
      forget();
    }
}

// One kernel makes products, additions and activation where the device has it: held to their meaning.
TEST_P(CudaAdapted, GatedProductsAreThoseOfTheirParts) {
  for (const std::int64_t outputs : {96, 344})
    for (const std::int64_t rank : {16, 8, 5})
      for (const std::int64_t T : {1, 17, 70, 600}) {
        Random random(static_cast<std::uint64_t>(T));
        const Projection gate = projection(random, outputs, rank, false),
                         up = projection(random, outputs, rank, false);
        std::vector<float> x = random.values(T * kInputs);
        const AdaptedOutput gated[] = {output(gate, room(DType::f32, {T, outputs})),
                                       output(up, room(DType::f32, {T, outputs}))};
        swiglu_adapted(queue(), put(x, {T, kInputs}), gated[0], gated[1], Rows::batched);
        const std::vector<float> found = back(gated[0].out);
        for (float& value : x) value = rounded(exact() ? DType::f32 : DType::bf16, value);
        for (std::int64_t t = 0; t<T; t += T> 40 ? 19 : 1) {
          const std::vector<Summed> g = sums(gate, &x[index(t * kInputs)]),
                                    u = sums(up, &x[index(t * kInputs)]);
          for (std::size_t o = 0; o < index(outputs); ++o) {
            const double silu = g[o].value / (1 + std::exp(-g[o].value));
            ASSERT_NEAR(static_cast<double>(found[index(t * outputs) + o]), silu * u[o].value,
                        1.1 * g[o].error * (std::abs(u[o].value) + u[o].error) + std::abs(silu) * u[o].error +
                            8 * kEpsilon * std::abs(silu * u[o].value))
                << "row " << t << " of " << T << ", output " << o << " of " << outputs << ", rank " << rank;
          }
        }
        forget();
      }
}

TEST_P(CudaAdapted, GatedBitsDependOnTheRowAlone) {
  Random random(7);
  const std::int64_t rows = 700, outputs = 344;
  const Projection gate = projection(random, outputs, 16, false), up = projection(random, outputs, 16, false);
  const Tensor x = put(random.values(rows * kInputs), {rows, kInputs}),
               out = room(DType::f32, {rows, outputs}), other = room(DType::f32, {rows, outputs});
  swiglu_adapted(queue(), x, output(gate, out), output(up, other), Rows::batched);
  const std::vector<float> whole = back(out);
  for (const std::int64_t T : {1, 2, 17, 129, 256, 512}) {
    swiglu_adapted(queue(), x.rows(rows - T, T), output(gate, out.rows(0, T)), output(up, other.rows(0, T)),
                   Rows::batched);
    const std::vector<float> part = back(out.rows(0, T));
    ASSERT_TRUE(same_bits(part.data(), &whole[index((rows - T) * outputs)], T * outputs)) << T << " rows";
  }
}

// What is left for products alone gives them the bits that the whole result does.
TEST_P(CudaAdapted, GatedOperandsServeTheNextProduct) {
  const std::int64_t outputs = 352;
  for (const std::int64_t T : {17, 600}) {
    Random random(static_cast<std::uint64_t>(T));
    const Projection gate = projection(random, outputs, 16, false),
                     up = projection(random, outputs, 16, false);
    std::vector<float> a = random.values(kInputs * outputs);
    const Matrix down = weights(a, exact() ? DType::f32 : DType::bf16, kInputs, outputs);
    const Tensor x = put(random.values(T * kInputs), {T, kInputs});
    std::vector<float> found[2];
    for (const ResultUse use : {ResultUse::any, ResultUse::products}) {
      const Tensor h = put(std::vector<float>(index(T * outputs), NAN), {T, outputs}),
                   other = room(DType::f32, {T, outputs}), out = room(DType::f32, {T, kInputs});
      swiglu_adapted(queue(), x, output(gate, h), output(up, other), Rows::batched, use);
      linear(queue(), out, h, down, {.rows = Rows::batched});
      found[use == ResultUse::any ? 0 : 1] = back(out);
    }
    ASSERT_TRUE(same_bits(found[0].data(), found[1].data(), std::ssize(found[0]))) << T << " rows";
    forget();
  }
}

// With few rows, additions that are made with the activation give the bits of all in turn.
TEST_P(CudaAdapted, FewGatedProductsHaveTheBitsOfTheirParts) {
  for (const std::int64_t rank : {16, 8, 5})
    for (const auto& [T, rows] :
         {std::pair<std::int64_t, Rows>{1, Rows::few}, {16, Rows::few}, {33, Rows::some}}) {
      Random random(static_cast<std::uint64_t>(T));
      const Projection gate = projection(random, 96, rank, false), up = projection(random, 96, rank, false);
      const Tensor x = put(random.values(T * kInputs), {T, kInputs});
      const auto outputs = [&, T = T] {
        return std::array{output(gate, room(DType::f32, {T, 96})), output(up, room(DType::f32, {T, 96}))};
      };
      const auto parts = outputs(), gated = outputs();
      linear_adapted(queue(), x, parts, rows);
      swiglu(queue(), parts[0].out, parts[0].out, parts[1].out);
      swiglu_adapted(queue(), x, gated[0], gated[1], rows);
      ASSERT_EQ(back(gated[0].out), back(parts[0].out)) << T << " rows, rank " << rank;
      forget();
    }
}

// What a norm or an activation leaves as an operand is used only while it is of the same values.
TEST_P(CudaLinear, OperandsFollowTheirTensors) {
  const std::int64_t T = 40, d = 576, outputs = 96;
  Random random(15);
  std::vector<float> w = random.values(outputs * d);
  const Matrix matrix = weights(w, exact() ? DType::f32 : DType::bf16, outputs, d);
  const Tensor x = put(random.values(T * d), {T, d}), xn = room(DType::f32, {T, d}),
               one = put(std::vector<float>(index(d), 1.0f), {d});
  const Tensor other = put(random.values(T * d), {T, d}), copied = room(DType::f32, {T, d}),
               out = room(DType::f32, {T, outputs});
  const auto product = [&](const Tensor& of, std::int64_t rows) {
    linear(queue(), out.rows(0, rows), of.rows(0, rows), matrix, {.rows = Rows::batched});
    return back(out.rows(0, rows));
  };
  // The same values by another way: a copy has no operand.
  const auto plain = [&](const Tensor& of, std::int64_t rows) {
    copy(queue(), copied, of);
    return product(copied, rows);
  };
  const auto norm = [&] { rms_norm(queue(), xn, x, one, 1e-5f); };
  norm();
  const std::vector<float> wanted = plain(xn, T);
  norm();
  EXPECT_EQ(product(xn, T), wanted);
  const std::vector<float> some = plain(xn, 17);
  norm();
  EXPECT_EQ(product(xn, 17), some);
  rms_norm(queue(), xn, x, one, 1e-5f, matrix.dtype);
  EXPECT_EQ(product(xn, 17), some) << "left as products read it";
  rms_norm(queue(), xn, x, one, 1e-5f, matrix.dtype);
  EXPECT_EQ(product(xn, T), wanted) << "left as products read it";
  norm();
  EXPECT_EQ(product(other, T), plain(other, T)) << "another tensor";
  norm();
  fill(queue(), xn, 0.5f);
  EXPECT_EQ(product(xn, T), plain(xn, T)) << "written by another operation";
  norm();
  const Tensor over = xn.as_shape({T * d / outputs, outputs});
  linear(queue(), over.rows(0, T), other, matrix, {.rows = Rows::batched});
  EXPECT_EQ(product(xn, T), plain(xn, T)) << "written by a product";
  swiglu(queue(), xn, x, other);
  EXPECT_EQ(product(xn, T), plain(xn, T));
}

}  // namespace
}  // namespace mplus::kernels
