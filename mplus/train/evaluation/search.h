// Which chunks a batch of questions finds in the memories of its streams: the votes of docs/recall.md for
// many questions at once. A chunk's rows have births in a row, so scores lie by birth and nothing has to be
// sorted to be grouped.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mplus/core/numbers/row_format.h"
#include "mplus/train/evaluation/reader.h"
#include "mplus/train/model/model.h"
#include "mplus/train/model/stream_memory.h"

namespace mplus::train {

// Votes on chunks 0 … n − 1; a chunk that is not held has vote 0.
struct ChunkVotes {
  Tensor votes;           // [Q, n], double
  Tensor held;            // [Q, n], bool: some layer has rows of it
  Tensor order() const;   // [Q, n], int64: chunks by falling vote, ties older first
  Tensor behind() const;  // [Q, n]: standard deviations, over those held, below the best
  // [Q, n], bool: chunks up to so many standard deviations, over those held, below the best
  // (memory::Votes::leaders).
  Tensor leaders(double margin) const;
};

// What each layer takes; empty where nothing is stored. K0 rows a question unless there are fewer, or the
// model's recall counts short-term rows, or keeps to the leaders.
using TakenRows = std::vector<ChosenRows>;

// total = standardised vote + standardised words over the chunks that are held (memory::with_prior, weight
// 1).
ChunkVotes with_words(const ChunkVotes& votes, const Tensor& words);

// Scores [Q, m] of the store of a layer, by place, for queries [Q, T, d_r] in float32. Rows that are kept in
// few bits, of either kind, have int8 keys.
Tensor stored_scores(const StreamMemory& memory, std::int64_t place, RowFormat rows, const Tensor& queries,
                     const Tensor& askers, const Tensor& streams);

class ChunkSearch {
 public:
  // normed: [M] of [Q, T, d], from a read of the questions without long-term rows; askers [Q, T]; streams
  // [Q]: the memory each question asks; rows: how long-term rows are kept. The memory must outlive it and
  // stay as it is.
  ChunkSearch(const Model& model, const StreamMemory& memory, const std::vector<Tensor>& normed,
              const Tensor& askers, const Tensor& streams, RowFormat rows = RowFormat::plain);

  const ChunkVotes& everything() const { return everything_; }  // short-term rows, too: what is ranked
  // Rows of each chunk over all layers, [Q, n] in double.
  const Tensor& long_term_rows() const { return long_term_rows_; }
  const Tensor& short_term_rows() const { return short_term_rows_; }

  // What recall puts in order: the store's chunks, or all of them, as the model says.
  const ChunkVotes& competing() const { return over_everything_ ? everything_ : long_term_; }

  bool has_choice() const { return most_ > 0; }  // else memory is read as a whole
  // Rows that each layer takes: of `chosen` chunks ([Q], counted from the best in `order`), best chunk first,
  // until K0 are taken. by_score: the last chunk gives its best-scored rows, else its oldest. `from`: rows of
  // the store, or also slots of short-term memory, which are numbered behind them; where these compete, they
  // count among the K0 in either case.
  enum class From { store, everything };
  TakenRows take(const Tensor& order, const Tensor& chosen, bool by_score, From from = From::store) const;

 private:
  TakenRows take_of_best(const Tensor& order, const Tensor& chosen, std::int64_t chunks, bool by_score,
                         From from, bool& enough) const;

  bool over_everything_;
  std::int64_t K_, most_;  // most_: rows a layer takes
  std::int64_t in_store_;  // rows of a layer's store
  Tensor streams_;         // [Q]
  std::vector<Tensor>
      scores_;  // [M] of [Q, n, K]: of the rows that compete by birth, −inf where there is none
  std::vector<Tensor> stored_;  // [M] of [Q, n, K], bool: which of them are in the store; if not all are
  std::vector<Tensor> places_;  // [M] of [S, n · K]: the row of each birth, slots behind those of the store
  ChunkVotes long_term_, everything_;
  Tensor long_term_rows_, short_term_rows_;
};

}  // namespace mplus::train
