// The hidden states of the newest rows, which the next write reads: where the pass that made them left them,
// and on the host once somebody asks for them there. It never changes, and copies of a memory share it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/memory/rows.h"

namespace mplus::memory {

class Tail {
 public:
  Tail(std::span<const NewRows> layers, std::int64_t width);                   // of the layers that keep rows
  Tail(std::int64_t rows, std::int64_t width, std::span<const float> hidden);  // [layers, rows, width]

  std::int64_t rows() const { return rows_; }
  // [rows, width] of a layer, by its place among those that keep rows. Safe from many threads; values that
  // are on a device alone are waited for.
  const float* on_host(std::int64_t place) const;
  ConstTensor near(const Device& device, std::int64_t place) const;  // there, or else on the host

 private:
  struct Layer {
    mutable const float* host = nullptr;  // null: not there yet
    ConstTensor on_device = {};
    std::shared_ptr<const void> memory = {};  // keeps both
  };

  std::int64_t rows_, width_;
  std::vector<Layer> layers_;
  mutable std::mutex mutex_;
  mutable std::vector<AlignedVector<float>> brought_;
};

}  // namespace mplus::memory
