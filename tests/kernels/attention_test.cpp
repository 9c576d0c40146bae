#include "mplus/kernels/attention/attention.h"

#include <algorithm>

#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/convert.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

class AttentionTest : public IsaTest {};
MPLUS_FOR_EVERY_ISA(AttentionTest);

struct Operands {
  KvShape shape;
  std::int64_t T;
  std::vector<float> q, keys, values;
  std::vector<std::byte> bytes[2];  // of keys and values that are not f32
  KvCache cache;

  Operands(std::int64_t T_, std::int64_t rows, KvShape s, std::uint64_t seed, float size = 2.0f,
           DType dtype = DType::f32)
      : shape(s), T(T_) {
    Random random(seed);
    const std::int64_t capacity = rows + 5;
    q = random.values(T * s.heads * s.head_size, size);
    keys = random.values(s.groups * capacity * s.head_size, size);
    values = random.values(s.groups * capacity * s.head_size);
    cache = {floats(keys, {s.groups, capacity, s.head_size}),
             floats(values, {s.groups, capacity, s.head_size}), rows};
    if (dtype == DType::f32) return;
    cache.keys = rounded(keys, bytes[0], dtype);
    cache.values = rounded(values, bytes[1], dtype);
  }
  // Values as a cache of another type has them.
  Tensor rounded(std::vector<float>& x, std::vector<std::byte>& to, DType dtype) const {
    const auto n = std::ssize(x);
    to.resize(row_bytes(dtype, n));
    from_f32(to.data(), dtype, x.data(), n);
    to_f32(x.data(), to.data(), dtype, n);
    return {to.data(), dtype, {shape.groups, cache.capacity(), shape.head_size}};
  }
  ConstTensor queries() const { return floats(q, {T, shape.heads * shape.head_size}); }
  Tensor like_queries(std::vector<float>& x) const { return floats(x, {T, shape.heads * shape.head_size}); }
  const float* keys_of(std::int64_t group) const { return &keys[index(group)]; }
  const float* values_of(std::int64_t group) const { return &values[index(group)]; }
  std::size_t index(std::int64_t group) const {
    return static_cast<std::size_t>(group * cache.capacity() * shape.head_size);
  }
  std::int64_t size() const { return T * shape.heads * shape.head_size; }
};

// Weights of one query in double precision, over the rows it sees.
std::vector<double> softmax(const Operands& o, std::int64_t t, std::int64_t h, double& largest_score) {
  const std::int64_t e = o.shape.head_size, seen = o.cache.rows - o.T + 1 + t;
  const float* q = o.q.data() + (t * o.shape.heads + h) * e;
  const float* keys = o.keys_of(h / (o.shape.heads / o.shape.groups));
  std::vector<double> weights(static_cast<std::size_t>(seen));
  double maximum = -1e300, total = 0.0;
  largest_score = 0.0;
  for (std::int64_t j = 0; j < seen; ++j) {
    double score = 0.0, magnitude = 0.0;
    for (std::int64_t i = 0; i < e; ++i) {
      const double term = static_cast<double>(q[i]) * static_cast<double>(keys[j * e + i]);
      score += term;
      magnitude += std::abs(term);
    }
    const double root = std::sqrt(static_cast<double>(e));
    weights[static_cast<std::size_t>(j)] = score / root;
    maximum = std::max(maximum, score / root);
    largest_score = std::max(largest_score, magnitude / root);
  }
  for (double& w : weights) total += w = std::exp(w - maximum);
  for (double& w : weights) w /= total;
  return weights;
}

// A score errs by (e + 4) epsilon Σ|terms|, so a weight by twice that relatively, with a few ulp for exp; the
// mean over `seen` rows adds a chain of that many roundings. |values| < 1.
double bound_of(const Operands& o, double largest_score, std::int64_t seen) {
  const auto e = static_cast<double>(o.shape.head_size);
  return kEpsilon * (2.0 * (e + 4.0) * largest_score + 2.0 * static_cast<double>(seen) + 16.0);
}

// Tiles multiply factors of two terms of bf16 each, without the product of the low ones: 2^-16 of every
// product more, of a score's Σ|terms| and of a mean's.
double tile_error(double largest_score, double mean_size) {
  return 0x1p-16 * (2.0 * largest_score + mean_size);
}

