// mean_t sigmoid(q_t · key_j) of int8 keys with a scale each (core/row_format.h, "small key"): queries are
// rounded to int8 as well, with a scale for each, and products are summed in integers. Lanes are queries,
// four bytes of each; keys are broadcast.
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/math.h"
#include "mplus/kernels/cpu/query_codes.h"
#include "mplus/kernels/cpu/tile.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr std::int64_t kKeys = 64;  // of a block: copied together once for all queries

constexpr int kTileKeys = min_of(kTileRows, 6);  // of eight, g++ keeps four sums of NEON in memory

std::int64_t words_of(std::int64_t d_r) { return (d_r + 3) / 4; }

// A block of keys: codes [kKeys, words] with zeros behind the last, scales, and where the sums begin.
struct KeyCodes {
  std::int32_t* words;
  float* scales;
  std::int32_t* begin;
};

KeyCodes codes_in(std::byte* scratch, std::int64_t words) {
  auto* codes = reinterpret_cast<std::int32_t*>(scratch);
  auto* scales = reinterpret_cast<float*>(codes + kKeys * words);
  return {codes, scales, reinterpret_cast<std::int32_t*>(scales + kKeys)};
}

void copy_keys(const KeyCodes& to, const std::byte* keys, std::int64_t n, std::int64_t d_r) {
  const std::int64_t words = words_of(d_r);
  for (std::int64_t j = 0; j < n; ++j, keys += d_r + kKeyScaleBytes) {
    to.words[(j + 1) * words - 1] = 0;
    __builtin_memcpy(to.words + j * words, keys, static_cast<std::size_t>(d_r));
    to.scales[j] = key_scale(keys + d_r);
    std::int32_t total = 0;
    if constexpr (kByteOffset != 0)  // what the offset of the queries adds is taken off first
      for (std::int64_t i = 0; i < d_r; ++i) total += static_cast<std::int8_t>(keys[i]);
    to.begin[j] = -kByteOffset * total;
  }
}

// Adds sigmoid(q · key) of N vectors of queries to sums[key][lane]; `last` lanes of the last vector count.
template <int N>
void add_panel(F* sums, const std::byte* panel, const KeyCodes& keys, std::int64_t n, std::int64_t words,
               std::int64_t last) {
  I lane{};
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  const I counted = lane < splat(static_cast<std::int32_t>(last));
  F scales[N];
  MPLUS_UNROLL for (int v = 0; v < N; ++v) scales[v] = load_bits<F>(panel + (words * N + v) * kVectorBytes);
  for_tiles<kTileKeys>(0, n, [&]<int M>(std::int64_t j) {
    I acc[M][N];
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      MPLUS_UNROLL for (int v = 0; v < N; ++v) acc[m][v] = splat(keys.begin[j + m]);
    }
    const std::byte* queries = panel;
    for (std::int64_t w = 0; w < words; ++w, queries += N * kVectorBytes) {
      I column[N];
      MPLUS_UNROLL for (int v = 0; v < N; ++v) column[v] = load_bits<I>(queries + v * kVectorBytes);
      MPLUS_UNROLL for (int m = 0; m < M; ++m) {
        const I key = splat(keys.words[(j + m) * words + w]);
        MPLUS_UNROLL for (int v = 0; v < N; ++v) acc[m][v] = dot4(acc[m][v], column[v], key);
      }
    }
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      const F scale = splat(keys.scales[j + m]);
      F total = sums[j + m];
      MPLUS_UNROLL for (int v = 0; v < N - 1; ++v) total =
          total + sigmoid(to_float(acc[m][v]) * (scales[v] * scale));
      const F rest = sigmoid(to_float(acc[m][N - 1]) * (scales[N - 1] * scale));
      sums[j + m] = total + as_float(as_int(rest) & counted);
    }
  });
}

}  // namespace

std::size_t packed_queries_i8_size(std::int64_t T, std::int64_t d_r) {
  return static_cast<std::size_t>((T + kLanes - 1) / kLanes * (words_of(d_r) + 1) * kVectorBytes);
}

// Panels of kPanel queries, the last of as many whole vectors as it needs: [words, width] of four bytes each,
// then [width] scales.
void pack_queries_i8(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r) {
  const std::int64_t words = words_of(d_r);
  for (std::int64_t t0 = 0; t0 < T; t0 += kPanel) {
    const std::int64_t count = min_of<std::int64_t>(kPanel, T - t0);
    const std::int64_t width = (count + kLanes - 1) / kLanes * kLanes;
    __builtin_memset(packed, 0, static_cast<std::size_t>((words + 1) * width * 4));
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const float* query = q + (t0 + lane) * d_r;
      const QueryScale scale = scale_of(query, d_r);
      for (std::int64_t i = 0; i < d_r; ++i)
        packed[(i / 4 * width + lane) * 4 + i % 4] =
            static_cast<std::byte>(rounded(query[i] * scale.inverse) + kByteOffset);
      __builtin_memcpy(packed + (words * width + lane) * 4, &scale.value, sizeof scale.value);
    }
    packed += (words + 1) * width * 4;
  }
}

std::size_t score_i8_scratch(std::int64_t d_r) {
  return static_cast<std::size_t>(kKeys * (kVectorBytes + words_of(d_r) * 4 + 8));
}

void score_keys_i8(float* scores, const std::byte* packed, std::int64_t T, const std::byte* keys,
                   std::int64_t j0, std::int64_t j1, std::int64_t d_r, std::byte* scratch) {
  const std::int64_t words = words_of(d_r);
  F* sums = reinterpret_cast<F*>(scratch);
  const KeyCodes codes = codes_in(scratch + kKeys * kVectorBytes, words);
  for (; j0 < j1; j0 += kKeys) {
    const std::int64_t n = min_of(kKeys, j1 - j0);
    copy_keys(codes, keys + j0 * (d_r + kKeyScaleBytes), n, d_r);
    for (std::int64_t j = 0; j < n; ++j) sums[j] = F{};
    const std::byte* panel = packed;
    for (std::int64_t t = 0; t < T; t += kPanel) {
      const std::int64_t count = min_of<std::int64_t>(kPanel, T - t);
      const std::int64_t vectors = (count + kLanes - 1) / kLanes;
      const std::int64_t last = count - (vectors - 1) * kLanes;
      if (vectors == 1) add_panel<1>(sums, panel, codes, n, words, last);
      if (vectors == 2) add_panel<2>(sums, panel, codes, n, words, last);
      if (vectors == 3) add_panel<3>(sums, panel, codes, n, words, last);
      panel += vectors * (words + 1) * kVectorBytes;
    }
    for (std::int64_t j = 0; j < n; ++j) scores[j0 + j] = sum(sums[j]) / static_cast<float>(T);
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
