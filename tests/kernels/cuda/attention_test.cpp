// Caches and attention on the device against what they mean in double precision.
#include "mplus/kernels/attention/attention.h"

#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/rows/tokens.h"
#include "tests/kernels/cuda/device_fixture.h"

namespace mplus::kernels {
namespace {

struct Case {
  std::int64_t T, rows;
};

class CudaAttention : public DeviceTest {
 protected:
  DType cache_type() { return queue().backend().cache_type(GetParam()); }

  // A cache of random rows, with room behind them that holds NaN, and the values in it.
  struct Filled {
    KvCache cache;
    std::vector<float> keys, values;  // [G, capacity, e]
    std::int64_t capacity = 0;
  };
  Filled fill_cache(Random& random, const KvShape& shape, std::int64_t rows) {
    Filled filled;
    filled.capacity = rows + 70;
    const std::int64_t n = shape.groups * filled.capacity * shape.head_size;
    filled.keys = random.values(n, 2.0f);
    filled.values = random.values(n);
    for (std::int64_t g = 0; g < shape.groups; ++g)
      for (std::int64_t i = rows * shape.head_size; i < filled.capacity * shape.head_size; ++i)
        filled.keys[index(g * filled.capacity * shape.head_size + i)] =
            filled.values[index(g * filled.capacity * shape.head_size + i)] = NAN;
    filled.cache = {put(filled.keys, cache_type(), {shape.groups, filled.capacity, shape.head_size}),
                    put(filled.values, cache_type(), {shape.groups, filled.capacity, shape.head_size}), rows};
    return filled;
  }

  // One query of a head: what it sees, and by how much rounding may change it.
  struct Expected {
    std::vector<double> weights, out;
    double bound = 0;
  };
  Expected expected(const Filled& filled, const float* query, const KvShape& shape, std::int64_t group,
                    std::int64_t seen) const {
    const std::int64_t e = shape.head_size, base = group * filled.capacity * e;
    const double scale = 1 / std::sqrt(static_cast<double>(e));
    Expected result{std::vector<double>(index(seen)), std::vector<double>(index(e)), 0};
    double most = -1e300, total = 0, largest = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < e; ++i) {
        const double term =
            static_cast<double>(query[i]) * static_cast<double>(filled.keys[index(base + j * e + i)]);
        sum += term;
        magnitude += std::abs(term);
      }
      result.weights[index(j)] = sum * scale;
      most = std::max(most, sum * scale);
      largest = std::max(largest, magnitude * scale);
    }
    for (double& weight : result.weights) total += weight = std::exp(weight - most);
    for (std::int64_t j = 0; j < seen; ++j) {
      result.weights[index(j)] /= total;
      for (std::int64_t i = 0; i < e; ++i)
        result.out[index(i)] +=
            result.weights[index(j)] * static_cast<double>(filled.values[index(base + j * e + i)]);
    }
    // A score errs by its terms' rounding, weights relatively twice as much; bf16 rounds weights once more.
    const double score_error = largest * ((exact() ? 0.0 : 0x1p-9) + (static_cast<double>(e) + 8) * kEpsilon);
    result.bound = std::expm1(2 * score_error) + (exact() ? 0.0 : 0x1p-8) +
                   (static_cast<double>(seen) + 64) * 4 * kEpsilon;
    return result;
  }

  void check_item(const AttendItem& item, const Filled& filled, const std::vector<float>& q,
                  const KvShape& shape) {
    const std::vector<float> found = back(item.out);
    const std::int64_t T = item.q.size(0), e = shape.head_size, step = T > 40 ? 13 : 1;
    for (std::int64_t t = T - 1; t >= 0; t -= step)
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        const Expected wanted = expected(filled, &q[index((t * shape.heads + h) * e)], shape,
                                         h / (shape.heads / shape.groups), item.cache.rows - T + 1 + t);
        for (std::int64_t i = 0; i < e; ++i)
          ASSERT_NEAR(static_cast<double>(found[index((t * shape.heads + h) * e + i)]), wanted.out[index(i)],
                      wanted.bound)
              << shape.heads << "/" << shape.groups << " heads of " << e << ", " << T << " queries, "
              << item.cache.rows << " rows, query " << t << ", head " << h << ", element " << i;
      }
  }
};
MPLUS_FOR_BOTH_NUMERICS(CudaAttention);

constexpr KvShape kShapes[] = {{9, 3, 64}, {8, 2, 128}, {4, 4, 64}, {12, 2, 128}, {3, 1, 48}, {2, 1, 6}};

