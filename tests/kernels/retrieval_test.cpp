#include "mplus/kernels/retrieval/retrieval.h"

#include <algorithm>
#include <cmath>

#include "mplus/core/numbers/row_format.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

class RetrievalTest : public IsaTest {};
MPLUS_FOR_EVERY_ISA(RetrievalTest);

struct Operands {
  std::vector<float> q;
  Weights keys;
  Operands(std::int64_t T, std::int64_t n, std::int64_t d_r, DType dtype, float size) {
    Random random(static_cast<std::uint64_t>(T * 10'007 + n * 101 + d_r));
    q = random.values(T * d_r, size);
    keys = random_weights(random, dtype, n, d_r);
  }
};

// sigmoid has slope ≤ 1/4, so a dot product's error of (d_r + 2) epsilon Σ|terms| counts a quarter; exp, sum
// and quotient add a few ulp of a value ≤ 1, the mean over T a chain of T/lanes + log2(lanes) ≤ T + 4 more.
TEST_P(RetrievalTest, EqualsTheMeanOfSigmoids) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::exact);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const auto& [T, n, d_r] : {std::tuple{1, 0, 8},
                                    {1, 1, 1},
                                    {1, 65, 64},
                                    {3, 7, 5},
                                    {16, 64, 64},
                                    {17, 9, 33},
                                    {47, 130, 64},
                                    {48, 20, 64},
                                    {49, 31, 64},
                                    {300, 66, 16},
                                    {5, 1200, 256}}) {
      for (const float size : {0.5f, 20.0f}) {
        const Operands o(T, n, d_r, dtype, size);
        std::vector<float> scores(static_cast<std::size_t>(n), -1.0f);
        retrieval_scores(queue, floats(scores, {n}), floats(o.q, {T, d_r}),
                         key_tensor(o.keys.bytes.data(), dtype, n, d_r));
        for (std::int64_t j = 0; j < n; ++j) {
          double wanted = 0.0, largest = 0.0;
          for (std::int64_t t = 0; t < T; ++t) {
            double dot = 0.0, magnitude = 0.0;
            for (std::int64_t i = 0; i < d_r; ++i) {
              const double term = static_cast<double>(o.q[static_cast<std::size_t>(t * d_r + i)]) *
                                  static_cast<double>(o.keys.values[static_cast<std::size_t>(j * d_r + i)]);
              dot += term;
              magnitude += std::abs(term);
            }
            wanted += 1.0 / (1.0 + std::exp(-dot)) / static_cast<double>(T);
            largest = std::max(largest, magnitude);
          }
          const double bound = kEpsilon * (0.25 * (d_r + 2.0) * largest + 8.0 + T + 4.0);
          ASSERT_NEAR(scores[static_cast<std::size_t>(j)], wanted, bound)
              << T << " queries, key " << j << " of " << n;
        }
      }
    }
  }
}

TEST_P(RetrievalTest, BitsDependOnTheKeyAlone) {
  constexpr std::int64_t T = 50, n = 1100, d_r = 64;
  const Operands o(T, n, d_r, DType::bf16, 2.0f);
  ThreadPool one(1), three(3);
  Queue alone(one, Numerics::exact), shared(three, Numerics::fast);
  std::vector<float> a(n), b(n);
  retrieval_scores(alone, floats(a, {n}), floats(o.q, {T, d_r}),
                   key_tensor(o.keys.bytes.data(), DType::bf16, n, d_r));
  retrieval_scores(shared, floats(b, {n}), floats(o.q, {T, d_r}),
                   key_tensor(o.keys.bytes.data(), DType::bf16, n, d_r));
  ASSERT_TRUE(same_bits(a.data(), b.data(), n));
  for (const std::int64_t j : {0, 3, 1099}) {
    float score = 0.0f;
    retrieval_scores(alone, {&score, DType::f32, {1}}, floats(o.q, {T, d_r}),
                     key_tensor(o.keys.matrix().row(j), DType::bf16, 1, d_r));
    ASSERT_TRUE(same_bits(&score, &a[static_cast<std::size_t>(j)], 1)) << j;
  }
}

TEST_P(RetrievalTest, KeysInSeveralPlacesScoreAsOne) {
  constexpr std::int64_t T = 33, n = 3000, d_r = 64;
  const Operands o(T, n, d_r, DType::bf16, 2.0f);
  ThreadPool pool(3);
  Queue queue(pool, Numerics::exact);
  std::vector<float> whole(n), parts(n, -1.0f);
  retrieval_scores(queue, floats(whole, {n}), floats(o.q, {T, d_r}),
                   key_tensor(o.keys.bytes.data(), DType::bf16, n, d_r));
  std::vector<KeyBlock> blocks;
  std::int64_t at = 0;
  for (const std::int64_t rows : {1, 0, 1024, 7, 1500, 468}) {
    blocks.push_back({key_tensor(o.keys.matrix().row(at), DType::bf16, rows, d_r),
                      {parts.data() + at, DType::f32, {rows}}});
    at += rows;
  }
  ASSERT_EQ(at, n);
  retrieval_scores(queue, blocks, floats(o.q, {T, d_r}));
  ASSERT_TRUE(same_bits(whole.data(), parts.data(), n));
}

