// Retriever keys of a store, and what asks them, on the device that scores them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mplus/kernels/queue.h"
#include "mplus/kernels/retrieval/chunk_sums.h"
#include "mplus/kernels/retrieval/retrieval.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/recall/scores.h"

namespace mplus::memory {

// Keys of a layer's store on the device, with where their scores go.
struct StoredKeys {
  std::vector<kernels::KeyBlock> plain, small;
  std::vector<kernels::ScorePart> parts;
};

std::int64_t stored_rows(const Memory& memory, std::int64_t layer);
// A piece for each segment; their scores stand one after the other from `scores` on.
std::vector<ScorePiece> long_term_pieces(const Memory& memory, std::int64_t layer, const float* scores);
// Whether the device has these keys, or room to spare for them; what that takes is taken off `spare`.
bool keys_fit(const kernels::Queue& queue, const Memory& memory, std::int64_t layer, std::size_t& spare);
// `scores`: [stored_rows]. None: the device has no room.
std::optional<StoredKeys> bring_keys(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                                     const Tensor& scores);

// Queries where a pass left them on the device, else brought there from the host.
class NearQueries {
 public:
  NearQueries() = default;
  NearQueries(kernels::Queue& queue, const LayerQueries& asked, std::int64_t d_r);
  const ConstTensor& tensor() const { return tensor_; }

 private:
  std::optional<kernels::OnDevice> uploaded_;
  ConstTensor tensor_;
};

}  // namespace mplus::memory
