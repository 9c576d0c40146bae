// A view of an array of up to four dimensions on some device: what operations take and give. It owns nothing
// and is copied as a value; a Buffer, a mapped file or a memory's rows own what it looks at. A Tensor may be
// written to; a ConstTensor only read, and every Tensor is one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "mplus/core/error.h"
#include "mplus/core/numbers/dtype.h"
#include "mplus/core/tensors/device.h"

namespace mplus {

template <class Void>
struct BasicTensor {
  static constexpr int kMostDimensions = 4;
  using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;

  Void* data = nullptr;
  DType dtype = DType::f32;
  Device device = {};
  std::int8_t dimensions = 0;
  std::array<std::int64_t, kMostDimensions> shape = {};
  std::array<std::int64_t, kMostDimensions> strides = {};  // in elements; the last is 1

  BasicTensor() = default;
  // Rows one behind the other.
  BasicTensor(Void* at, DType type, std::initializer_list<std::int64_t> sizes, Device where = {})
      : data(at), dtype(type), device(where), dimensions(static_cast<std::int8_t>(sizes.size())) {
    MPLUS_CHECK(sizes.size() >= 1 && sizes.size() <= kMostDimensions, "{} dimensions", sizes.size());
    std::size_t i = 0;
    for (const std::int64_t size : sizes) shape[i++] = size;
    std::int64_t stride = 1;
    for (; i > 0; --i) {
      strides[i - 1] = stride;
      stride *= shape[i - 1];
    }
  }
  template <class Other, class = std::enable_if_t<std::is_const_v<Void> && !std::is_const_v<Other>>>
  BasicTensor(const BasicTensor<Other>& other)  // NOLINT(google-explicit-constructor): read instead of write
      : data(other.data),
        dtype(other.dtype),
        device(other.device),
        dimensions(other.dimensions),
        shape(other.shape),
        strides(other.strides) {}

  bool empty() const { return data == nullptr; }
  std::int64_t size(int dimension) const { return shape[static_cast<std::size_t>(dimension)]; }
  std::int64_t stride(int dimension) const { return strides[static_cast<std::size_t>(dimension)]; }
  std::int64_t elements() const {
    std::int64_t n = dimensions > 0 ? 1 : 0;
    for (int i = 0; i < dimensions; ++i) n *= size(i);
    return n;
  }
  bool contiguous() const {
    std::int64_t wanted = 1;
    for (int i = dimensions - 1; i >= 0; wanted *= size(i), --i)
      if (size(i) != 1 && stride(i) != wanted) return false;
    return true;
  }

  // Of the first dimension: [begin, begin + count).
  BasicTensor rows(std::int64_t begin, std::int64_t count) const {
    MPLUS_CHECK(begin >= 0 && count >= 0 && begin + count <= size(0), "rows {} + {} of {}", begin, count,
                size(0));
    BasicTensor part = *this;
    if (data) part.data = static_cast<Byte*>(data) + row_offset_bytes(begin);
    part.shape[0] = count;
    return part;
  }
  // Of any dimension.
  BasicTensor part(int dimension, std::int64_t begin, std::int64_t count) const {
    MPLUS_CHECK(dimension < dimensions && begin >= 0 && count >= 0 && begin + count <= size(dimension),
                "{} + {} of {}", begin, count, size(dimension));
    BasicTensor some = *this;
    if (data) some.data = static_cast<Byte*>(data) + row_bytes(dtype, stride(dimension) * begin);
    some.shape[static_cast<std::size_t>(dimension)] = count;
    return some;
  }
  // One of the first dimension, which it loses.
  BasicTensor row(std::int64_t at) const {
    MPLUS_CHECK(dimensions > 1, "row {} of {} dimension", at, dimensions);
    BasicTensor part = rows(at, 1);
    for (std::size_t i = 0; i + 1 < kMostDimensions; ++i) {
      part.shape[i] = part.shape[i + 1];
      part.strides[i] = part.strides[i + 1];
    }
    --part.dimensions;
    return part;
  }
  // The same elements in another shape.
  BasicTensor as_shape(std::initializer_list<std::int64_t> sizes) const {
    MPLUS_CHECK(contiguous(), "a view with gaps cannot change its shape");
    const BasicTensor other(data, dtype, sizes, device);
    MPLUS_CHECK(other.elements() == elements(), "{} elements as {}", elements(), other.elements());
    return other;
  }

  // Its elements, where the processor may touch them.
  template <class T>
  Element<T>* on_host() const {
    MPLUS_CHECK(device.is_cpu() && dtype == dtype_of<T>(), "{} on {} taken for {}", dtype_name(dtype),
                device_name(device), dtype_name(dtype_of<T>()));
    return static_cast<Element<T>*>(data);
  }

 private:
  template <class T>
  static constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, float>) return DType::f32;
    else if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
    else if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
    else return DType::i8;
  }
  std::size_t row_offset_bytes(std::int64_t row) const {
    return row_bytes(dtype, stride(0)) * static_cast<std::size_t>(row);
  }
};

using Tensor = BasicTensor<void>;
using ConstTensor = BasicTensor<const void>;
static_assert(std::is_trivially_copyable_v<Tensor> && std::is_trivially_copyable_v<ConstTensor>);

}  // namespace mplus
