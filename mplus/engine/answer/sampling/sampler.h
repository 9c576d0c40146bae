// Picks the next token from logits. Penalties and biases come first; then greedy at temperature 0, otherwise
// temperature, min-p, top-k and top-p in this order, and one draw from a counter-based generator
// (core/numbers/choose.h): the same seed and place give the same token, here and on a device.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "mplus/core/numbers/choose.h"
#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::engine {

struct SamplingOptions {
  float temperature = 0.0f;
  std::int64_t top_k = 0;                  // 0: all
  float top_p = 1.0f;                      // smallest set of tokens with this much probability
  float min_p = 0.0f;                      // drop tokens below this share of the best one's probability
  float repetition_penalty = 1.0f;         // divides what is likely, of the last tokens of prompt and answer
  float frequency_penalty = 0.0f;          // taken off for every time the answer has the token already
  float presence_penalty = 0.0f;           // taken off once if it has
  std::map<io::TokenId, float> bias = {};  // added to a token's logit
  std::uint64_t seed = 0;

  bool leaves_logits_alone() const {
    return repetition_penalty == 1.0f && frequency_penalty == 0.0f && presence_penalty == 0.0f &&
           bias.empty();
  }
  // The most likely token, whatever was said before.
  bool takes_the_best() const { return temperature == 0 && leaves_logits_alone(); }
};

void check(const SamplingOptions& options);  // throws invalid_argument naming the field

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options, std::int64_t vocab);

  // What was said before, by which a token may be less likely.
  struct Said {
    std::span<const io::TokenId> recent = {};  // of prompt and answer
    std::span<const io::TokenId> answer = {};  // all of it
  };
  // `step` and `part` name the place in the random stream. Valid until the next call.
  Choice choice(const Said& said, std::uint32_t step, std::uint32_t part);
  io::TokenId pick(std::span<const float> logits, const Said& said, std::uint32_t step, std::uint32_t part);

 private:
  void note_edits(const Said& said);

  SamplingOptions options_;
  std::int64_t vocab_;
  std::vector<LogitEdit> edits_;  // one for a token, in the order of ids
  std::vector<float> edited_;
  ChoiceRoom room_;
};

// The most likely token; ties go to the lower id.
io::TokenId greedy(std::span<const float> logits);

// A token of an answer with its log probability, and the likeliest ones in its place, best first.
struct TokenChance {
  io::TokenId id = 0;
  double log_probability = 0;
};
struct TokenChances : TokenChance {
  std::vector<TokenChance> best;
};
TokenChances chances(std::span<const float> logits, io::TokenId id, std::size_t best);

// −log softmax(logits)[target], in double.
double negative_log_likelihood(std::span<const float> logits, io::TokenId target);

}  // namespace mplus::engine