TEST_P(CudaAttention, EqualsItsMeaningInDoublePrecision) {
  const Case cases[] = {{1, 1},     {1, 2},   {1, 63},    {1, 1000},  {2, 2},     {3, 200},
                        {4, 129},   {5, 700}, {17, 17},   {40, 1300}, {64, 65},   {130, 131},
                        {300, 900}, {6, 128}, {33, 1666}, {128, 256}, {257, 513}, {611, 1400}};
  for (const KvShape& shape : kShapes)
    for (const Case& c : cases) {
      Random random(static_cast<std::uint64_t>(c.T * 131 + c.rows));
      const Filled filled = fill_cache(random, shape, c.rows);
      const std::int64_t width = shape.heads * shape.head_size;
      const std::vector<float> q = random.values(c.T * width, 2.0f);
      const AttendItem item{put(std::vector<float>(index(c.T * width), NAN), {c.T, width}),
                            put(q, {c.T, width}), filled.cache};
      attend(queue(), {&item, 1}, shape);
      check_item(item, filled, q, shape);
      if (HasFatalFailure()) return;
      forget();
    }
}

// Sessions of every kind in one call, each with the bits it has alone.
TEST_P(CudaAttention, NeighboursDoNotChangeBits) {
  const KvShape shape{8, 2, 128};
  const std::int64_t width = shape.heads * shape.head_size;
  const Case kinds[] = {{1, 2000}, {1, 5},     {3, 900},    {70, 600}, {256, 385},
                        {1, 64},   {33, 4000}, {129, 1500}, {20, 700}, {48, 48}};
  std::vector<Case> cases;
  for (int i = 0; i < 40; ++i) cases.push_back(kinds[index(i) % std::size(kinds)]);
  Random random(4);
  std::vector<AttendItem> items;
  for (const Case& c : cases) {
    const Filled filled = fill_cache(random, shape, c.rows);
    items.push_back(
        {room(DType::f32, {c.T, width}), put(random.values(c.T * width, 2.0f), {c.T, width}), filled.cache});
  }
  attend(queue(), items, shape);
  for (const AttendItem& item : items) {
    const Tensor alone = room(DType::f32, {item.q.size(0), width});
    attend(queue(), alone, item.q, item.cache, shape);
    const std::vector<float> a = back(item.out), b = back(alone);
    ASSERT_TRUE(same_bits(a.data(), b.data(), std::ssize(a)))
        << item.q.size(0) << " queries, " << item.cache.rows << " rows";
  }
}

// A kernel may ask for rows before the last one has ended, but never for those still on their way: rows, then
// tokens one by one, waiting for nothing, for the rows, before each token, and for everything.
TEST_P(CudaAttention, TokensSeeWhatCameJustBefore) {
  enum class Waits : std::uint8_t { never, for_rows, before_tokens, always };
  for (const KvShape& shape : {KvShape{8, 2, 128}, KvShape{9, 3, 64}}) {
    const std::int64_t width = shape.heads * shape.head_size, kv = shape.groups * shape.head_size;
    const std::int64_t first = 3000, tokens = 40, all = first + tokens;
    RopeTable angles(std::vector<float>(index(shape.head_size / 2), 0.01f));
    angles.reserve(queue(), all);
    Random random(21);
    const Tensor k = put(random.values(all * kv), {all, kv}), v = put(random.values(all * kv), {all, kv});
    const std::vector<float> queries = random.values(tokens * width, 2.0f);
    std::vector<float> wanted;
    for (const Waits waits : {Waits::always, Waits::before_tokens, Waits::for_rows, Waits::never}) {
      const Tensor q = put(queries, {tokens, width}), out = room(DType::f32, {tokens, width});
      KvCache cache{room(cache_type(), {shape.groups, all, shape.head_size}),
                    room(cache_type(), {shape.groups, all, shape.head_size}), 0};
      queue().wait();
      append_rows(queue(), cache, shape, {k.rows(0, first), v.rows(0, first)}, angles);
      if (waits != Waits::never) queue().wait();
      for (std::int64_t t = 0; t < tokens; ++t) {
        if (waits >= Waits::before_tokens) queue().wait();
        const TokenRows rows{
            .cache = cache, .q = q.rows(t, 1), .k = k.rows(first + t, 1), .v = v.rows(first + t, 1)};
        append_tokens(queue(), {&rows, 1}, shape, angles);
        ++cache.rows;
        if (waits == Waits::always) queue().wait();
        attend(queue(), out.rows(t, 1), q.rows(t, 1), cache, shape);
      }
      if (waits == Waits::always) wanted = back(out);
      ASSERT_EQ(back(out), wanted) << "waits: " << static_cast<int>(waits);
    }
    forget();
  }
}