void check(Queue& queue, const Operands& o) {
  const std::int64_t e = o.shape.head_size, sharing = o.shape.heads / o.shape.groups;
  const bool tiles = isa_name() == "avx512amx" && queue.numerics() == Numerics::fast;
  std::vector<float> out(static_cast<std::size_t>(o.size()), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> taps(static_cast<std::size_t>(o.shape.heads * o.T * o.cache.rows), 7.0f);
  attend(queue, o.like_queries(out), o.queries(), o.cache, o.shape);
  attention_weights(queue, floats(taps, {o.shape.heads, o.T, o.cache.rows}), o.queries(), o.cache, o.shape);
  for (std::int64_t t = 0; t < o.T; ++t) {
    for (std::int64_t h = 0; h < o.shape.heads; ++h) {
      double largest = 0.0;
      const std::vector<double> weights = softmax(o, t, h, largest);
      const auto seen = static_cast<std::int64_t>(weights.size());
      const double bound = bound_of(o, largest, seen);
      const float* values = o.values_of(h / sharing);
      for (std::int64_t i = 0; i < e; ++i) {
        double wanted = 0.0, mean_size = 0.0;
        for (std::int64_t j = 0; j < seen; ++j) {
          const double term = weights[static_cast<std::size_t>(j)] * static_cast<double>(values[j * e + i]);
          wanted += term;
          mean_size += std::abs(term);
        }
        const float got = out[static_cast<std::size_t>((t * o.shape.heads + h) * e + i)];
        ASSERT_NEAR(got, wanted, bound + (tiles ? tile_error(largest, mean_size) : 0.0))
            << "query " << t << " of " << o.T << ", head " << h << ", element " << i;
      }
      const float* tap = taps.data() + (h * o.T + t) * o.cache.rows;
      for (std::int64_t j = 0; j < o.cache.rows; ++j)
        ASSERT_NEAR(tap[j], j < seen ? weights[static_cast<std::size_t>(j)] : 0.0, bound) << "weight " << j;
    }
  }
}

void check_shapes(Queue& queue) {
  const DType dtype = queue.backend().cache_type(queue.numerics());
  const KvShape shapes[] = {{1, 1, 2}, {4, 2, 8}, {3, 3, 20}, {9, 3, 64}, {8, 1, 34}, {2, 1, 96}};
  for (const KvShape& shape : shapes) {
    for (const auto& [T, rows] : {std::pair{0, 0},
                                  {0, 9},
                                  {1, 1},
                                  {1, 2},
                                  {1, 257},
                                  {2, 2},
                                  {3, 300},
                                  {4, 4},
                                  {5, 70},
                                  {17, 17},
                                  {33, 130},
                                  {70, 71}})
      check(queue, Operands(T, rows, shape, static_cast<std::uint64_t>(T * 1000 + rows), 2.0f, dtype));
  }
  check(queue, Operands(270, 300, {2, 1, 16}, 1, 2.0f, dtype));
  check(queue, Operands(1, 1500, {9, 3, 64}, 2, 2.0f, dtype));
}

TEST_P(AttentionTest, EqualsSoftmaxInDoublePrecision) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::exact);
  check_shapes(queue);
}

TEST_P(AttentionTest, EqualsSoftmaxOverAFastCache) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::fast);
  if (queue.backend().cache_type(Numerics::fast) == DType::f32) GTEST_SKIP() << "f32 as in exact numerics";
  check_shapes(queue);
}

TEST_P(AttentionTest, LargeScoresNeitherOverflowNorVanish) {
  ThreadPool pool(1);
  Queue queue(pool, Numerics::exact);
  for (const std::int64_t T : {1, 20}) check(queue, Operands(T, 150, {2, 1, 16}, 3, 12.0f));
}

TEST_P(AttentionTest, BitsDoNotDependOnThreads) {
  ThreadPool one(1), three(3);
  Queue alone(one, Numerics::exact), shared(three, Numerics::exact);
  for (const auto& [T, rows] : {std::pair{1, 1400}, {3, 600}, {60, 400}}) {
    const Operands o(T, rows, {9, 3, 64}, 11);
    std::vector<float> a(static_cast<std::size_t>(o.size())), b(a.size());
    attend(alone, o.like_queries(a), o.queries(), o.cache, o.shape);
    attend(shared, o.like_queries(b), o.queries(), o.cache, o.shape);
    ASSERT_TRUE(same_bits(a.data(), b.data(), o.size())) << T << " queries";
  }
}

// Queries among many: the last ones have the same bits when they come without their predecessors. Of large
// queries some blocks of keys have scores too far apart for the short exponential, some have not.
TEST_P(AttentionTest, BitsOfAQueryDoNotDependOnItsNeighbours) {
  ThreadPool pool(1);
  Queue queue(pool, Numerics::exact);
  for (const float size : {2.0f, 8.0f}) {
    const Operands o(60, 200, {9, 3, 64}, 12, size);
    const std::int64_t width = o.shape.heads * o.shape.head_size;
    std::vector<float> all(static_cast<std::size_t>(o.size())), some(all.size());
    attend(queue, o.like_queries(all), o.queries(), o.cache, o.shape);
    for (const std::int64_t last : {4, 11, 37}) {
      const std::int64_t from = (o.T - last) * width;
      attend(queue, floats(some, {last, width}), o.queries().rows(o.T - last, last), o.cache, o.shape);
      ASSERT_TRUE(same_bits(all.data() + from, some.data(), last * width)) << last << " queries";
    }
  }
}

