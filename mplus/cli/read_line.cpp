#include "mplus/cli/read_line.h"

#include <cstdio>
#include <cstdlib>

namespace mplus::cli {

bool read_line(std::string& line) {
  char* text = nullptr;
  std::size_t capacity = 0;
  const ssize_t size = ::getline(&text, &capacity, stdin);
  if (size >= 0) line.assign(text, static_cast<std::size_t>(size));
  std::free(text);  // NOLINT: getline allocates with malloc
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return size >= 0;
}

}  // namespace mplus::cli
