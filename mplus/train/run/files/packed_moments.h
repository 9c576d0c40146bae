// Adam's moments of a tensor in 8 or 4 bits a number, in blocks of 256. What they are for is the step they
// make, m/√v, so that is what is kept: √v on a logarithmic scale, since steps are divided by it, and the
// ratio m/√v, evenly, since it is the step.
//
// The error of √v is at most 1/32 of an octave with 8 bits and 1/4 with 4, for what lies within 15.8 or 7
// octaves of the block's largest; smaller ones are raised to that, which makes their steps shorter, never
// longer. 0 stays 0. The error of the ratio is at most 1/254 or 1/14 of the block's largest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mplus::train {

struct PackedMoments {
  std::vector<std::uint8_t> root, ratio;       // 4 bits: two numbers a byte, the first one low
  std::vector<float> root_scale, ratio_scale;  // the largest of each block
};

PackedMoments pack_moments(std::span<const float> first, std::span<const float> second, int bits);

struct PackedMomentsView {
  std::span<const std::uint8_t> root, ratio;
  std::span<const float> root_scale, ratio_scale;
};
// The spans must have the sizes pack_moments() makes.
void unpack_moments(const PackedMomentsView& packed, int bits, std::span<float> first,
                    std::span<float> second);

std::size_t packed_codes(std::size_t numbers, int bits);  // size of root and ratio
std::size_t packed_blocks(std::size_t numbers);           // size of the scales

}  // namespace mplus::train