TEST_P(CudaAttention, WeightsAreTheSoftmax) {
  for (const KvShape& shape : {kShapes[0], kShapes[4]})
    for (const Case& c : {Case{1, 1}, Case{3, 70}, Case{5, 300}}) {
      Random random(8);
      const Filled filled = fill_cache(random, shape, c.rows);
      const std::int64_t width = shape.heads * shape.head_size;
      const std::vector<float> q = random.values(c.T * width, 2.0f);
      const Tensor out = room(DType::f32, {shape.heads, c.T, c.rows});
      attention_weights(queue(), out, put(q, {c.T, width}), filled.cache, shape);
      const std::vector<float> found = back(out);
      for (std::int64_t h = 0; h < shape.heads; ++h)
        for (std::int64_t t = 0; t < c.T; ++t) {
          const std::int64_t seen = c.rows - c.T + 1 + t;
          const Expected wanted = expected(filled, &q[index((t * shape.heads + h) * shape.head_size)], shape,
                                           h / (shape.heads / shape.groups), seen);
          for (std::int64_t j = 0; j < c.rows; ++j)
            ASSERT_NEAR(static_cast<double>(found[index((h * c.T + t) * c.rows + j)]),
                        j < seen ? wanted.weights[index(j)] : 0.0, 1e-5);
        }
      forget();
    }
}

// Rows of the device and of the host, one behind the other and by their places, into caches with room before
// them.
TEST_P(CudaAttention, RowsAreRotatedAndKept) {
  const KvShape shape{6, 3, 8};
  const std::int64_t kv = shape.groups * shape.head_size, half = shape.head_size / 2, before = 5, n = 41;
  RopeTable angles({1.0f, 0.3f, 0.05f, 0.002f});
  angles.reserve(queue(), 100);
  for (const DType type : {DType::f32, DType::bf16})
    for (const bool gathered : {false, true})
      for (const bool host : {false, true}) {
        Random random(12);
        std::vector<float> k = random.values(n * kv), v = random.values(n * kv);
        RowBlock rows{put(k, type, {n, kv}), put(v, type, {n, kv})};
        std::vector<std::uint16_t> k_bits, v_bits;
        for (std::int64_t i = 0; i < n * kv; ++i) {
          k_bits.push_back(f32_to_bf16(k[index(i)]));
          v_bits.push_back(f32_to_bf16(v[index(i)]));
        }
        if (host && type == DType::f32) rows = {floats(k, {n, kv}), floats(v, {n, kv})};
        if (host && type == DType::bf16)
          rows = {{k_bits.data(), type, {n, kv}}, {v_bits.data(), type, {n, kv}}};
        KvCache cache{room(cache_type(), {shape.groups, 60, shape.head_size}),
                      room(cache_type(), {shape.groups, 60, shape.head_size}), before};
        std::vector<RowPlace> places;
        for (std::int64_t r = 0; r < n; ++r) places.push_back({1, gathered ? n - 1 - r : r});
        const RowBlock blocks[] = {{}, rows};
        if (gathered) gather_rows(queue(), cache, shape, {blocks, places}, angles);
        else append_rows(queue(), cache, shape, rows, angles);
        ASSERT_EQ(cache.rows, before + n);
        const Tensor keys = room(DType::f32, {shape.groups * 60, shape.head_size}),
                     values = room(DType::f32, {shape.groups * 60, shape.head_size});
        copy(queue(), keys, cache.keys.as_shape({shape.groups * 60, shape.head_size}));
        copy(queue(), values, cache.values.as_shape({shape.groups * 60, shape.head_size}));
        const std::vector<float> found_k = back(keys), found_v = back(values);
        for (std::int64_t r = 0; r < n; ++r)
          for (std::int64_t g = 0; g < shape.groups; ++g)
            for (std::int64_t i = 0; i < half; ++i) {
              const std::int64_t from = places[index(r)].row * kv + g * shape.head_size + i,
                                 to = (g * 60 + before + r) * shape.head_size + i;
              const auto cos = static_cast<double>(angles.cos(before + r)[i]),
                         sin = static_cast<double>(angles.sin(before + r)[i]);
              const auto a = static_cast<double>(k[index(from)]),
                         b = static_cast<double>(k[index(from + half)]);
              const double bound = 2 * half_epsilon(cache_type()) + 4 * kEpsilon;
              ASSERT_NEAR(static_cast<double>(found_k[index(to)]), a * cos - b * sin, bound)
                  << r << " " << g << " " << i;
              ASSERT_NEAR(static_cast<double>(found_k[index(to + half)]), b * cos + a * sin, bound);
              ASSERT_EQ(found_v[index(to)], rounded(cache_type(), v[index(from)]));
              ASSERT_EQ(found_v[index(to + half)], rounded(cache_type(), v[index(from + half)]));
            }
        forget();
      }
}

}  // namespace
}  // namespace mplus::kernels
