// Memory on a device, owned; what tensors of a pass lie in. A backend makes it and says how it is given back.
// It moves, is never copied, and holds nothing that outlives it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>

#include "mplus/core/tensors/tensor.h"

namespace mplus {

class Buffer {
 public:
  using Release = void (*)(void* data, std::size_t size_bytes);

  Buffer() = default;
  Buffer(void* data, std::size_t size_bytes, Device device, Release release)
      : data_(data), size_bytes_(size_bytes), device_(device), release_(release) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_) release_(data_, size_bytes_);
  }

  Device device() const { return device_; }
  std::size_t size_bytes() const { return size_bytes_; }
  // Of the buffer's beginning.
  Tensor tensor(DType dtype, std::initializer_list<std::int64_t> shape) const {
    const Tensor view(data_, dtype, shape, device_);
    const std::size_t wanted = row_bytes(dtype, view.elements());
    MPLUS_CHECK(wanted <= size_bytes_, "{} bytes of {}", wanted, size_bytes_);
    return view;
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(device_, other.device_);
    std::swap(release_, other.release_);
  }

  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  Device device_ = {};
  Release release_ = nullptr;
};

}  // namespace mplus