TEST_P(RetrievalTest, KeysOneByOneScoreAsOne) {
  constexpr std::int64_t T = 33, d_r = 36;
  ThreadPool pool(3);
  Queue queue(pool, Numerics::exact);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t n : {0, 1, 63, 65, 2500}) {
      const Operands o(T, n, d_r, dtype, 2.0f);
      std::vector<float> whole(static_cast<std::size_t>(n)), single(whole.size(), -1.0f);
      retrieval_scores(queue, floats(whole, {n}), floats(o.q, {T, d_r}),
                       key_tensor(o.keys.bytes.data(), dtype, n, d_r));
      const std::int64_t half = n / 2;
      const ConstTensor all = key_tensor(o.keys.bytes.data(), dtype, n, d_r);
      const ConstTensor blocks[] = {all.rows(0, half), {}, all.rows(half, n - half)};
      std::vector<RowPlace> places;
      for (std::int64_t j = n; j-- > 0;) places.push_back(j < half ? RowPlace{0, j} : RowPlace{2, j - half});
      retrieval_scores(queue, floats(single, {n}), floats(o.q, {T, d_r}), {blocks, places});
      std::reverse(single.begin(), single.end());
      ASSERT_TRUE(same_bits(whole.data(), single.data(), n)) << n;
    }
  }
}

struct SmallOperands {
  std::vector<float> q;
  std::vector<std::byte> keys;
  std::size_t key_bytes;
  SmallOperands(std::int64_t T, std::int64_t n, std::int64_t d_r, float size)
      : key_bytes(small_key_bytes(d_r)) {
    Random random(static_cast<std::uint64_t>(T * 10'007 + n * 101 + d_r));
    q = random.values(T * d_r, size);
    const std::vector<float> values = random.values(n * d_r, 1.0f);
    keys.resize(static_cast<std::size_t>(n) * key_bytes);
    for (std::int64_t j = 0; j < n; ++j)
      make_small_key(keys.data() + static_cast<std::size_t>(j) * key_bytes, values.data() + j * d_r, d_r);
  }
  const std::byte* key(std::int64_t j) const { return keys.data() + static_cast<std::size_t>(j) * key_bytes; }
};

// Products of rounded queries are exact, so what is left is a product of three floats, sigmoid and the mean.
double small_score(const SmallOperands& o, std::int64_t T, std::int64_t j, std::int64_t d_r,
                   double* largest) {
  std::vector<float> key(static_cast<std::size_t>(d_r));
  expand_small_key(key.data(), o.key(j), d_r);
  double score = 0;
  *largest = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    const float* q = o.q.data() + t * d_r;
    float most = 0;
    for (std::int64_t i = 0; i < d_r; ++i) most = std::max(most, std::abs(q[i]));
    const float scale = most / 127.0f, inverse = scale > 0 ? 1.0f / scale : 0.0f;
    double dot = 0;
    for (std::int64_t i = 0; i < d_r; ++i)
      dot += std::nearbyint(static_cast<double>(q[i] * inverse)) * static_cast<double>(scale) *
             static_cast<double>(key[static_cast<std::size_t>(i)]);
    *largest = std::max(*largest, std::abs(dot));
    score += 1.0 / (1.0 + std::exp(-dot)) / static_cast<double>(T);
  }
  return score;
}

// `share` of a score is what fast numerics may differ by.
void expect_small_scores(Queue& queue, double share) {
  for (const auto& [T, n, d_r] : {std::tuple{1, 0, 8},
                                  {1, 1, 1},
                                  {1, 65, 64},
                                  {2, 3, 64},
                                  {3, 7, 5},
                                  {16, 64, 64},
                                  {17, 9, 33},
                                  {32, 35, 64},
                                  {47, 130, 64},
                                  {129, 31, 72},
                                  {300, 66, 16},
                                  {5, 1200, 256},
                                  {4, 5, 512}}) {
    for (const float size : {0.0f, 0.5f, 20.0f, 4000.0f}) {
      const SmallOperands o(T, n, d_r, size);
      std::vector<float> scores(static_cast<std::size_t>(n), -1.0f);
      retrieval_scores(queue, floats(scores, {n}), floats(o.q, {T, d_r}),
                       key_tensor(o.keys.data(), DType::i8, n, d_r));
      for (std::int64_t j = 0; j < n; ++j) {
        double largest = 0;
        const double wanted = small_score(o, T, j, d_r, &largest);
        ASSERT_NEAR(scores[static_cast<std::size_t>(j)], wanted,
                    kEpsilon * (largest + 8.0 + T + 4.0) + share * wanted)
            << T << " queries of " << size << ", key " << j << " of " << n;
      }
    }
  }
}

TEST_P(RetrievalTest, SmallKeysEqualTheMeanOfSigmoids) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::exact);
  expect_small_scores(queue, 0);
}

