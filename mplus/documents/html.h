// HTML as a person reads it.
#pragma once

#include <string_view>

#include "mplus/documents/page_text.h"

namespace mplus::documents {

enum class HtmlTitle { shown, left_out };  // chapters of a book often repeat the book's as theirs

// Adds the page's text. Left out: scripts, styles, navigation, forms' controls and what is hidden.
void add_html(const Reading& reading, std::string_view bytes, std::string_view media_type, HtmlTitle title,
              PageText& page);

}  // namespace mplus::documents
