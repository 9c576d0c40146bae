// Picks the next token from logits. Greedy at temperature 0; otherwise repetition penalty, temperature,
// top-k, min-p and top-p in this order, and one draw from a counter-based generator: the same seed and place
// give the same token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::engine {

struct SamplingOptions {
  float temperature = 0.0f;
  std::int64_t top_k = 0;  // 0: all
  float top_p = 1.0f;      // smallest set of tokens with this much probability
  float min_p = 0.0f;      // drop tokens below this share of the best one's probability
  float repetition_penalty = 1.0f;
  std::uint64_t seed = 0;
};

void check(const SamplingOptions& options);  // throws invalid_argument naming the field

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options, std::int64_t vocab);

  // `recent`: tokens whose repetition is penalised. `step` and `part` name the place in the random stream.
  io::TokenId pick(std::span<const float> logits, std::span<const io::TokenId> recent, std::uint32_t step,
                   std::uint32_t part);

 private:
  struct Candidate {
    float logit;
    io::TokenId id;
  };
  void penalise(std::span<const io::TokenId> recent);
  io::TokenId draw(std::uint32_t step, std::uint32_t part);

  SamplingOptions options_;
  std::vector<Candidate> candidates_;  // sized once: picking allocates nothing
  std::vector<double> probabilities_;
};

// The most likely token; ties go to the lower id.
io::TokenId greedy(std::span<const float> logits);

// −log softmax(logits)[target], in double.
double negative_log_likelihood(std::span<const float> logits, io::TokenId target);

}  // namespace mplus::engine
