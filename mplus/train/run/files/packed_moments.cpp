#include "mplus/train/run/files/packed_moments.h"

#include <algorithm>
#include <cmath>

#include "mplus/core/error.h"

namespace mplus::train {
namespace {

constexpr std::size_t kBlock = 256;

struct Levels {
  int roots;     // codes 1 … roots; 0 is zero
  float octave;  // roots in an octave
  int ratios;    // codes −ratios … ratios, stored with `ratios` added
};
Levels levels(int bits) {
  MPLUS_CHECK(bits == 8 || bits == 4, "moments in {} bits", bits);
  return bits == 8 ? Levels{255, 16, 127} : Levels{15, 2, 7};
}

int root_code(float root, float largest, const Levels& l) {
  if (root <= 0) return 0;
  const auto below = static_cast<int>(std::lround(l.octave * std::log2(largest / root)));
  return std::max(1, l.roots - below);
}
float root_of(int code, float largest, const Levels& l) {
  return code == 0 ? 0 : largest * std::exp2(static_cast<float>(code - l.roots) / l.octave);
}

void put(std::vector<std::uint8_t>& codes, std::size_t i, int code, int bits) {
  if (bits == 8) codes[i] = static_cast<std::uint8_t>(code);
  else codes[i / 2] = static_cast<std::uint8_t>(codes[i / 2] | code << (i % 2 * 4));
}
int get(std::span<const std::uint8_t> codes, std::size_t i, int bits) {
  return bits == 8 ? codes[i] : codes[i / 2] >> (i % 2 * 4) & 15;
}

}  // namespace

std::size_t packed_codes(std::size_t numbers, int bits) {
  return (numbers * static_cast<std::size_t>(bits) + 7) / 8;
}
std::size_t packed_blocks(std::size_t numbers) { return (numbers + kBlock - 1) / kBlock; }

PackedMoments pack_moments(std::span<const float> first, std::span<const float> second, int bits) {
  const Levels l = levels(bits);
  const std::size_t n = first.size();
  PackedMoments out;
  out.root.resize(packed_codes(n, bits));
  out.ratio.resize(packed_codes(n, bits));
  std::vector<float> ratios(kBlock);
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t size = std::min(kBlock, n - begin);
    const float largest = std::sqrt(std::max(0.f, *std::max_element(&second[begin], &second[begin] + size)));
    float largest_ratio = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (!std::isfinite(first[begin + i]) || !std::isfinite(second[begin + i]))
        fail(ErrorCode::corrupt, "a moment that is no number cannot be packed");
      const int code = root_code(std::sqrt(std::max(0.f, second[begin + i])), largest, l);
      put(out.root, begin + i, code, bits);
      // Over the root as it will be read, so that its rounding does not add to that of m.
      const float root = root_of(code, largest, l);
      ratios[i] = root > 0 ? first[begin + i] / root : 0;
      largest_ratio = std::max(largest_ratio, std::abs(ratios[i]));
    }
    for (std::size_t i = 0; i < size; ++i) {
      const float even = largest_ratio > 0 ? ratios[i] / largest_ratio * static_cast<float>(l.ratios) : 0;
      put(out.ratio, begin + i, l.ratios + static_cast<int>(std::lround(even)), bits);
    }
    out.root_scale.push_back(largest);
    out.ratio_scale.push_back(largest_ratio);
  }
  return out;
}

void unpack_moments(const PackedMomentsView& packed, int bits, std::span<float> first,
                    std::span<float> second) {
  const Levels l = levels(bits);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::size_t block = i / kBlock;
    const float root = root_of(get(packed.root, i, bits), packed.root_scale[block], l);
    const auto even = static_cast<float>(get(packed.ratio, i, bits) - l.ratios);
    first[i] = root * packed.ratio_scale[block] * even / static_cast<float>(l.ratios);
    second[i] = root * root;
  }
}

}  // namespace mplus::train
