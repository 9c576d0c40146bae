// Messages that nobody need have told anything for: greetings, tasks, what everybody knows. Those the base
// model answers by itself, as it would without a delta (docs/talk.md). Which they are its own hidden state
// tells; what memory or window say of the matter comes first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/config/memory_config.h"

namespace mplus::engine {

enum class Talk : std::uint8_t {
  no,     // it asks for what may have been told
  maybe,  // memory is asked first; what does not stand in its text is no answer
  yes,
};

// `hidden` [d], `weights` [d + 1].
double talk_score(std::span<const float> hidden, std::span<const float> weights);
Talk talk_by(double score, const io::TalkProbe& probe);

class TalkWords {
 public:
  explicit TalkWords(std::string_view message);

  // Most of what the message speaks of stands in this text: it may be about that.
  bool are_in(std::string_view text) const;

 private:
  std::vector<std::string> words_;  // of weight, each once
};

// Word for word, but for an article and a period.
bool stands_in(std::string_view answer, std::string_view text);

}  // namespace mplus::engine
