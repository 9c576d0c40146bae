// The rules of recall, one file for each kind.
#pragma once

#include <memory>
#include <vector>

#include "mplus/memory/recall/recall.h"

namespace mplus::memory {

// Rules that put chunks in order; every layer then takes its rows of the first chunk, of the next, …
std::unique_ptr<Recall> make_chunk_recall(const RecallPolicy& policy, RecallInput input);

// Rules by which each layer takes rows for itself.
std::unique_ptr<Recall> make_row_recall(RecallRule rule, std::uint64_t seed);

std::vector<RecalledRow> pick(const ScoredRows& scored, std::span<const std::int64_t> numbers);

// cos(question, chunk) over one vector for all layers: a chunk's mean retriever keys beside the question's
// pooled queries. Chunks of the long-term store only; the others are not held.
Votes vector_votes(const Memory& memory, std::span<const LayerQueries> scout);

}  // namespace mplus::memory
