// What is trained on: files of JSON lines (plain, xz or zstd), as tokens in memory. A file is tokenised once:
// the tokens are kept in a cache folder under the file's SHA-256 and the tokenizer's fingerprint, so another
// file or tokenizer is never mistaken for this one. A damaged cache file is made anew. No torch in here.
//
// A line that is not what it should be (JSON, fields, their types, UTF-8) is reported as file:line and
// skipped; too many of them, or nothing left, is an error. All of this is the same with and without the
// cache, and for any number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::train {

// Texts of one file as tokens, documents one after another. Lines: {"text"}; other fields are not looked at.
struct TextSet {
  std::string name;    // file name without suffixes
  std::string sha256;  // of the file
  std::vector<std::int32_t> tokens;
  std::vector<std::int64_t> starts;   // of documents in tokens, and the end: n + 1 numbers
  std::vector<std::uint64_t> hashes;  // of the documents' texts (XXH3), for split
};

// Questions on passages. Lines: {"question", "answers": […], "context"?, "title"?}. Passages of one file
// stand one after another, separated by "\n\n", so that a passage can be cut out with its neighbours around
// it; a passage's own tokens are those it has alone.
struct QuestionSet {
  struct Passage {
    std::int64_t start, length;  // in tokens
    std::int32_t article;        // passages of one title share it; one without a title has its own
    std::uint64_t hash;          // of the title, or without one of the text (XXH3), for split
  };
  struct Question {
    std::int32_t passage;  // −1: none
    std::string question;
    std::string answer;  // the first listed
  };
  std::string name, sha256;
  std::vector<std::int32_t> tokens;
  std::vector<Passage> passages;  // each distinct context once, in order of first appearance
  std::vector<Question> questions;
};

struct DataOptions {
  std::filesystem::path cache;  // folder, made when missing; empty: no cache
  std::int64_t bad_lines = 10;  // more than so many in a file is an error
  int threads = 0;              // 0: all
  std::function<void(const std::string&)>
      report;  // bad lines, and a line on each file; from the caller's thread
};

// Text is encoded with special tokens off, and without bos or eos.
TextSet load_text(const std::filesystem::path& file, const io::Tokenizer& tokenizer,
                  const DataOptions& options);
QuestionSet load_questions(const std::filesystem::path& file, const io::Tokenizer& tokenizer,
                           const DataOptions& options);

// One in a hundred is never trained on, to measure the loss on text of the same kind: a document whose text's
// hash is divisible by 100; an article whose title's hash is, all its passages and questions; a question
// without a passage by its own text. So the same ones are held out whatever the file, its order, the
// tokenizer or the run. A file of few long documents may have none; one that has nothing else is an error.
bool held_out(std::string_view text);

template <class Set>
struct Split {
  Set trained, held_out;
};
Split<TextSet> split(TextSet set);
Split<QuestionSet> split(QuestionSet set);

}  // namespace mplus::train
