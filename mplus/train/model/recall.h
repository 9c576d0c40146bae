// Which long-term rows a read takes in: scores of the retriever and the rules that choose by them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mplus/train/model/model.h"
#include "mplus/train/model/stream_memory.h"

namespace mplus::train {

// Called once in each layer of a read that keeps a memory, by place, with its normed input [B, T, d]; returns
// rows of that layer's store, [B, k], in any order: the read sorts them by birth. No gradient passes through
// a choice.
using Recall = std::function<Tensor(std::int64_t place, const Tensor& normed)>;

// Weights [B, T] that sum to 1: of T tokens those in [from[b], to[b]) ask, all alike.
Tensor range_weights(const Tensor& from, const Tensor& to, std::int64_t T);
Tensor prefix_weights(const Tensor& lengths, std::int64_t T);  // the first lengths[b] ask

// p_j = Σ_t weights_t · sigmoid(q_t · k_j), [B, n]. queries [B, T, d_r], keys [B, n, d_r].
Tensor recall_scores(const Tensor& queries, const Tensor& keys, const Tensor& weights);

// The `most` best rows by scores [B, n], best first; all where there are fewer. Of equal scores the older
// wins.
Tensor best_rows(const Tensor& scores, const Tensor& births, std::int64_t most);

// The paper's rule: every layer takes its K0 best rows (all where it holds fewer); of equal scores the older
// wins. askers: [M] of [B, T], or one for all layers.
Recall recall_per_layer(const Model& model, const StreamMemory& memory, std::vector<Tensor> askers);

// Recall by consensus (docs/recall.md): the layers' votes on chunks 0 … n − 1, [B, n] in double, from scores
// and chunks of long-term rows ([M] of [B, m]). top: a chunk's best scores that count, 0: all. layer_weights
// [M]; undefined: all alike.
Tensor chunk_votes(const std::vector<Tensor>& scores, const std::vector<Tensor>& chunks, std::int64_t n,
                   std::int64_t top, const Tensor& layer_weights);
// Rows of every layer, best chunk first, until K0 are taken: [M] of [B, k].
std::vector<Tensor> rows_by_vote(const Tensor& votes, const std::vector<Tensor>& scores,
                                 const std::vector<Tensor>& chunks, const std::vector<Tensor>& births,
                                 std::int64_t K0);
// Both for questions that were read before without long-term rows: `normed` is what that read kept.
Recall recall_consensus(const Model& model, const StreamMemory& memory, const std::vector<Tensor>& normed,
                        const Tensor& askers);

// Rows chosen elsewhere: [M] of [B, k].
Recall recall_given(std::vector<Tensor> rows);

}  // namespace mplus::train
