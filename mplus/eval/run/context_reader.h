// Reads a text as plain context and answers questions behind it, again and again from the same reading: the
// untouched base model, or a delta's read adapter over an empty memory. Also scores text, and answers from a
// window cut down to what the question attends to most (SnapKV). Uses its engine: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mplus/engine/engine.h"
#include "mplus/engine/session.h"

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
  std::int64_t size() const { return std::ssize(read_.window()); }

  void clear();
  void read(std::span<const io::TokenId> ids);  // goes on behind what was read

  // Greedy; leaves the reading as it was. Throws out_of_capacity where text and answer do not fit.
  ReadAnswer answer(std::span<const io::TokenId> prompt, std::int64_t max_tokens, const std::string& stop);
  // As answer(), but from the second token on only `keep` rows of the text are left in each layer: those the
  // prompt's last `observers` tokens attend to most, summed over heads. Positions close up, as in a read with
  // memory.
  ReadAnswer answer_compressed(std::span<const io::TokenId> prompt, std::int64_t max_tokens,
                               const std::string& stop, std::int64_t keep, std::int64_t observers);
  // NLL of ids 1 … n−1 behind the reading; leaves the reading as it was.
  std::vector<double> score(std::span<const io::TokenId> ids);

 private:
  void require_room(std::int64_t more) const;

  engine::Engine& engine_;
  engine::Session read_;  // its window is the reading
};

}  // namespace mplus::eval
