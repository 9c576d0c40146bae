// A regular expression out of a tokenizer file, run by PCRE2 with its just-in-time compiler. The file may be
// hostile: patterns are bounded in size, matches in steps.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace mplus::io {

// Immutable; each thread searches with a Search of its own.
class Regex {
 public:
  // Throws unsupported for a pattern that PCRE2 cannot compile; `name` is the file it came from.
  Regex(std::string_view pattern, std::string_view name);

  struct Match {
    std::size_t begin, end;
  };
  class Search {
   public:
    Search(const Regex& regex, std::string_view text);  // valid UTF-8
    // The next match, not before `from`; begin > text.size() if there is none.
    Match next(std::size_t from);

   private:
    const Regex& regex_;
    std::string_view text_;
    std::shared_ptr<pcre2_real_match_context_8> limits_;
    std::shared_ptr<pcre2_real_match_data_8> data_;
  };

 private:
  std::string pattern_;
  std::string name_;
  std::shared_ptr<pcre2_real_code_8> code_;
};

}  // namespace mplus::io
