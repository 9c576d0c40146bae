// Character sets of HTML: everything becomes UTF-8 before it is parsed.
#pragma once

#include <string>
#include <string_view>

#include "mplus/documents/reading.h"

namespace mplus::documents {

// By byte order mark; what is valid UTF-8 is that, ISO-2022-JP excepted; then as the media type says, as the
// first bytes of the page say (<meta charset>, <?xml encoding?>), and windows-1252 without any word of it, as
// browsers do.
std::string html_as_utf8(const Reading& reading, std::string_view bytes, std::string_view media_type);

}  // namespace mplus::documents
