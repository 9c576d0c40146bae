// Text cut into chunks of C tokens. A chunk is text, not ids: it must become the same number of tokens when
// it is written, so that one chunk is one update.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mplus/core/error.h"
#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::eval {

class Chunker {
 public:
  Chunker(const io::Tokenizer& tokenizer, std::int64_t C) : tokenizer_(tokenizer), C_(C) {
    MPLUS_CHECK(C > 0, "chunks of {} tokens", C);
  }

  struct Beginning {
    std::size_t bytes = 0;
    std::int64_t tokens = 0;
  };
  // The longest beginning of a text that is C tokens or fewer also by itself, and ends between characters.
  Beginning first(std::string_view text) const;
  // The same from the end: the last bytes that are at most n tokens, from the beginning of a word.
  std::string_view last(std::string_view text, std::int64_t n) const;

  std::int64_t count(std::string_view text) const;  // tokens
  std::int64_t size() const { return C_; }          // C

 private:
  const io::Tokenizer& tokenizer_;
  std::int64_t C_;
};

// A passage as the model meets it: C tokens of text, or less.
enum class ChunkForm { filled, paper };
std::string_view chunk_form_name(ChunkForm form);

struct PassageChunk {
  std::string text;
  std::size_t begin = 0, end = 0;  // bytes of the passage in it
};

// filled: the passage between its neighbours, C tokens in all; one longer than C is cut around the answer.
PassageChunk fill_chunk(const Chunker& chunker, std::string_view before, std::string_view passage,
                        std::string_view after, std::string_view answer);
// paper: "Context: " and the passage, cut to C.
PassageChunk paper_chunk(const Chunker& chunker, std::string_view passage);

}  // namespace mplus::eval
