// PDF, by poppler's pdftotext as a process of its own (limited_child.h): a reader of that size has faults,
// and they stay there.
#pragma once

#include <string>
#include <string_view>

#include "mplus/documents/reading.h"

namespace mplus::documents {

std::string pdf_text(const Reading& reading, std::string_view bytes);

}  // namespace mplus::documents
