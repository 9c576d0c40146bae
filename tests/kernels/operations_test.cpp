// Operations on tensors, on every backend this program has, over odd sizes and every type, against what they
// mean in double precision.
#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/numbers/dequantise.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/activation.h"
#include "mplus/kernels/linear/adapter.h"
#include "mplus/kernels/linear/norm.h"
#include "mplus/kernels/rows/embedding.h"
#include "mplus/kernels/rows/outgoing.h"
#include "mplus/kernels/rows/pooling.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/kernels/rows/transfer.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

constexpr std::int64_t kRows[] = {0, 1, 2, 7, 33};

// A device's queue, and values on their way there and back.
class OperationsTest : public testing::TestWithParam<Device> {
 protected:
  Tensor on_device(const std::vector<float>& values, std::initializer_list<std::int64_t> shape) {
    buffers_.push_back(queue_.backend().allocate(std::max<std::size_t>(1, values.size()) * sizeof(float)));
    const auto n = std::ssize(values);
    copy(queue_, buffers_.back().tensor(DType::f32, {n}), floats(values, {n}));
    return buffers_.back().tensor(DType::f32, shape);
  }
  std::vector<float> back(const ConstTensor& x) { return to_host(queue_, x); }
  // As a model's loader places it: on the processor as it is, elsewhere by value.
  Matrix on_device(const Weights& w) {
    if (queue_.device().is_cpu()) return w.matrix();
    EXPECT_EQ(queue_.backend().weight_type(Numerics::exact, w.dtype), DType::f32);
    const Tensor there = on_device(w.values, {w.rows, w.cols});
    return {there.data, DType::f32, w.rows, w.cols, nullptr, queue_.device()};
  }

  ThreadPool pool_{2};
  Queue queue_{pool_, Numerics::exact, GetParam()};
  std::vector<Buffer> buffers_;
};

INSTANTIATE_TEST_SUITE_P(Backend, OperationsTest, testing::ValuesIn(test::devices()), test::device_name);

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

TEST_P(OperationsTest, EmbeddingIsARowOfItsTable) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::q8_0, DType::q4_0,
                            DType::q4_1, DType::q5_0, DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k}) {
    Random random(3);
    const std::int64_t vocab = 19, d = dtype >= DType::q4_k ? 512 : is_quantised(dtype) ? 96 : 37;
    const Weights table = random_weights(random, dtype, vocab, d);
    const Matrix placed = on_device(table);
    for (const std::int64_t T : kRows) {
      std::vector<std::int32_t> ids;
      for (std::int64_t t = 0; t < T; ++t) ids.push_back(static_cast<std::int32_t>(random.bits() % 19));
      const Tensor out = on_device(std::vector<float>(index(T * d)), {T, d});
      embed(queue_, out, placed, ids);
      const std::vector<float> found = back(out);
      for (std::int64_t i = 0; i < T * d; ++i)
        ASSERT_EQ(found[index(i)], table.values[index(ids[index(i / d)] * d + i % d)]) << dtype_name(dtype);
    }
  }
}

TEST_P(OperationsTest, PoolingSharesAreASoftmax) {
  for (const std::int64_t T : {1, 2, 7, 33}) {
    for (const std::int64_t d : {1, 5, 64, 577}) {
      Random random(static_cast<std::uint64_t>(T * d));
      const std::vector<float> x = random.values(T * d, 2.0f), vector = random.values(d);
      const Tensor shares = on_device(std::vector<float>(index(T)), {T});
      pooling_shares(queue_, shares, on_device(x, {T, d}), on_device(vector, {d}));
      std::vector<double> wanted(index(T));
      double most = -1e300, total = 0, magnitude = 0;
      for (std::int64_t t = 0; t < T; ++t) {
        double sum = 0;
        for (std::int64_t i = 0; i < d; ++i) {
          const double term =
              static_cast<double>(x[index(t * d + i)]) * static_cast<double>(vector[index(i)]);
          wanted[index(t)] += term;
          sum += std::abs(term);
        }
        magnitude = std::max(magnitude, sum);
        most = std::max(most, wanted[index(t)]);
      }
      for (double& w : wanted) total += w = std::exp(w - most);
      const std::vector<float> found = back(shares);
      // A product errs by d epsilon Σ|terms|, so does the difference of two, twice over in a share.
      const double bound =
          kEpsilon * (4.0 * static_cast<double>(d + 2) * magnitude + 2.0 * static_cast<double>(T) + 16);
      for (std::int64_t t = 0; t < T; ++t) ASSERT_NEAR(found[index(t)], wanted[index(t)] / total, bound);
    }
  }
}