// Sessions side by side: each has the bits it has alone, whatever the others' lengths.
TEST_P(AttentionTest, BitsDoNotDependOnOtherSessions) {
  ThreadPool pool(3);
  Queue queue(pool, Numerics::exact);
  const KvShape shape{9, 3, 64};
  std::vector<Operands> sessions;
  for (const auto& [T, rows] : {std::pair{1, 1}, {1, 700}, {5, 90}, {3, 300}, {0, 4}, {1, 256}, {2, 513}})
    sessions.emplace_back(T, rows, shape, static_cast<std::uint64_t>(rows));
  std::vector<std::vector<float>> together;
  std::vector<AttendItem> items;
  together.reserve(sessions.size());
  for (const Operands& o : sessions) {
    together.emplace_back(static_cast<std::size_t>(o.size()));
    items.push_back({.out = o.like_queries(together.back()), .q = o.queries(), .cache = o.cache});
  }
  attend(queue, items, shape);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const Operands& o = sessions[i];
    std::vector<float> alone(static_cast<std::size_t>(o.size()));
    attend(queue, o.like_queries(alone), o.queries(), o.cache, shape);
    ASSERT_TRUE(same_bits(alone.data(), together[i].data(), o.size())) << "session " << i;
  }
  attend(queue, {}, shape);
}

// append_rows is a copy, a rotation of the keys and nothing else.
// What a cache of this type makes of values.
void round_to(DType dtype, std::vector<float>& x) {
  std::vector<std::byte> bytes(row_bytes(dtype, std::ssize(x)));
  from_f32(bytes.data(), dtype, x.data(), std::ssize(x));
  to_f32(x.data(), bytes.data(), dtype, std::ssize(x));
}

TEST_P(AttentionTest, AppendedRowsAreRotatedKeysAndPlainValues) {
  ThreadPool pool(2);
  const KvShape shape{6, 3, 12};
  const std::int64_t width = shape.groups * shape.head_size, capacity = 90;
  const std::int64_t size = shape.groups * capacity * shape.head_size;
  RopeTable table({1.0f, 0.5f, 0.2f, 0.1f, 0.01f, 0.001f});
  table.reserve(500);
  for (const Numerics numerics : {Numerics::exact, Numerics::fast})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const std::int64_t n : {0, 1, 5, 77}) {
        Queue queue(pool, numerics);
        const DType cached = queue.backend().cache_type(numerics);
        Random random(static_cast<std::uint64_t>(n));
        const Weights k = random_weights(random, dtype, n, width),
                      v = random_weights(random, dtype, n, width);
        std::vector<float> keys(static_cast<std::size_t>(size), 9.0f), values = keys;
        std::vector<std::byte> bytes[2];
        for (auto& b : bytes) {
          b.resize(row_bytes(cached, size));
          from_f32(b.data(), cached, keys.data(), size);
        }
        KvCache cache{{bytes[0].data(), cached, {shape.groups, capacity, shape.head_size}},
                      {bytes[1].data(), cached, {shape.groups, capacity, shape.head_size}},
                      4};
        append_rows(queue, cache, shape,
                    {{k.bytes.data(), dtype, {n, width}}, {v.bytes.data(), dtype, {n, width}}}, table);
        ASSERT_EQ(cache.rows, 4 + n);
        to_f32(keys.data(), bytes[0].data(), cached, size);
        to_f32(values.data(), bytes[1].data(), cached, size);
        std::vector<float> rotated = k.values, plain = v.values;
        rope(queue, floats(rotated, {n, width}), table, 4);
        round_to(cached, rotated);
        round_to(cached, plain);
        for (std::int64_t g = 0; g < shape.groups; ++g) {
          for (std::int64_t r = 0; r < n; ++r) {
            const std::int64_t at = (g * capacity + 4 + r) * shape.head_size,
                               from = r * width + g * shape.head_size;
            ASSERT_TRUE(same_bits(keys.data() + at, rotated.data() + from, shape.head_size));
            ASSERT_TRUE(same_bits(values.data() + at, plain.data() + from, shape.head_size));
          }
          for (std::int64_t i = 0; i < 4 * shape.head_size; ++i)
            ASSERT_EQ(keys[static_cast<std::size_t>(g * capacity * shape.head_size + i)], 9.0f);
        }
      }
}

}  // namespace
}  // namespace mplus::kernels
