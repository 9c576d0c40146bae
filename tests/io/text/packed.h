// Bytes compressed as files are.
#pragma once

#include <string>

namespace mplus::io::test {

std::string packed_xz(const std::string& text);
std::string packed_zstd(const std::string& text);

}  // namespace mplus::io::test
