// Reads a text as plain context and answers questions behind it, again and again from the same reading: the
// untouched base model, or a delta's read adapter over an empty memory. Also scores text, and answers from a
// cache cut down to what the question attends to most (SnapKV). Uses its engine: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mplus/engine/engine.h"
#include "mplus/engine/session.h"
#include "mplus/memory/window.h"
#include "mplus/model/attention_cache.h"

namespace mplus::eval {

struct ReadAnswer {
  std::string text;
  std::vector<io::TokenId> tokens;
  double seconds = 0;
  double first_seconds = 0;  // until the first token was known
};

class ContextReader {
 public:
  // Without a delta the plain model; with one its read adapter and an empty memory, so that only bos is in
  // front.
  explicit ContextReader(engine::Engine& engine);

  std::int64_t capacity() const;  // tokens that may be read: the model's context
  std::int64_t size() const { return size_; }

  void clear();
  void read(std::span<const io::TokenId> ids);  // goes on behind what was read

  // Greedy; leaves the reading as it was. Throws out_of_capacity where text and answer do not fit.
  ReadAnswer answer(std::span<const io::TokenId> prompt, std::int64_t max_tokens, const std::string& stop);
  // As answer(), but from the second token on only `keep` rows of the text are left in each layer: those the
  // prompt's last `observers` tokens attend to most, summed over heads. Positions close up, as in a read with
  // memory.
  ReadAnswer answer_compressed(std::span<const io::TokenId> prompt, std::int64_t max_tokens,
                               const std::string& stop, std::int64_t keep, std::int64_t observers);
  // NLL of ids 1 … n−1 behind the reading (0 … n−1 where something stands in front); leaves the reading as it
  // was.
  std::vector<double> score(std::span<const io::TokenId> ids);

 private:
  model::ReadItem item(std::span<const io::TokenId> ids);
  void run(const model::ReadItem& item, const engine::TokenLogits& logits);
  void run(const model::ReadItem& item, std::vector<float>& next);
  void require_room(std::int64_t more) const;
  void step(std::span<const io::TokenId> ids, std::vector<float>& next);
  ReadAnswer generate(std::vector<float>& next, std::int64_t max_tokens, const std::string& stop,
                      const std::function<void(io::TokenId)>& read_token);
  void rewind();

  engine::Engine& engine_;
  memory::Memory empty_;
  model::AttentionCache cache_;
  memory::WindowRows rows_;     // of the text, for compression
  std::int64_t size_ = 0;       // tokens of the text, bos included
  std::int64_t text_rows_ = 0;  // rows of the cache that the text takes
};

}  // namespace mplus::eval