TEST_P(OperationsTest, CopiesKeepOrRoundAndLeaveGapsAlone) {
  for (const std::int64_t T : kRows) {
    for (const std::int64_t d : {1, 3, 64, 129}) {
      Random random(static_cast<std::uint64_t>(T + d));
      const std::vector<float> x = random.values(T * d);
      const Tensor wide = on_device(std::vector<float>(index(T * (d + 3)), 7.0f), {T, d + 3});
      Tensor gaps = wide;
      gaps.shape[1] = d;
      copy(queue_, gaps, on_device(x, {T, d}));
      const std::vector<float> found = back(wide);
      for (std::int64_t i = 0; i < T * (d + 3); ++i)
        ASSERT_EQ(found[index(i)], i % (d + 3) < d ? x[index(i / (d + 3) * d + i % (d + 3))] : 7.0f);
      buffers_.push_back(queue_.backend().allocate(index(2 * T * d + 2)));
      const Tensor half = buffers_.back().tensor(DType::bf16, {T, d});
      const Tensor again = on_device(std::vector<float>(x.size()), {T, d});
      copy(queue_, half, gaps);
      copy(queue_, again, half);
      const std::vector<float> rounded = back(again);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(rounded[i], bf16_to_f32(f32_to_bf16(x[i])));
    }
  }
}

TEST_P(OperationsTest, FillAndFinite) {
  for (const std::int64_t n : {1, 2, 17, 1000}) {
    const Tensor x = on_device(std::vector<float>(index(n)), {n});
    fill(queue_, x, 2.5f);
    for (const float value : back(x)) ASSERT_EQ(value, 2.5f);
    note_finite(queue_, x, 0);
    EXPECT_EQ(take_note(queue_), -1);
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
      for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
        std::vector<float> values(index(n), std::numeric_limits<float>::max());
        values[index(at)] = bad;
        const Tensor spoilt = on_device(values, {n});
        for (const std::int32_t number : {7, 3, 5}) note_finite(queue_, spoilt, number);
        note_finite(queue_, x, 1);
        EXPECT_EQ(take_note(queue_), 3) << "the first that is not finite";
        EXPECT_EQ(take_note(queue_), -1) << "taken";
      }
    }
  }
  note_finite(queue_, on_device({}, {0}), 0);
  EXPECT_EQ(take_note(queue_), -1);
}

Weights zero_weights(std::int64_t rows, std::int64_t cols) {
  Weights w;
  w.bytes.assign(index(rows * cols) * sizeof(float), std::byte{0});
  w.values.assign(index(rows * cols), 0.0f);
  w.rows = rows;
  w.cols = cols;
  return w;
}

TEST_P(OperationsTest, AnAdapterAddsItsProduct) {
  for (const Rows rows : {Rows::few, Rows::batched}) {
    for (const std::int64_t T : kRows) {
      const std::int64_t in = 45, out = 23, r = 5;
      Random random(static_cast<std::uint64_t>(T));
      const Weights a = random_weights(random, DType::f32, r, in),
                    b = random_weights(random, DType::bf16, out, r);
      const std::vector<float> x = random.values(T * in), y = random.values(T * out);
      const Tensor sum = on_device(y, {T, out});
      const Matrix first = on_device(a), second = on_device(b);
      const Tensor plain = on_device(std::vector<float>(index(T * r)), {T, r}),
                   low = on_device(std::vector<float>(index(T * r)), {T, r});
      const Weights zero = zero_weights(out, in);
      const Matrix base = on_device(zero);
      const AdaptedOutput outputs[] = {
          {.out = sum, .base = &base, .adapter = {first, second, 0.5f, low}, .accumulate = true},
          {.out = plain, .base = &first, .adapter = {}, .accumulate = false}};
      linear_adapted(queue_, on_device(x, {T, in}), outputs, rows);
      EXPECT_EQ(back(plain), back(low)) << "one without an adapter, beside it";
      const std::vector<float> found = back(sum);
      for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t o = 0; o < out; ++o) {
          double wanted = 0, magnitude = 0;
          for (std::int64_t k = 0; k < r; ++k)
            for (std::int64_t i = 0; i < in; ++i) {
              const double term = 0.5 * static_cast<double>(x[index(t * in + i)]) *
                                  static_cast<double>(a.values[index(k * in + i)]) *
                                  static_cast<double>(b.values[index(o * r + k)]);
              wanted += term;
              magnitude += std::abs(term);
            }
          wanted += static_cast<double>(y[index(t * out + o)]);
          ASSERT_NEAR(found[index(t * out + o)], wanted,
                      kEpsilon * (magnitude * static_cast<double>(in + r + 4) + 2));
        }
      }
    }
  }
}

