// The second hop of a question over two facts told apart: "In which city does Ana's boss live?", where one
// passage says who Ana's boss is and another where that person lives. What a passage names beside what the
// question names is looked for in other passages, and the question is asked of it ("In which city does Peter
// Novak live?"): docs/hops.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/engine/answer/text/evidence.h"
#include "mplus/engine/answer/text/names.h"

namespace mplus::engine {

// Two passages and the name that leads from one to the other.
struct Link {
  std::int64_t from = 0, to = 0;  // chunks
  Name name;                      // stands in both, and not in the question
  std::string question;           // of that name
  std::size_t said = 0;           // of the question's words of weight, by both together
  // The first says a word of the question that the second does not: what leads there is what was asked for.
  bool certain = false;
};

class Hop {
 public:
  // Where passages are: the text of a chunk, and chunks that say these words, best first.
  struct Passages {
    std::function<std::string(std::int64_t chunk)> text;
    std::function<std::vector<std::int64_t>(std::string_view words)> find;
  };

  Hop(const Evidence& asked, std::string_view question);

  // The best way on from one of these passages; none where the question names nothing, asks for nothing
  // beyond what the passage says, or what is named there stands in no other passage.
  std::optional<Link> from(std::span<const std::int64_t> candidates, const Passages& passages) const;

  // An answer that was read from one passage alone: both of the link say more of what was asked.
  bool doubts(std::string_view answer, std::string_view passage, const Link& link) const;

 private:
  using Words = std::span<const TextWord>;
  using Said = std::vector<bool>;  // by word of the question
  // What stands for the one looked for ("the boss of Ana"): words [begin, end) of the question.
  struct Phrase {
    std::size_t begin = 0, end = 0;
    std::size_t noun = 0;  // the word that says what leads there
  };
  struct Search {
    const Passages& passages;
    std::optional<Link> best;
    int left;  // names that may still be looked for
  };
  std::optional<Phrase> phrase_at(std::size_t begin, std::size_t end) const;
  bool is_compound(std::size_t word) const;
  std::string question_of(const Name& name) const;
  bool asks_beyond_phrase() const;
  // Whether a sentence says what leads on ("boss"), or may say so in other words: it says nothing else that
  // leads on.
  enum class Fit { no, possible, said };
  Fit fit(Words sentence) const;
  Said said_in(Words words) const;
  bool is_asked(const Name& name) const;
  void look_beside_asked(std::int64_t chunk, Words sentence, Search& search) const;
  void follow(const Name& name, std::int64_t chunk, Words sentence, Search& search) const;
  std::optional<Link> link(const Said& first, const Said& second, Fit fits) const;

  std::string question_;
  std::vector<TextWord> words_;
  std::vector<Name> names_;
  std::vector<std::string> asked_;  // words of weight, each once
  std::optional<Phrase> phrase_;
};

}  // namespace mplus::engine
