// Passages for questions, cut out of files of texts (JSON lines, plain, xz or zstd): running prose in whole
// paragraphs or sentences, of the size that a chunk holds. No torch in here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::train {

struct TextPassage {
  std::string source, title;  // the file's name and the text's title, where it has one
  std::string text;
};

// The passages of one text: tables, lists, code and headings are left out.
std::vector<std::string> passages_of(std::string_view text);

// Up to `most` passages of a file, spread over all of it. Texts are the lines' "text", or their "context", or
// a long first answer; those that are held out of training (token_data.h) are left out here, too.
std::vector<TextPassage> read_passages(const std::filesystem::path& file, std::int64_t most);

}  // namespace mplus::train
