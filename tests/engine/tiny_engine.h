// An engine on a tiny published model. It has no tokenizer: tests speak in ids. C is 512 and W 2048, as
// published.
#pragma once

#include <random>
#include <vector>

#include "mplus/engine/session.h"

namespace mplus::engine {

inline EngineOptions tiny_options(int threads = 1, DType dtype = DType::bf16) {
  EngineOptions options;
  options.files.model = MPLUS_TEST_DATA "/golden/mplus_read/model";
  options.threads = threads;
  options.memory.dtype = dtype;
  return options;
}

inline std::vector<io::TokenId> random_ids(std::size_t n, unsigned seed, unsigned vocab = 300) {
  std::mt19937 random(seed);
  std::vector<io::TokenId> ids(n);
  for (auto& id : ids) id = static_cast<io::TokenId>(3 + random() % (vocab - 3));  // 2 ends a text
  return ids;
}

// What a session would say next: enough to tell two states apart.
inline std::vector<io::TokenId> next_tokens(Session& session, unsigned seed = 5, std::int64_t n = 12) {
  GenerateOptions options;
  options.max_tokens = n;
  return session.generate_ids(random_ids(9, seed), options).tokens;
}

}  // namespace mplus::engine
