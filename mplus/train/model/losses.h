// What is minimised: the cross-entropy of a text that is read, and the retriever loss.
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/train/model/model.h"
#include "mplus/train/model/stream_memory.h"
#include "mplus/train/processes/processes.h"

namespace mplus::train {

// −log p of targets [B, T] given the states that predict them [B, T, d]; any
// leading dims. In float32 at least.
Tensor token_nll(const Model& model, const Tensor& hidden, const Tensor& targets);

// Mean over x[:, 1:] of the NLL given the states of x[:, :-1]. tokens [B, T], hidden [B, T, d] of the same
// tokens.
Tensor next_token_loss(const Model& model, const Tensor& hidden, const Tensor& tokens);

// ½·mean over right tokens of −log(p + 1e-5) + ½·mean over wrong tokens of −log(1 − p + 1e-5). The means are
// taken over all layers, streams and tokens together; an empty set adds 0. p, right: [M] of [B, n]; right is
// 0 or 1. Of several processes each gets its streams' part of the loss of all.
Tensor retriever_loss(const std::vector<Tensor>& p, const std::vector<Tensor>& right,
                      Processes* processes = nullptr);

// p of the short-term rows of every layer for queries given as normed states ([M] of [B, T, d]) through
// `query`. No gradient reaches the states or the memory. askers: [M] of [B, T], or one for all layers.
std::vector<Tensor> slot_scores(const Model& model, const StreamMemory& memory, const RetrieverHead& query,
                                const std::vector<Tensor>& normed, const std::vector<Tensor>& askers);

// The same with the newest K memory rows as queries, through encoder_query: trained by the paper, unused by
// inference.
std::vector<Tensor> encoder_slot_scores(const Model& model, const StreamMemory& memory);

}  // namespace mplus::train
