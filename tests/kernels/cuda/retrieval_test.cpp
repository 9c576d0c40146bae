// Retrieval scores on the device against their meaning in double precision.
#include "mplus/kernels/retrieval/retrieval.h"

#include "mplus/core/numbers/row_format.h"
#include "tests/kernels/cuda/device_fixture.h"

namespace mplus::kernels {
namespace {

class CudaRetrieval : public DeviceTest {
 protected:
  // Small keys on the device; `values` become what the codes stand for.
  ConstTensor put_small(std::vector<float>& values, std::int64_t n, std::int64_t width) {
    const auto size = static_cast<std::int64_t>(small_key_bytes(width));
    std::vector<std::byte> bytes(index(n * size));
    for (std::int64_t j = 0; j < n; ++j) {
      make_small_key(&bytes[index(j * size)], &values[index(j * width)], width);
      expand_small_key(&values[index(j * width)], &bytes[index(j * size)], width);
    }
    const Tensor there = room(DType::i8, {n, size});
    copy(queue(), there, ConstTensor(bytes.data(), DType::i8, {n, size}));
    return there;
  }
};
MPLUS_FOR_BOTH_NUMERICS(CudaRetrieval);

// Queries as small keys meet them.
std::vector<float> rounded_queries(std::vector<float> q, std::int64_t width) {
  for (std::size_t t = 0; t < q.size() / index(width); ++t) {
    float* query = &q[t * index(width)];
    float most = 0;
    for (std::int64_t i = 0; i < width; ++i) most = std::max(most, std::abs(query[i]));
    const float scale = most / 127.0f, inverse = 1.0f / scale;
    for (std::int64_t i = 0; i < width; ++i) query[i] = std::nearbyint(query[i] * inverse) * scale;
  }
  return q;
}

TEST_P(CudaRetrieval, IsTheMeanOfSigmoids) {
  struct Case {
    std::int64_t T, n, width;
  };
  const Case cases[] = {{1, 1, 64},      {3, 17, 64},     {64, 128, 64},  {65, 300, 128},
                        {200, 130, 256}, {7, 1000, 256},  {5, 40, 40},    {2, 9, 24},
                        {300, 400, 64},  {128, 257, 256}, {513, 129, 128}};
  for (const DType type : {DType::f32, DType::bf16, DType::i8})
    for (const Case& c : cases) {
      Random random(static_cast<std::uint64_t>(c.T + c.n * 7));
      std::vector<float> q = random.values(c.T * c.width), keys = random.values(c.n * c.width);
      const Tensor there = put(q, {c.T, c.width}), scores = room(DType::f32, {c.n});
      const ConstTensor placed =
          type == DType::i8 ? put_small(keys, c.n, c.width) : put(keys, type, {c.n, c.width});
      retrieval_scores(queue(), scores, there, placed);
      const std::vector<float> found = back(scores);
      std::vector<RowPlace> places;
      for (std::int64_t j = 0; j < c.n; ++j) places.push_back({0, c.n - 1 - j});
      retrieval_scores(queue(), scores, there, KeyGather{{&placed, 1}, places});
      const std::vector<float> turned = back(scores);
      if (type == DType::i8) q = rounded_queries(q, c.width);
      const double rounding = type == DType::bf16 && !exact() ? 0x1p-9 : 0.0;
      for (std::int64_t j = 0; j < c.n; ++j) {
        double total = 0, error = 0;
        for (std::int64_t t = 0; t < c.T; ++t) {
          double sum = 0, magnitude = 0;
          for (std::int64_t i = 0; i < c.width; ++i) {
            const double term = static_cast<double>(q[index(t * c.width + i)]) *
                                static_cast<double>(keys[index(j * c.width + i)]);
            sum += term;
            magnitude += std::abs(term);
          }
          total += 1 / (1 + std::exp(-sum));
          error += 0.25 * magnitude * (rounding + static_cast<double>(c.width + 8) * kEpsilon);
        }
        const auto T = static_cast<double>(c.T);
        ASSERT_NEAR(static_cast<double>(found[index(j)]), total / T, error / T + 1e-6)
            << dtype_name(type) << ": key " << j << " of " << c.n << ", " << c.T << " queries of " << c.width;
        ASSERT_EQ(found[index(j)], turned[index(c.n - 1 - j)]) << "by its place";
      }
      forget();
    }
}

}  // namespace
}  // namespace mplus::kernels
