// Tokens of one file, kept on disk. A cache file holds its key and a hash over everything; whatever does not
// fit (another key or version, cut off, damaged) counts as absent. Written atomically, so several processes
// may share a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mplus/train/lessons/token_data.h"

namespace mplus::train {

struct CacheKey {
  std::string name;    // of the set: only to tell the files apart by eye
  std::string sha256;  // of the file the tokens come from
  std::uint64_t tokenizer;
};

// A set and what was wrong with its file, each as "line: what": told again whenever the set is used.
template <class Set>
struct Cached {
  Set set;
  std::vector<std::string> bad_lines;
};

// <name>-<file's hash>-<tokenizer's>.<kind>-<version>
template <class Set>
std::filesystem::path cache_file(const std::filesystem::path& folder, const CacheKey& key);
template <class Set>
std::optional<Cached<Set>> read_cache(const std::filesystem::path& folder, const CacheKey& key);
template <class Set>
void write_cache(const std::filesystem::path& folder, const CacheKey& key, const Cached<Set>& content);

}  // namespace mplus::train
