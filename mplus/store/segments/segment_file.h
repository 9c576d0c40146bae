// A segment in a file: an immutable safetensors file with the rows of every layer (docs/store_format.md,
// "Segment"). The header holds a checksum for every tensor and is verified when the file is opened; births
// are, too; keys and values when they are first looked at.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mplus/memory/long_term.h"

namespace mplus::store {

inline constexpr const char* kSegmentFormat = "mplus-segment";
inline constexpr int kSegmentVersion = 1;
inline constexpr int kSmallSegmentVersion = 2;      // rows in few bits, births as differences
inline constexpr std::int64_t kSegmentRows = 2048;  // a layer: 55 MB of the default model

struct SegmentFile {
  std::string file;  // its name in the store's folder
  std::int64_t size = 0;
  std::string header;  // checksum, 16 hexadecimal digits
};

// Of a safetensors file: over its first bytes, up to the end of the header that names and checks the rest.
std::string header_checksum(const std::filesystem::path& path);

// Rows of all layers are kept in one format.
SegmentFile write_segment(const std::filesystem::path& path, const memory::Layout& layout,
                          const std::vector<memory::Rows>& rows);

// Throws not_found, corrupt or unsupported naming the file and what is wrong with it.
memory::LongTermStore::Replacement open_segment(const std::filesystem::path& path,
                                                const memory::Layout& layout, const SegmentFile& expected);
void verify_segment(const std::filesystem::path& path, const SegmentFile& expected);  // every byte

}  // namespace mplus::store