TEST_P(RetrievalTest, FastScoresOfSmallKeysAreNear) {
  ThreadPool pool(2);
  Queue queue(pool, Numerics::fast);
  expect_small_scores(queue, 4e-6);
}

// Dot products and matrix instructions give the same scores: who asks a memory on a machine with either gets
// the same chunks.
TEST(SmallKeys, DotProductsGiveTheBitsOfMatrixInstructions) {
  const std::vector<std::string_view> names = runnable_isas();
  if (std::ranges::find(names, "neon-i8mm") == names.end()) GTEST_SKIP() << "this machine has no i8mm";
  ThreadPool pool(1);
  Queue queue(pool, Numerics::fast);
  for (const std::int64_t T : {1, 2, 3, 17, 32, 64, 65, 130})
    for (const auto& [n, d_r] : {std::pair{1, 64}, {2, 16}, {5, 5}, {31, 64}, {33, 72}, {100, 256}}) {
      const SmallOperands o(T, n, d_r, 2.0f);
      std::vector<float> dots(static_cast<std::size_t>(n)), matrices(dots);
      for (auto* scores : {&dots, &matrices}) {
        force_isa(scores == &dots ? "neon-dot" : "neon-i8mm");
        retrieval_scores(queue, floats(*scores, {n}), floats(o.q, {T, d_r}),
                         key_tensor(o.keys.data(), DType::i8, n, d_r));
      }
      EXPECT_TRUE(same_bits(dots.data(), matrices.data(), n)) << T << " queries, " << n << " keys of " << d_r;
    }
  force_isa(names.front());
}

// A sum that leaves what a float holds whole would show here: all codes are 127.
TEST_P(RetrievalTest, LargestSumsOfSmallKeys) {
  constexpr std::int64_t T = 3, n = 3, d_r = 256;
  SmallOperands o(T, n, d_r, 1.0f);
  std::ranges::fill(o.q, 0.01f);
  const std::vector<float> ones(d_r, 0.5f);
  for (std::size_t j = 0; j < n; ++j) make_small_key(o.keys.data() + j * o.key_bytes, ones.data(), d_r);
  ThreadPool pool(1);
  Queue queue(pool, Numerics::fast);
  std::vector<float> scores(n);
  retrieval_scores(queue, floats(scores, {n}), floats(o.q, {T, d_r}),
                   key_tensor(o.keys.data(), DType::i8, n, d_r));
  double largest = 0;
  for (const float score : scores) EXPECT_NEAR(score, small_score(o, T, 0, d_r, &largest), 1e-6);
}

TEST_P(RetrievalTest, BitsOfSmallKeysDependOnTheKeyAlone) {
  constexpr std::int64_t T = 50, n = 1100, d_r = 64;
  const SmallOperands o(T, n, d_r, 2.0f);
  ThreadPool one(1), three(3);
  for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
    Queue alone(one, numerics), shared(three, numerics);
    std::vector<float> a(n), b(n), c(n);
    retrieval_scores(alone, floats(a, {n}), floats(o.q, {T, d_r}),
                     key_tensor(o.keys.data(), DType::i8, n, d_r));
    std::vector<KeyBlock> blocks;
    std::int64_t at = 0;
    for (const std::int64_t rows : {1, 0, 500, 7, 592}) {
      blocks.push_back({key_tensor(o.key(at), DType::i8, rows, d_r), {b.data() + at, DType::f32, {rows}}});
      at += rows;
    }
    retrieval_scores(shared, blocks, floats(o.q, {T, d_r}));
    const ConstTensor all = key_tensor(o.keys.data(), DType::i8, n, d_r);
    std::vector<RowPlace> places;
    for (std::int64_t j = 0; j < n; ++j) places.push_back({0, j});
    retrieval_scores(shared, floats(c, {n}), floats(o.q, {T, d_r}), {{&all, 1}, places});
    ASSERT_TRUE(same_bits(a.data(), b.data(), n));
    ASSERT_TRUE(same_bits(a.data(), c.data(), n));
  }
}

}  // namespace
}  // namespace mplus::kernels
