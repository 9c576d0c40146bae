// A checksum over the metadata of a session's file: seed, sizes and ids decide as much as the tensors do.
#pragma once

#include <string>

#include "mplus/io/weights/safetensors.h"

namespace mplus::engine {

// Over all fields but the one of this name, which holds it; files of older programs have none.
inline constexpr const char* kMetadataChecksum = "checksum.metadata";
std::string metadata_checksum(const io::StringMap& metadata);

}  // namespace mplus::engine
