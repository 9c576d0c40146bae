// Made-up facts and conversations for training: short statements of invented people, things, events, firms,
// places, machines …, questions for them, and the talk around them. English, text only; no word of it comes
// from the evaluation sets (tests/train/lessons/made_facts_test.cpp). A maker belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/train/lessons/made/kinds.h"

namespace mplus::train {

struct MadeFact {
  std::string
      key;  // what it is about, "kind|field|field": two facts with the same key would contradict each other
  std::vector<std::string> statements;  // ways to tell it, each a whole sentence with the answer in it (≥ 3)
  std::vector<std::string> questions;   // ways to ask for it, none with the answer in it (≥ 4)
  std::string answer;                   // 1–8 words
};

struct MadeTurn {
  std::string user, assistant;
};

// What makers have in common that tell facts to the same memory. In a world of its own a maker uses some of
// the kinds only and few words of each list, or half of its names from the same two hundred: facts of
// different makers share kind and names without being the same. How narrow it is depends on the seed.
struct World {
  std::uint64_t seed = 0;  // 0: all kinds, any names
  // Makers of different parts never tell facts with the same key.
  std::uint32_t part = 0, parts = 1;
};

// The same seed gives the same facts on every machine. Many facts share a name or a kind with one made
// shortly before, as what a memory must keep apart; a key does not come again within kDistinct facts.
class FactMaker {
 public:
  static constexpr std::size_t kDistinct = 512;

  explicit FactMaker(std::uint64_t seed, const World& world = {});

  MadeFact fact();
  MadeFact changed(
      const MadeFact& fact);  // the same key and questions with another answer: told a second time
  // What a told fact is easily taken for: the same is asked of another name, or something else of the same
  // ones. No statements, and the answer is that it is not known. None: no such key is this maker's, or none
  // is found quickly.
  std::optional<MadeFact> mistaken(const MadeFact& fact);
  MadeTurn small_talk();                                         // nothing in it could be asked for later
  MadeTurn telling(const std::vector<std::string>& statements);  // told by the user, taken note of

 private:
  const made::FactKind& choose_kind();
  std::string draw_field(std::size_t field);
  bool is_new(const std::string& key);
  bool is_ours(const std::string& key) const;
  std::vector<std::string> ask(const made::FactKind& kind, const std::vector<std::string>& fields);
  void append_framed(const std::vector<std::string_view>& frames, std::string_view text,
                     std::vector<std::string>& questions);
  void answer(const made::FactKind& kind, const std::vector<std::string>& fields, std::string_view not_this,
              MadeFact& fact);

  World world_;
  std::uint32_t width_;                       // of every list of words; 0: whole lists
  std::vector<const made::FactKind*> kinds_;  // those of a narrow world; empty: all
  made::TextDraw draw_;
  std::array<const made::FactKind*, 8> recent_kinds_{};
  std::size_t kinds_chosen_ = 0;
  struct Value {
    std::string text;
    std::size_t keys_made;  // when it was drawn
  };
  struct Recent {
    std::vector<Value> values;
    std::size_t next = 0;
  };
  std::vector<Recent> recent_fields_;  // by field
  std::vector<std::uint64_t> recent_keys_;
  std::size_t keys_made_ = 0;
};

std::string_view unknown_answer();  // what to answer to a question for something never told

}  // namespace mplus::train
