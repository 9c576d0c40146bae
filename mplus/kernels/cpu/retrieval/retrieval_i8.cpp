// mean_t sigmoid(q_t · key_j) of int8 keys with a scale each (core/numbers/row_format.h, "small key"):
// queries are rounded to int8 as well, with a scale for each, and products are summed in integers. Lanes are
// queries, a word of each: four codes, or two where the instruction set has products of 16 bits but none of
// signed bytes. Keys are broadcast. On x86 fast numerics has the same integers and sigmoids of few
// instructions.
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/tile.h"
#include "mplus/kernels/cpu/retrieval/query_codes.h"
#include "mplus/kernels/cpu/simd/math.h"
#include "mplus/kernels/cpu/simd/short_sigmoid.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr std::int64_t kKeys = 64;  // of a block: copied together once for all queries

constexpr std::int64_t kAfterWords = 2;  // vectors behind a panel's words, for each of its own

#if defined(MPLUS_CODE_PAIRS)
typedef std::int16_t Code;
constexpr int kTileKeys = 6, kMostVectors = 2;  // twelve sums in sixteen registers
#else
typedef std::int8_t Code;
constexpr int kTileKeys = min_of(kTileRows, 6);  // of eight, g++ keeps four sums of NEON in memory
constexpr int kMostVectors = kTileVectors;
#endif
constexpr std::int64_t kCodes = 4 / sizeof(Code);  // of a word
constexpr std::int64_t kQueries = kMostVectors * kLanes;

std::int64_t words_of(std::int64_t d_r) { return (d_r + kCodes - 1) / kCodes; }

MPLUS_INLINE I add_products(I sums, I key, I queries) {
#if defined(MPLUS_CODE_PAIRS)
  return dot2(sums, key, queries);
#else
  return dot4(sums, key, queries);
#endif
}

// A block of keys: codes plus kByteOffset [kKeys, words], and scales.
struct KeyCodes {
  std::int32_t* words;
  float* scales;
};

KeyCodes codes_in(std::byte* scratch, std::int64_t words) {
  auto* codes = reinterpret_cast<std::int32_t*>(scratch);
  return {codes, reinterpret_cast<float*>(codes + kKeys * words)};
}

#if defined(MPLUS_CODE_PAIRS)
static_assert(kByteOffset == 0);
void copy_key(std::int32_t* words, const std::byte* key, std::int64_t d_r) {
  constexpr std::int64_t kAtOnce = kCodes * kLanes;
  const std::int64_t whole = d_r / kAtOnce * kAtOnce;
  for (std::int64_t i = 0; i < whole; i += kAtOnce) store_bits(words + i / kCodes, widen_codes(key + i));
  for (std::int64_t i = whole; i < d_r; i += kCodes) {
    Code word[kCodes] = {};
    for (std::int64_t j = 0; j < min_of(kCodes, d_r - i); ++j) word[j] = static_cast<std::int8_t>(key[i + j]);
    __builtin_memcpy(words + i / kCodes, word, sizeof word);
  }
}
#else
void copy_key(std::int32_t* words, const std::byte* key, std::int64_t d_r) {
  constexpr auto kFlip = static_cast<std::int32_t>(kByteOffset != 0 ? 0x80808080u : 0);
  const std::int64_t whole = d_r / kVectorBytes * kLanes, end = words_of(d_r);
  for (std::int64_t w = 0; w < whole; w += kLanes) store_bits(words + w, load_bits<I>(key + 4 * w) ^ kFlip);
  for (std::int64_t w = whole; w < end; ++w) {
    std::int32_t word = 0;
    __builtin_memcpy(&word, key + 4 * w, static_cast<std::size_t>(min_of<std::int64_t>(4, d_r - 4 * w)));
    words[w] = word ^ kFlip;
  }
}
#endif

void copy_keys(const KeyCodes& to, const std::byte* keys, std::int64_t n, std::int64_t d_r) {
  for (std::int64_t j = 0; j < n; ++j, keys += d_r + kKeyScaleBytes) {
    copy_key(to.words + j * words_of(d_r), keys, d_r);
    to.scales[j] = key_scale(keys + d_r);
  }
}

// How integer sums become sigmoids. scale: of queries, as scaled() has them, times the key's.
struct ExactSigmoid {
  static constexpr std::int32_t kFrom = 0;
  MPLUS_INLINE static F scaled(F scale) { return scale; }
  MPLUS_INLINE static F add(F total, I dots, F scale) { return total + sigmoid(to_float(dots) * scale); }
};

#if defined(MPLUS_SHORT_SIGMOID)
struct ShortSigmoid {
  static constexpr std::int32_t kFrom = kBegin;
  MPLUS_INLINE static F scaled(F scale) { return scale * -1.44269504f; }
  MPLUS_INLINE static F add(F total, I dots, F scale) {
    return sum_with_sigmoid(total, (as_float(dots) - kBeginFloat) * scale);
  }
};
#endif

// acc += the products of M keys with N vectors of queries.
template <int M, int N>
MPLUS_TILE void add_dots(I (&acc)[M][N], const std::int32_t* keys, std::int64_t words,
                         const std::byte* queries) {
  I sums[M][N];
  copy_tile(sums, acc);
  MPLUS_LOOP for (std::int64_t w = 0; w < words; ++w, queries += N * kVectorBytes) {
    I column[N];
    MPLUS_UNROLL for (int v = 0; v < N; ++v) {
      column[v] = load_bits<I>(queries + v * kVectorBytes);
      hold(column[v]);
    }
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      const I key = splat(keys[m * words + w]);
      MPLUS_UNROLL for (int v = 0; v < N; ++v) sums[m][v] = add_products(sums[m][v], key, column[v]);
    }
  }
  copy_tile(acc, sums);
}

