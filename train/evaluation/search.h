// Which chunks a batch of questions finds in the memories of its streams: the votes of docs/recall.md for
// many questions at once. A chunk's rows have births in a row, so scores lie by birth and nothing has to be
// sorted to be grouped.
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/train/model/model.h"
#include "mplus/train/model/stream_memory.h"

namespace mplus::train {

// Votes on chunks 0 … n − 1; a chunk that is not held has vote 0.
struct ChunkVotes {
  Tensor votes;          // [Q, n], double
  Tensor held;           // [Q, n], bool: some layer has rows of it
  Tensor order() const;  // [Q, n], int64: chunks by falling vote, ties older first
};

// total = standardised vote + standardised words over the chunks that are held (memory::with_prior, weight
// 1).
ChunkVotes with_words(const ChunkVotes& votes, const Tensor& words);

class ChunkSearch {
 public:
  // normed: [L] of [Q, T, d], from a read of the questions without long-term rows; askers [Q, T]; streams
  // [Q]: the memory each question asks. The memory must outlive it and stay as it is.
  ChunkSearch(const Model& model, const StreamMemory& memory, const std::vector<Tensor>& normed,
              const Tensor& askers, const Tensor& streams);

  const ChunkVotes& long_term() const { return long_term_; }    // what recall goes by
  const ChunkVotes& everything() const { return everything_; }  // short-term rows, too: what is ranked
  // Rows of each chunk over all layers, [Q, n] in double.
  const Tensor& long_term_rows() const { return long_term_rows_; }
  const Tensor& short_term_rows() const { return short_term_rows_; }

  // Rows of the store that each layer takes, best chunk first, until K0 are taken: [L] of [Q, k]; none where
  // the store is empty. by_score: the last chunk gives its best-scored rows, else its oldest.
  std::vector<Tensor> take(const Tensor& order, bool by_score) const;

 private:
  std::vector<Tensor> take_of_best(const Tensor& order, std::int64_t chunks, bool by_score,
                                   bool& enough) const;

  std::int64_t K_, most_;       // most_: rows a layer takes
  Tensor streams_;              // [Q]
  std::vector<Tensor> scores_;  // [L] of [Q, n, K]: of long-term rows by birth, −inf where there is none
  std::vector<Tensor> places_;  // [L] of [S, n · K]: the row of each birth in its stream's store
  ChunkVotes long_term_, everything_;
  Tensor long_term_rows_, short_term_rows_;
};

}  // namespace mplus::train
