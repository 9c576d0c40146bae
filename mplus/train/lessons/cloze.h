// Questions made from any English text: a name, a number or a word of a sentence is taken out, and the rest
// of the sentence asks for it. Poor questions beside those of people, but of any text there is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mplus/train/lessons/random.h"

namespace mplus::train {

struct Cloze {
  std::string question, answer;  // the answer stands in the text as it is, and not in the question
};

// None: no whole sentence of the text has something to ask for. Sentences at the edges of the text may be cut
// off and are left alone.
std::optional<Cloze> make_cloze(std::string_view text, Random& random);

}  // namespace mplus::train
