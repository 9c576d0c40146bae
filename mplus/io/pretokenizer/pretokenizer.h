// Cuts text into the pieces that byte-pair encoding works on alone: "pre_tokenizer" of tokenizer.json, as far
// as byte-level tokenizers use it. The three patterns nearly all of them use are written out by hand (fast,
// linear, and on our own tables); any other one runs in PCRE2. Immutable after construction, safe to share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::io {

// Patterns as tokenizer.json spells them.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// One cut. Each step cuts further what the steps before it left whole.
struct PreTokenizerStep {
  enum class CutKind {
    digits,        // every digit a piece of its own
    digit_runs,    // every run of digits
    pattern,       // every match of `pattern`, and every stretch between matches
    prefix_space,  // a space in front of every piece that has none
  };
  CutKind kind;
  std::string pattern;
};

class Regex;

class PreTokenizer {
 public:
  // Takes pieces in text order. Byte p of `bytes` stands at begin + p in the text (an added space before it).
  class Sink {
   public:
    virtual void piece(std::string_view bytes, std::int64_t begin) = 0;

   protected:
    ~Sink() = default;
  };

  // Throws unsupported for a pattern that does not compile, naming the file `name`. With use_pcre the known
  // patterns run there, too: so that tests can hold the two together.
  PreTokenizer(const std::vector<PreTokenizerStep>& steps, std::string_view name, bool use_pcre = false);

  // `text` is valid UTF-8 and starts at `begin`. Throws out_of_capacity where a file's own pattern needs too
  // many steps on this text.
  void split(std::string_view text, std::int64_t begin, Sink& sink) const;

  // The rules as one line of text: for fingerprints.
  const std::string& description() const { return description_; }

 private:
  struct Step {
    enum class MatcherKind { digits, digit_runs, gpt2, llama3, regex, prefix_space } kind;
    int longest_number = 0;  // llama3
    std::shared_ptr<const Regex> regex;
  };
  void run(std::size_t step, std::string_view text, std::int64_t begin, Sink& sink) const;

  std::vector<Step> steps_;
  std::string description_;
};

}  // namespace mplus::io
