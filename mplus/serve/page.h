// The files of the page, as they stand in serve/page/, inside the program.
#pragma once

#include <span>
#include <string_view>

namespace mplus::serve {

struct PageFile {
  std::string_view name, bytes;
};
std::span<const PageFile> page_files();

}  // namespace mplus::serve
