// Owners and views of plain memory. AlignedVector owns; Matrix only looks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "mplus/core/numbers/dtype.h"
#include "mplus/core/tensors/device.h"

namespace mplus {

inline constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {
  }  // NOLINT: conversion between rebinds is the allocator contract
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{kAlignment}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{kAlignment}); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

// A row-major matrix [rows, cols] in any dtype, as it lies in a file. For i8, row_scales[rows] turns a row's
// integers into values; they lie on the same device. The memory belongs to someone else (a mapped file, a
// Weights object). Interleaved, its rows lie in an order that only the processor's products know
// (Backend::arrange): row() is of no use then.
struct Matrix {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const float* row_scales = nullptr;
  Device device = {};
  bool interleaved = false;

  std::size_t row_size_bytes() const { return row_bytes(dtype, cols); }
  const void* row(std::int64_t r) const {
    return static_cast<const std::byte*>(data) + static_cast<std::size_t>(r) * row_size_bytes();
  }
  bool empty() const { return data == nullptr; }
};

}  // namespace mplus
