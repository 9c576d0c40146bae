// A checkpoint made small, to be carried over a slow line: weights in bfloat16, Adam's moments in 8 bits, or
// in 4 where 8 do not fit, or left out where 4 do not. A folder of pieces: safetensors files of at most 15
// MiB, and travel.json, which lists them with their hashes and is written last, so that it never names pieces
// that are not there.
#pragma once

#include <cstdint>
#include <filesystem>

namespace mplus::train {

struct TravelLimits {
  std::int64_t piece_bytes = 15 << 20;
  std::int64_t all_bytes = 60 << 20;
};

struct TravelSize {
  std::int64_t bytes = 0, pieces = 0;
  int moment_bits = 0;  // 0: left out; the learning rate warms up again where the run goes on
};

// Replaces what was packed into the folder before; nothing else in it is touched. Weights that are too large
// by themselves are packed all the same: see the size.
TravelSize pack_checkpoint(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                           const TravelLimits& limits = {});

bool holds_packed_checkpoint(const std::filesystem::path& folder);
// Throws not_found or corrupt, naming the piece, where one is missing or damaged.
void unpack_checkpoint(const std::filesystem::path& folder, const std::filesystem::path& checkpoint);

}  // namespace mplus::train
