// Small rows over tensors against core/numbers/row_format.h, bit for bit.
#include "mplus/train/model/small_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace mplus::train {
namespace {

constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 8, 63, 64, 65, 127, 128, 192, 200, 256};

// Rows [r, n] as a memory may meet them, and as it should not: of all sizes, zeros, single values, halves
// between two codes, values without a useful inverse, what is no number.
Tensor rows_of(std::int64_t n) {
  torch::manual_seed(static_cast<std::uint64_t>(n));
  std::vector<Tensor> rows;
  for (const double size : {1.0, 1e-6, 3e4, 1e-29, 1e-31, 1e-39, 1e36})
    rows.push_back(size * torch::randn({20, n}));
  rows.push_back(torch::zeros({1, n}));
  rows.push_back(3 * torch::eye(n).narrow(0, n / 2, 1));
  rows.push_back(-3 * torch::eye(n).narrow(0, n - 1, 1));
  rows.push_back(torch::ones({1, n}));
  rows.push_back(torch::randint(-8, 8, {20, n}) * 0.5);  // many of the same size, either sign
  for (const double odd : {std::numeric_limits<double>::infinity(), std::nan(""), 3e38}) {
    Tensor row = torch::randn({2, n});
    row.select(1, n / 2).fill_(odd);
    row.select(1, n - 1)[1] = -odd;
    rows.push_back(row);
  }
  return torch::cat(rows).to(torch::kBFloat16).to(torch::kFloat32).contiguous();
}

// Equal bits; of what is no number it is enough that both are.
bool same(const float* a, const float* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (std::memcmp(a + i, b + i, sizeof *a) != 0 && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return true;
}

TEST(SmallRows, VectorsComeBackAsFromCore) {
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4})
    for (const std::int64_t n : kSizes) {
      const Tensor rows = rows_of(n);
      const Tensor found = through_small_vectors(rows, format).contiguous();
      std::vector<std::byte> bytes(small_vector_bytes(format, n));
      std::vector<float> expected(static_cast<std::size_t>(n));
      for (std::int64_t r = 0; r < rows.size(0); ++r) {
        make_small_vector(bytes.data(), format, rows.const_data_ptr<float>() + r * n, n);
        expand_small_vector(expected.data(), format, bytes.data(), n);
        EXPECT_TRUE(same(found.const_data_ptr<float>() + r * n, expected.data(), n))
            << row_format_name(format) << " " << n << " row " << r;
      }
    }
}

TEST(SmallRows, KeysAreThoseOfCore) {
  for (const std::int64_t n : kSizes) {
    const Tensor rows = rows_of(n);
    const SmallKeys keys = small_keys(rows);
    std::vector<std::byte> bytes(small_key_bytes(n));
    for (std::int64_t r = 0; r < rows.size(0); ++r) {
      make_small_key(bytes.data(), rows.const_data_ptr<float>() + r * n, n);
      const Tensor codes = keys.codes[r].contiguous();
      EXPECT_EQ(std::memcmp(codes.const_data_ptr<std::int8_t>(), bytes.data(), static_cast<std::size_t>(n)),
                0)
          << n << " row " << r;
      std::vector<float> one(static_cast<std::size_t>(n));
      expand_small_key(one.data(), bytes.data(), n);
      const Tensor back = (codes.to(torch::kFloat32) * keys.scales[r]).contiguous();
      EXPECT_TRUE(same(back.const_data_ptr<float>(), one.data(), n)) << n << " row " << r;
    }
  }
}

// Whatever type a pass computes in: a memory keeps bfloat16.
TEST(SmallRows, WhatIsMadeSmallIsBfloat16) {
  const Tensor rows = torch::randn({7, 64}, torch::kFloat64);
  const Tensor rounded = rows.to(torch::kBFloat16);
  EXPECT_TRUE(torch::equal(through_small_vectors(rows, RowFormat::int8),
                           through_small_vectors(rounded, RowFormat::int8)));
  EXPECT_TRUE(torch::equal(small_keys(rows).codes, small_keys(rounded).codes));
}

// Against the plain statement in double, of queries and keys that were rounded one by one.
TEST(SmallRows, ScoresAreSumsOfIntegers) {
  torch::manual_seed(3);
  constexpr std::int64_t kQueries = 4, kKeys = 9, kKeyWidth = 64;
  const Tensor queries = torch::randn({2, kQueries, kKeyWidth});
  const SmallKeys keys = small_keys(torch::randn({2, kKeys, kKeyWidth}));
  const Tensor weights = torch::tensor({{0.25f, 0.25f, 0.25f, 0.25f}, {0.0f, 0.5f, 0.5f, 0.0f}});
  const Tensor scores = small_recall_scores(queries, keys, weights);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t j = 0; j < kKeys; ++j) {
      double expected = 0;
      for (std::int64_t t = 0; t < kQueries; ++t) {
        const Tensor q = queries[b][t].to(torch::kFloat64);
        const double step = q.abs().max().item<double>() / 127;
        const Tensor code = (q / step).round();
        const double product = (code * keys.codes[b][j].to(torch::kFloat64)).sum().item<double>() * step *
                               keys.scales[b][j].item<double>();
        expected += weights[b][t].item<double>() / (1 + std::exp(-product));
      }
      EXPECT_NEAR(scores[b][j].item<double>(), expected, 1e-5) << b << " " << j;
    }
}

}  // namespace
}  // namespace mplus::train