TEST_P(OperationsTest, LinearWritesRowsThatStandApart) {
  Random random(9);
  const std::int64_t T = 5, in = 64, out = 11;
  const Weights w = random_weights(random, DType::q4_1, out, in);
  const Tensor x = on_device(random.values(T * in), {T, in});
  const Tensor close = on_device(std::vector<float>(index(T * out)), {T, out});
  const Tensor wide = on_device(std::vector<float>(index(T * 16), 7.0f), {T, 16});
  Tensor apart = wide;
  apart.shape[1] = out;
  const Matrix placed = on_device(w);
  linear(queue_, close, x, placed);
  linear(queue_, apart, x, placed);
  const std::vector<float> a = back(close), b = back(wide);
  for (std::int64_t i = 0; i < T * 16; ++i)
    ASSERT_EQ(b[index(i)], i % 16 < out ? a[index(i / 16 * out + i % 16)] : 7.0f);
}

// Out of several blocks, in any order, as if they had been copied together first.
TEST_P(OperationsTest, GatheredRowsAreThoseOfTheirPlaces) {
  const KvShape shape{4, 2, 6};
  const std::int64_t kv = 12, capacity = 40;
  RopeTable angles({1.0f, 0.3f, 0.02f});
  angles.reserve(queue_, capacity);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t n : kRows) {
      Random random(static_cast<std::uint64_t>(n));
      std::vector<Weights> stored;
      for (const std::int64_t rows : {3, 1, 9, 3, 1, 9})
        stored.push_back(random_weights(random, dtype, rows, kv));
      std::vector<RowBlock> blocks;
      for (std::size_t b = 0; b < 3; ++b)
        blocks.push_back({{stored[b].bytes.data(), dtype, {stored[b].rows, kv}},
                          {stored[3 + b].bytes.data(), dtype, {stored[b].rows, kv}}});
      std::vector<RowPlace> places;
      std::vector<std::byte> k, v;
      for (std::int64_t r = 0; r < n; ++r) {
        const std::size_t b = random.bits() % 3;
        const RowPlace place{b, random.bits() % stored[b].rows};
        places.push_back(place);
        const std::size_t size = row_bytes(dtype, kv), at = index(place.row) * size;
        k.insert(k.end(), stored[b].bytes.begin() + std::ptrdiff_t(at),
                 stored[b].bytes.begin() + std::ptrdiff_t(at + size));
        v.insert(v.end(), stored[3 + b].bytes.begin() + std::ptrdiff_t(at),
                 stored[3 + b].bytes.begin() + std::ptrdiff_t(at + size));
      }
      KvCache caches[2];
      for (KvCache& cache : caches)
        cache = {on_device(std::vector<float>(index(2 * capacity * 6)), {2, capacity, 6}),
                 on_device(std::vector<float>(index(2 * capacity * 6)), {2, capacity, 6}), 3};
      gather_rows(queue_, caches[0], shape, {blocks, places}, angles);
      append_rows(queue_, caches[1], shape, {{k.data(), dtype, {n, kv}}, {v.data(), dtype, {n, kv}}}, angles);
      EXPECT_EQ(caches[0].rows, 3 + n);
      EXPECT_EQ(back(caches[0].keys), back(caches[1].keys));
      EXPECT_EQ(back(caches[0].values), back(caches[1].values));
      const KvCache later = behind(caches[0], 3);
      EXPECT_EQ(later.rows, n);
      EXPECT_EQ(later.capacity(), capacity - 3);
      EXPECT_EQ(later.values.data, caches[0].values.row(0).rows(3, 1).data);
    }
  }
}

