// Sizes beyond which a configuration is not believed, chosen so that no product of a few of them overflows 64
// bits; private to this room.
#pragma once

#include <cstdint>
#include <string_view>

#include "mplus/io/config/model_config.h"
#include "mplus/io/text/json.h"

namespace mplus::io {

inline constexpr std::int64_t kMostLayers = 1 << 12;
inline constexpr std::int64_t kMostHidden = 1 << 20;
inline constexpr std::int64_t kMostHeads = 1 << 14;
inline constexpr std::int64_t kMostFfn = 1 << 22;
inline constexpr std::int64_t kMostVocab = 1 << 24;
inline constexpr std::int64_t kMostContext = std::int64_t{1} << 31;
inline constexpr std::int64_t kMostMemoryTokens = std::int64_t{1} << 36;
inline constexpr std::int64_t kMostRank = 1 << 16;

// What every source of a ModelConfig must satisfy; throws corrupt.
void check_heads(const ModelConfig& config, std::string_view file_name);
float checked_epsilon(double epsilon, std::string_view label);  // label: "file: field"
std::int64_t default_head_size(std::int64_t hidden, std::int64_t heads, std::string_view file_name);

// The fields of a config.json, for writers that add their own.
Json hf_config(const ModelConfig& config, std::string_view torch_dtype);

}  // namespace mplus::io
