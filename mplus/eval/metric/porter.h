// Porter's stemmer (1980) with the extensions of NLTK's default mode, which public scorers use.
#pragma once

#include <string>
#include <string_view>

namespace mplus::eval {

std::string porter_stem(std::string_view word);  // of a lower-case word

}  // namespace mplus::eval
