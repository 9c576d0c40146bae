// Pages of large memory. A page that is first written to costs a fault of a microsecond; made together, pages
// cost half as much, large ones far less. Both functions are hints: the system may decline.
#pragma once

#include <cstddef>

namespace mplus {

// Before anything is written there.
void ask_for_large_pages(void* data, std::size_t size_bytes);
// Of memory that will be written to from end to end; what is there stays.
void make_pages(void* data, std::size_t size_bytes);

}  // namespace mplus