TEST_P(OperationsTest, SeveralCopiesAreThoseOfOneAfterTheOther) {
  for (const std::int64_t width : {1, 4, 6, 64}) {
    Random random(static_cast<std::uint64_t>(width));
    const std::vector<float> x = random.values(21 * width), row = random.values(width);
    const Tensor in = on_device(x, {21, width}), plain = on_device(x, {21, width}),
                 plus = on_device(row, {width}), sum = on_device(x, {5, width}),
                 same = on_device(x, {21, width});
    buffers_.push_back(queue_.backend().allocate(row_bytes(DType::bf16, 8 * width)));
    const Tensor half = buffers_.back().tensor(DType::bf16, {8, width});
    const RowCopy copies[] = {{plain.rows(2, 3), in.rows(7, 3)},
                              {half, in.rows(4, 8)},
                              {sum, in.rows(16, 5), plus},
                              {same.rows(1, 20), same.rows(1, 20), plus},
                              {plain.rows(9, 0), in.rows(7, 0)}};
    copy(queue_, copies);
    const Tensor wide = on_device(x, {8, width});
    copy(queue_, wide, half);
    const auto at = [&](std::int64_t r, std::int64_t c) { return x[index(r * width + c)]; };
    const std::vector<float> found[] = {back(plain), back(wide), back(sum), back(same)};
    for (std::int64_t r = 0; r < 21; ++r)
      for (std::int64_t c = 0; c < width; ++c) {
        const std::size_t i = index(r * width + c);
        ASSERT_EQ(found[0][i], r >= 2 && r < 5 ? at(r + 5, c) : at(r, c));
        if (r < 8) {
          EXPECT_EQ(found[1][i], bf16_to_f32(f32_to_bf16(at(r + 4, c))));
        }
        if (r < 5) {
          EXPECT_EQ(found[2][i], at(r + 16, c) + row[index(c)]);
        }
        EXPECT_EQ(found[3][i], r == 0 ? at(r, c) : at(r, c) + row[index(c)]);
      }
  }
}

TEST_P(OperationsTest, ScatteredRowsLieWhereTheyAreTold) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const std::int64_t width : {1, 6, 8, 130}) {
      Random random(static_cast<std::uint64_t>(width));
      const std::vector<float> before = random.values(40 * width), x = random.values(9 * width);
      const auto stored = [&](const std::vector<float>& values, std::int64_t rows) {
        const Tensor wide = on_device(values, {rows, width});
        buffers_.push_back(queue_.backend().allocate(row_bytes(dtype, rows * width)));
        const Tensor there = buffers_.back().tensor(dtype, {rows, width});
        copy(queue_, there, wide);
        return there;
      };
      const Tensor to = stored(before, 40), other = stored(before, 40), from = stored(x, 9);
      const std::int32_t places[] = {3, 39, 0, 17, 18, 5, 31, 8, 9}, few[] = {7, 2};
      const RowScatter jobs[] = {{to, from, places}, {other, from.rows(4, 2), few}};
      scatter_rows(queue_, jobs);
      const auto rounded = [&](float value) {
        return dtype == DType::f32 ? value : bf16_to_f32(f32_to_bf16(value));
      };
      const auto check = [&](const Tensor& found_there, std::span<const std::int32_t> where,
                             std::int64_t first) {
        const Tensor wide = on_device(before, {40, width});
        copy(queue_, wide, found_there);
        const std::vector<float> found = back(wide);
        std::vector<float> wanted = before;
        for (std::size_t i = 0; i < where.size(); ++i)
          std::copy_n(x.begin() + (first + std::ssize(where.first(i))) * width, width,
                      wanted.begin() + where[i] * width);
        for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(found[i], rounded(wanted[i])) << i;
      };
      check(to, places, 0);
      check(other, few, 4);
    }
}

TEST_P(OperationsTest, ValuesAreBroughtAtOnce) {
  Random random(3);
  const std::vector<float> x = random.values(1000);
  const Tensor there = on_device(x, {10, 100});
  std::vector<float> found(900);
  queue_.backend().bring(found.data(), there.rows(1, 9));
  EXPECT_TRUE(same_bits(found.data(), x.data() + 100, 900));
}

