// What a session's queries attend to during one read: for every layer the rotated keys and the values of
// [bos | recalled | short-term | window | tokens read since]. Assembled when the read begins, appended to
// afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/memory/recall/recall.h"

namespace mplus::model {

class AttentionCache {
 public:
  AttentionCache(std::int64_t layers, const kernels::KvShape& shape);

  void clear();  // back to nothing; keeps the memory
  // So that reading up to that many rows allocates nothing. A cache stays on the device it was first made on.
  void reserve(kernels::Queue& queue, std::int64_t rows);
  void begin_with(kernels::Queue& queue, const AttentionCache& other);  // a copy of the tokens it has read
  bool assembled() const { return assembled_; }
  void set_assembled();  // a pass has read its tokens
  void roll_back();      // a pass failed: as before it, so that it can be done again
  // Of each layer the first rows stay, as many as it had before: what was read since counts as not read.
  std::vector<std::int64_t> all_rows() const;  // [L]
  void truncate(const std::vector<std::int64_t>& rows);
  // After a scout pass: short-term and window rows stand where the read will have them, behind room for bos
  // and front_rows(l) recalled rows. A read that recalls as many fills the room; otherwise it begins anew.
  bool scouted() const { return scouted_; }
  void set_scouted() { scouted_ = true; }
  std::int64_t& front_rows(std::int64_t l) { return front_rows_[static_cast<std::size_t>(l)]; }

  kernels::KvCache& layer(std::int64_t l) { return layers_[static_cast<std::size_t>(l)]; }
  std::int64_t rows(std::int64_t l) const { return layers_[static_cast<std::size_t>(l)].rows; }
  std::int64_t most_rows() const {  // layers may differ in what they recall and in what was forgotten
    std::int64_t most = 0;
    for (const kernels::KvCache& layer : layers_) most = std::max(most, layer.rows);
    return most;
  }
  std::int64_t capacity() const { return capacity_; }

  // What was recalled into each layer, in order of birth.
  std::vector<memory::RecalledRow>& recalled(std::int64_t l) {
    return recalled_[static_cast<std::size_t>(l)];
  }
  const std::vector<std::vector<memory::RecalledRow>>& recalled() const { return recalled_; }
  // Births of the short-term rows that are attended to, where not all are.
  std::optional<std::vector<std::int64_t>>& seen(std::int64_t l) {
    return seen_[static_cast<std::size_t>(l)];
  }

 private:
  kernels::KvShape shape_;
  std::int64_t capacity_ = 0;
  bool assembled_ = false;
  bool scouted_ = false;
  std::vector<std::int64_t> front_rows_;  // [L]
  std::int64_t piece_layers_ = 0;         // whose rows lie in one piece of storage
  std::vector<Buffer> storage_;           // pieces, [layers, 2, G, capacity, e]: keys, then values
  std::vector<kernels::KvCache> layers_;
  std::vector<std::int64_t> read_;  // [L] rows when a pass was last done
  std::vector<std::vector<memory::RecalledRow>> recalled_;
  std::vector<std::optional<std::vector<std::int64_t>>> seen_;  // [L]
};

}  // namespace mplus::model
