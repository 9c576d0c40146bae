// What is in a file or folder we know, as a report. Throws Error where it is none of ours or damaged.
#pragma once

#include <filesystem>

#include "mplus/cli/output/json_output.h"

namespace mplus::cli {

struct InspectOptions {
  bool tensors = false;  // list every tensor
  bool sources = false;  // list a memory's sources
  bool verify = false;   // check every checksum
};

Json inspect_file(const std::filesystem::path& path, const InspectOptions& options);

}  // namespace mplus::cli
