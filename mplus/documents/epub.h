// EPUB 2 and 3: the title, then the chapters in the order in which they are read.
#pragma once

#include <string>
#include <string_view>

#include "mplus/documents/reading.h"

namespace mplus::documents {

std::string epub_text(const Reading& reading, std::string_view bytes);

}  // namespace mplus::documents
