#include "mplus/kernels/rows/outgoing.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/tensors/buffer.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::kernels {
namespace {

constexpr std::size_t kMostKept = 16;  // buffers; beyond them the unused ones are given back

std::int64_t as_size(std::size_t size_bytes) { return static_cast<std::int64_t>(size_bytes); }

// What begins at `offset`, with the shape and type of `like`.
Tensor view(const Buffer& buffer, std::size_t offset, const ConstTensor& like) {
  const Tensor bytes = buffer.tensor(DType::i8, {as_size(buffer.size_bytes())});
  const std::size_t size_bytes = row_bytes(like.dtype, like.elements());
  Tensor piece = bytes.rows(as_size(offset), as_size(size_bytes));
  piece.dtype = like.dtype;
  piece.dimensions = like.dimensions;
  piece.shape = like.shape;
  piece.strides = like.strides;
  return piece;
}

}  // namespace

std::shared_ptr<Buffer> HostPool::take(Queue& queue, std::size_t size_bytes) {
  const auto is_free = [](const std::shared_ptr<Buffer>& buffer) { return buffer.use_count() == 1; };
  const auto fits = [&](const std::shared_ptr<Buffer>& buffer) {
    return is_free(buffer) && buffer->size_bytes() >= size_bytes;
  };
  if (const auto found = std::find_if(buffers_.begin(), buffers_.end(), fits); found != buffers_.end())
    return *found;
  if (buffers_.size() >= kMostKept) std::erase_if(buffers_, is_free);
  return buffers_.emplace_back(std::make_shared<Buffer>(queue.backend().allocate_host(size_bytes)));
}

std::size_t Outgoing::piece_bytes(DType dtype, std::int64_t elements) {
  return (row_bytes(dtype, elements) + kAlignment - 1) / kAlignment * kAlignment;
}

void Outgoing::begin(Queue& queue, HostPool& pool, std::size_t size_bytes) {
  used_bytes_ = brought_bytes_ = 0;
  if (host_ && size_bytes_ >= size_bytes) return;
  size_bytes_ = std::max<std::size_t>(size_bytes, kAlignment);
  host_.reset();
  host_ = pool.take(queue, size_bytes_);
  if (!queue.device().is_cpu()) device_ = std::make_shared<Buffer>(queue.backend().allocate(size_bytes_));
}

Tensor Outgoing::piece(DType dtype, std::initializer_list<std::int64_t> shape) {
  const Tensor like(nullptr, dtype, shape);
  const std::size_t at = used_bytes_;
  used_bytes_ += piece_bytes(dtype, like.elements());
  MPLUS_CHECK(used_bytes_ <= size_bytes_, "pieces of {} bytes in room for {}", used_bytes_, size_bytes_);
  return view(device_ ? *device_ : *host_, at, like);
}

Outgoing::Both Outgoing::not_brought() {
  const std::int64_t begin = as_size(brought_bytes_), end = as_size(used_bytes_);
  brought_bytes_ = used_bytes_;
  return {host_->tensor(DType::i8, {end}).rows(begin, end - begin),
          device_->tensor(DType::i8, {end}).rows(begin, end - begin)};
}

void Outgoing::bring(Queue& queue) {
  if (!device_ || used_bytes_ == brought_bytes_) return;
  const auto [host, device] = not_brought();
  copy(queue, host, device);
}

void Outgoing::bring_aside(Queue& queue) {
  if (!device_ || used_bytes_ == brought_bytes_) return;
  const auto [host, device] = not_brought();
  queue.backend().copy_aside(queue, host, device);
}

ConstTensor Outgoing::on_host(const ConstTensor& piece) const {
  if (!device_) return piece;
  const auto* begin = static_cast<const std::byte*>(device_->tensor(DType::i8, {1}).data);
  return view(*host_, static_cast<std::size_t>(static_cast<const std::byte*>(piece.data) - begin), piece);
}

}  // namespace mplus::kernels
