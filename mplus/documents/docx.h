// Word's .docx (Office Open XML): paragraphs, lists, tables and notes. Left out: what a tracked change
// deleted or moved away, hidden text, fields' codes, headers and footers.
#pragma once

#include <string>
#include <string_view>

#include "mplus/documents/reading.h"

namespace mplus::documents {

std::string docx_text(const Reading& reading, std::string_view bytes);

}  // namespace mplus::documents
