// Files of this folder that are part of the program.
#pragma once

#include <span>
#include <string_view>

namespace mplus::serve {

struct EmbeddedFile {
  std::string_view name, bytes;
};
std::span<const EmbeddedFile> page_files();     // page/: what a browser gets
std::span<const EmbeddedFile> openapi_files();  // openapi/: what the server can be asked for

}  // namespace mplus::serve