TEST_P(OperationsTest, GatedProductsAreThoseOfTheirParts) {
  for (const Rows rows : {Rows::few, Rows::batched})
    for (const std::int64_t T : {1, 7, 33}) {
      const std::int64_t in = 48, out = 24, r = 4;
      Random random(static_cast<std::uint64_t>(T));
      std::vector<Weights> w;
      for (int i = 0; i < 2; ++i) {
        w.push_back(random_weights(random, DType::f32, out, in));
        w.push_back(random_weights(random, DType::f32, r, in));
        w.push_back(random_weights(random, DType::f32, out, r));
      }
      const Tensor x = on_device(random.values(T * in), {T, in});
      std::vector<Matrix> there;
      for (const Weights& weights : w) there.push_back(on_device(weights));
      const auto zeros = [&](std::int64_t width) {
        return on_device(std::vector<float>(index(T * width)), {T, width});
      };
      const auto output = [&](std::size_t i) {
        return AdaptedOutput{
            zeros(out), &there[3 * i], {there[3 * i + 1], there[3 * i + 2], 0.5f, zeros(r)}, false};
      };
      const AdaptedOutput parts[] = {output(0), output(1)}, gated[] = {output(0), output(1)};
      linear_adapted(queue_, x, parts, rows);
      swiglu(queue_, parts[0].out, parts[0].out, parts[1].out);
      swiglu_adapted(queue_, x, gated[0], gated[1], rows);
      EXPECT_EQ(back(gated[0].out), back(parts[0].out));
    }
}

// What was filled piece by piece on the device is on the host, and its memory is used again.
TEST_P(OperationsTest, PiecesComeToTheHostTogether) {
  HostPool pool;
  const void* first = nullptr;
  for (int round = 0; round < 2; ++round) {
    Outgoing room;
    room.begin(queue_, pool,
               Outgoing::piece_bytes(DType::f32, 15) + Outgoing::piece_bytes(DType::bf16, 3) +
                   Outgoing::piece_bytes(DType::f32, 0) + Outgoing::piece_bytes(DType::f32, 1));
    Random random(static_cast<std::uint64_t>(round));
    const std::vector<float> x = random.values(15), y = random.values(3), z = random.values(1);
    const Tensor a = room.piece(DType::f32, {3, 5});
    copy(queue_, a, on_device(x, {3, 5}));
    if (round == 1) room.bring_aside(queue_);  // each piece once
    const Tensor b = room.piece(DType::bf16, {3}), none = room.piece(DType::f32, {0, 4}),
                 c = room.piece(DType::f32, {1});
    copy(queue_, b, on_device(y, {3}));
    copy(queue_, none, on_device({}, {0, 4}));
    copy(queue_, c, on_device(z, {1}));
    round == 0 ? room.bring(queue_) : room.bring_aside(queue_);
    queue_.wait();
    EXPECT_TRUE(same_bits(room.on_host(a).on_host<float>(), x.data(), 15));
    EXPECT_TRUE(same_bits(room.on_host(c).on_host<float>(), z.data(), 1));
    EXPECT_EQ(room.on_host(none).elements(), 0);
    const auto* rounded = static_cast<const std::uint16_t*>(room.on_host(b).data);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rounded[i], f32_to_bf16(y[i]));
    if (round == 0) first = room.on_host(a).data;
    EXPECT_EQ(room.on_host(a).data, first) << "given out again";
  }
}

TEST_P(OperationsTest, WrongShapesAndPlacesAreMistakes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Tensor x = on_device(std::vector<float>(12), {3, 4}), four = on_device(std::vector<float>(4), {4});
  EXPECT_DEATH(rms_norm(queue_, x, x, on_device(std::vector<float>(3), {3}), 1e-5f), "rows of 4");
  EXPECT_DEATH(swiglu(queue_, x, x, x.rows(0, 2)), "3 and 2");
  EXPECT_DEATH(add_row(queue_, four, four), "dimensions");
  Tensor elsewhere = x;
  elsewhere.device = {DeviceKind::cuda, 9};
  EXPECT_DEATH(silu(queue_, elsewhere), "cuda:9");
  const Weights table = [] {
    Random random(1);
    return random_weights(random, DType::f32, 9, 4);
  }();
  const std::int32_t ids[] = {0, 9, 1};
  EXPECT_DEATH(embed(queue_, x, on_device(table), ids), "token 9 of 9");
}

TEST(Devices, OneThatIsNotThereIsAnError) {
  ThreadPool pool(1);
  try {
    const Queue queue(pool, Numerics::fast, {DeviceKind::cuda, 99});
    FAIL() << "there is no such device";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("cuda:99"), std::string::npos);
  }
}

}  // namespace
}  // namespace mplus::kernels