// Adds sigmoid(q · key) of N vectors of queries to sums[key][lane]; `last` lanes of the last vector count.
template <class Sigmoid, int N>
void add_panel(F* sums, const std::byte* panel, const KeyCodes& keys, std::int64_t n, std::int64_t words,
               std::int64_t last) {
  I lane{};
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  const I counted = lane < splat(static_cast<std::int32_t>(last));
  F scales[N];
  I begin[N];
  MPLUS_UNROLL for (int v = 0; v < N; ++v) {
    scales[v] = Sigmoid::scaled(load_bits<F>(panel + (words * N + v) * kVectorBytes));
    begin[v] = load_bits<I>(panel + ((words + 1) * N + v) * kVectorBytes) + Sigmoid::kFrom;
  }
  for_tiles<kTileKeys>(0, n, [&]<int M>(std::int64_t j) {
    I acc[M][N];
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      MPLUS_UNROLL for (int v = 0; v < N; ++v) acc[m][v] = begin[v];
    }
    add_dots(acc, keys.words + j * words, words, panel);
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      const F scale = splat(keys.scales[j + m]);
      F total = sums[j + m];
      MPLUS_UNROLL for (int v = 0; v < N - 1; ++v) total = Sigmoid::add(total, acc[m][v], scales[v] * scale);
      const F rest = Sigmoid::add(F{}, acc[m][N - 1], scales[N - 1] * scale);
      sums[j + m] = total + as_float(as_int(rest) & counted);
    }
  });
}

template <class Sigmoid>
MPLUS_INLINE void score(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch) {
  const auto [scores, packed, keys, dtype, T, d_r] = job;
  const std::int64_t words = words_of(d_r);
  F* sums = reinterpret_cast<F*>(scratch);
  const KeyCodes codes = codes_in(scratch + kKeys * kVectorBytes, words);
  for (; j0 < j1; j0 += kKeys) {
    const std::int64_t n = min_of(kKeys, j1 - j0);
    copy_keys(codes, keys + j0 * (d_r + kKeyScaleBytes), n, d_r);
    for (std::int64_t j = 0; j < n; ++j) sums[j] = F{};
    const std::byte* panel = packed;
    for (std::int64_t t = 0; t < T; t += kQueries) {
      const std::int64_t count = min_of(kQueries, T - t);
      const std::int64_t vectors = (count + kLanes - 1) / kLanes;
      const std::int64_t last = count - (vectors - 1) * kLanes;
      if (vectors == 1) add_panel<Sigmoid, 1>(sums, panel, codes, n, words, last);
      if (vectors == 2) add_panel<Sigmoid, 2>(sums, panel, codes, n, words, last);
      if constexpr (kMostVectors == 3) {
        if (vectors == 3) add_panel<Sigmoid, 3>(sums, panel, codes, n, words, last);
      }
      panel += vectors * (words + kAfterWords) * kVectorBytes;
    }
    for (std::int64_t j = 0; j < n; ++j) scores[j0 + j] = sum(sums[j]) / static_cast<float>(T);
  }
}

}  // namespace

std::size_t packed_queries_i8_size(std::int64_t T, std::int64_t d_r) {
  return static_cast<std::size_t>((T + kLanes - 1) / kLanes * (words_of(d_r) + kAfterWords) * kVectorBytes);
}

// Panels of kQueries, the last of as many whole vectors as it needs: [words, width] of kCodes each, then
// [width] scales, and what the offset of keys adds to the sums, negative.
void pack_queries_i8(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r) {
  const std::int64_t words = words_of(d_r);
  for (std::int64_t t0 = 0; t0 < T; t0 += kQueries) {
    const std::int64_t count = min_of(kQueries, T - t0);
    const std::int64_t width = (count + kLanes - 1) / kLanes * kLanes;
    __builtin_memset(packed, 0, static_cast<std::size_t>((words + kAfterWords) * width * 4));
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const float* query = q + (t0 + lane) * d_r;
      const QueryScale scale = scale_of(query, d_r);
      std::int32_t total = 0;
      for (std::int64_t i = 0; i < d_r; ++i) {
        const auto code = static_cast<Code>(rounded(query[i] * scale.inverse));
        __builtin_memcpy(
            packed + (i / kCodes * width + lane) * 4 + i % kCodes * static_cast<std::int64_t>(sizeof code),
            &code, sizeof code);
        total -= kByteOffset * code;
      }
      __builtin_memcpy(packed + (words * width + lane) * 4, &scale.value, sizeof scale.value);
      __builtin_memcpy(packed + ((words + 1) * width + lane) * 4, &total, sizeof total);
    }
    packed += (words + kAfterWords) * width * 4;
  }
}

std::size_t score_i8_scratch(std::int64_t d_r) {
  return static_cast<std::size_t>(kKeys * (kVectorBytes + words_of(d_r) * 4 + 4));
}

void score_keys_i8(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch) {
  score<ExactSigmoid>(job, j0, j1, scratch);
}

#if defined(MPLUS_SHORT_SIGMOID)
void score_keys_i8_fast(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch) {
  score<ShortSigmoid>(job, j0, j1, scratch);
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
