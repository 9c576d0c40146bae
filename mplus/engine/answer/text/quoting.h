// An answer word for word out of a text: what was said in a conversation, a note that waits to be written. Of
// the tokens that go on with such words the likeliest is taken, though another may be likelier still (a small
// model says Belgium where it was told Leeds), as long as those that begin a word do not ask for too much
// together. Where the model says that it does not know, nothing is put into its mouth.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::engine {

class Quoting {
 public:
  // `ends`: tokens that end an answer. `no_answer`: how the model says that there is none. `most`: nats that
  // are given away in all. The tokenizer must outlive it.
  Quoting(const io::Tokenizer& tokenizer, std::string_view text, std::vector<io::TokenId> ends,
          std::string_view no_answer, double most);

  // By the logits of the token to come; none: nothing that stands in the text is likely enough.
  std::optional<io::TokenId> next(std::span<const float> logits);

 private:
  bool goes_on(std::string_view piece) const;
  bool stands_at(std::size_t at, std::string_view piece) const;
  bool denies(std::string_view piece) const;  // with it, what was said begins like `no_answer`
  std::string piece_of(io::TokenId id) const;
  bool is_whole() const;  // what was said ends with a word

  const io::Tokenizer& tokenizer_;
  std::string text_, said_;
  std::string no_answer_;            // in small letters
  std::vector<std::size_t> places_;  // in the text, where what was said ends
  std::vector<io::TokenId> ends_;
  double most_, given_ = 0;
};

}  // namespace mplus::engine
