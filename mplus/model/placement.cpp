#include "mplus/model/placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/core/numbers/dequantise.h"
#include "mplus/core/numbers/float8.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/core/tensors/pages.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/convert.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/model/device_room.h"

namespace mplus::model {
namespace {

constexpr std::size_t kPlaceBytes = 256;           // where each begins
constexpr std::int64_t kStagedValues = 4'000'000;  // converted at a time
constexpr std::size_t kGigabyte = 1'000'000'000;

// f(Matrix&) and f(ConstTensor&) for everything that passes compute with, in the order it is to lie in;
// f.large(Matrix&) for the matrices that make a model large, and f.head(Matrix&) for the last of them.
template <class F>
void visit(Layer& layer, F&& f) {
  for (Projection* p : {&layer.q, &layer.k, &layer.v}) f.large(p->base);
  f.large(layer.o);
  for (Projection* p : {&layer.gate, &layer.up, &layer.down}) f.large(p->base);
  for (Lora Projection::*set : {&Projection::write, &Projection::read}) {
    for (Projection* p : {&layer.q, &layer.k, &layer.v}) f((p->*set).a);
    for (Projection* p : {&layer.gate, &layer.up, &layer.down}) f((p->*set).a);
    for (Projection* p : {&layer.q, &layer.k, &layer.v, &layer.gate, &layer.up, &layer.down}) f((p->*set).b);
  }
  for (RetrieverHead* head : {&layer.query, &layer.key, &layer.encoder_query}) {
    f(head->first);
    f(head->second);
  }
  for (Projection* p : {&layer.q, &layer.k, &layer.v}) {
    f(p->bias);
    f(p->head_norm);
  }
  for (ConstTensor* x : {&layer.attention_norm, &layer.mlp_norm, &layer.bos, &layer.pool}) f(*x);
}

template <class F>
void visit(Weights& w, F&& f) {
  f(w.embedding);
  f.head(w.head);
  f(w.final_norm);
  f(w.positional);
  for (Layer& layer : w.layers) visit(layer, f);
}

std::size_t whole_places(std::size_t size_bytes) {
  return (size_bytes + kPlaceBytes - 1) / kPlaceBytes * kPlaceBytes;
}

bool is_packed(DType type) { return type == DType::i8 || type == DType::u8; }

enum class Role : std::uint8_t { small, large, head };

// What a matrix becomes on a device. Logits take the rounding of the head as it is, so that is packed in
// whole numbers, which are the finer ones.
class Types {
 public:
  Types(const kernels::Backend& backend, kernels::Numerics numerics, WeightForm form)
      : backend_(&backend), numerics_(numerics), form_(form) {}

  DType operator()(const Matrix& m, Role role) const {
    if (form_ == WeightForm::values || numerics_ == kernels::Numerics::exact)
      return backend_->weight_type(numerics_, m.dtype);
    if (role == Role::small || !backend_->packs_weights(numerics_, m)) return DType::f16;
    return form_ == WeightForm::fp8 && role != Role::head ? DType::u8 : DType::i8;
  }

 private:
  const kernels::Backend* backend_;
  kernels::Numerics numerics_;
  WeightForm form_;
};

// A matrix by where it lies on the host, and what it becomes: a tied head may be packed, the embedding not.
using MatrixKey = std::pair<const void*, DType>;

// How much room everything takes. What is named twice (a tied head, an adapter for both passes) counts once.
class Counter {
 public:
  explicit Counter(const Types& types) : types_(types) {}

  void operator()(const Matrix& m) { count(m, types_(m, Role::small)); }
  void large(const Matrix& m) { count(m, types_(m, Role::large)); }
  void head(const Matrix& m) { count(m, types_(m, Role::head)); }
  void operator()(const ConstTensor& x) {
    if (!x.empty()) size_bytes_ += whole_places(row_bytes(x.dtype, x.elements()));
  }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  void count(const Matrix& m, DType type) {
    if (m.empty() || !seen_.insert({m.data, type}).second) return;
    size_bytes_ += whole_places(row_bytes(type, m.rows * m.cols));
    if (is_packed(type)) size_bytes_ += whole_places(row_bytes(DType::f32, m.rows));
  }

  Types types_;
  std::set<MatrixKey> seen_;
  std::size_t size_bytes_ = 0;
};

class Placer {
 public:
  Placer(kernels::Queue& queue, const Buffer& room, const Types& types)
      : queue_(queue),
        types_(types),
        room_(room.tensor(DType::i8, {static_cast<std::int64_t>(room.size_bytes())})) {}

  void operator()(Matrix& m) { place(m, types_(m, Role::small)); }
  void large(Matrix& m) { place(m, types_(m, Role::large)); }
  void head(Matrix& m) { place(m, types_(m, Role::head)); }
  void operator()(ConstTensor& x) {
    if (x.empty()) return;
    const Tensor there = next(x);
    kernels::copy(queue_, there, x);
    x = there;
  }

 private:
  Tensor next(const ConstTensor& like) {
    const std::size_t size_bytes = row_bytes(like.dtype, like.elements());
    Tensor there = room_.rows(static_cast<std::int64_t>(used_), static_cast<std::int64_t>(size_bytes));
    there.dtype = like.dtype;
    there.dimensions = like.dimensions;
    there.shape = like.shape;
    there.strides = like.strides;
    used_ += whole_places(size_bytes);
    return there;
  }

  void place(Matrix& m, DType type) {
    if (m.empty()) return;
    const auto [place, is_new] = placed_.try_emplace({m.data, type});
    if (is_new) place->second = is_packed(type) ? pack_matrix(m, type) : place_matrix(m, type);
    m = place->second;
  }

  Matrix place_matrix(const Matrix& m, DType dtype) {
    const Tensor there = next(ConstTensor(nullptr, dtype, {m.rows, m.cols}));
    if (dtype == m.dtype) {
      kernels::copy(queue_, there, ConstTensor(m.data, dtype, {m.rows, m.cols}));
    } else {
      const std::int64_t step = std::max<std::int64_t>(1, kStagedValues / m.cols);
      for (std::int64_t r = 0; r < m.rows; r += step) {
        const std::int64_t rows = std::min(step, m.rows - r);
        kernels::copy(queue_, there.rows(r, rows), converted(m, r, rows, dtype));
      }
    }
    return {there.data, dtype, m.rows, m.cols, nullptr, there.device};
  }

  // One byte each, the largest of a row the largest there is (±127, ±448).
  Matrix pack_matrix(const Matrix& m, DType type) {
    const Tensor there = next(ConstTensor(nullptr, type, {m.rows, m.cols}));
    const Tensor scales = next(ConstTensor(nullptr, DType::f32, {m.rows}));
    std::vector<float> row_scales(static_cast<std::size_t>(m.rows));
    const std::int64_t step = std::max<std::int64_t>(1, kStagedValues / m.cols);
    const auto row = static_cast<std::size_t>(m.cols);
    for (std::int64_t first = 0; first < m.rows; first += step) {
      const std::int64_t rows = std::min(step, m.rows - first);
      values_.resize(static_cast<std::size_t>(rows) * row);
      bytes_.resize(static_cast<std::size_t>(rows) * row);
      queue_.pool().run(rows, [&](std::int64_t r, int) {
        float* values = &values_[static_cast<std::size_t>(r) * row];
        dequantise_row(values, m, first + r);
        row_scales[static_cast<std::size_t>(first + r)] =
            pack_row(&bytes_[static_cast<std::size_t>(r) * row], type, {values, row});
      });
      kernels::copy(queue_, there.rows(first, rows), ConstTensor(bytes_.data(), type, {rows, m.cols}));
    }
    kernels::copy(queue_, scales, ConstTensor(row_scales.data(), DType::f32, {m.rows}));
    return {there.data, type, m.rows, m.cols, static_cast<const float*>(scales.data), there.device};
  }

  // The row's scale. What is not finite stays so: the scale is.
  static float pack_row(std::byte* codes, DType type, std::span<const float> values) {
    float most = 0;
    bool finite = true;
    for (const float x : values) {
      most = std::max(most, std::abs(x));
      finite = finite && std::isfinite(x);
    }
    const bool whole = type == DType::i8;
    const float scale = most / (whole ? 127.0f : kMostE4m3), inverse = most > 0 && finite ? 1 / scale : 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float x = finite ? values[i] * inverse : 1.0f;
      codes[i] = whole ? static_cast<std::byte>(static_cast<std::int8_t>(std::nearbyint(x)))
                       : static_cast<std::byte>(f32_to_e4m3(x));
    }
    return finite ? scale : std::numeric_limits<float>::quiet_NaN();
  }

  // Some rows in host memory, until the next call.
  ConstTensor converted(const Matrix& m, std::int64_t first, std::int64_t rows, DType dtype) {
    const auto row = static_cast<std::size_t>(m.cols);
    values_.resize(static_cast<std::size_t>(rows) * row);
    bytes_.resize(row_bytes(dtype, rows * m.cols));
    queue_.pool().run(rows, [&](std::int64_t r, int) {
      float* values = &values_[static_cast<std::size_t>(r) * row];
      dequantise_row(values, m, first + r);
      kernels::from_f32(&bytes_[static_cast<std::size_t>(r) * row_bytes(dtype, m.cols)], dtype, values,
                        m.cols);
    });
    return {bytes_.data(), dtype, {rows, m.cols}};
  }

  kernels::Queue& queue_;
  Types types_;
  Tensor room_;
  std::size_t used_ = 0;
  std::map<MatrixKey, Matrix> placed_;
  std::vector<float> values_;
  std::vector<std::byte> bytes_;
};

// Matrices that the processor's products read faster in another order than a file's. What is named twice is
// copied once.
class Arranger {
 public:
  explicit Arranger(kernels::Queue& queue) : queue_(queue) {}

  void operator()(Matrix& m) {
    if (!m.empty() && size_of(m) > 0) found_.push_back(&m);
  }
  void large(Matrix& m) { (*this)(m); }
  void operator()(const ConstTensor&) {}

  // All that were found; what owns them now.
  std::shared_ptr<Buffer> run() const {
    std::map<const void*, std::size_t> places;
    std::size_t used = 0;
    for (const Matrix* m : found_)
      if (places.try_emplace(m->data, used).second) used += whole_places(size_of(*m));
    auto room = std::make_shared<Buffer>(queue_.backend().allocate(used));
    auto* begin = static_cast<std::byte*>(room->tensor(DType::i8, {static_cast<std::int64_t>(used)}).data);
    make_pages_together(begin, used);
    std::map<const void*, Matrix> arranged;
    for (Matrix* m : found_) {
      const auto [place, is_new] = arranged.try_emplace(m->data);
      if (is_new) place->second = queue_.backend().arrange(queue_, begin + places[m->data], *m);
      *m = place->second;
    }
    return room;
  }
  bool empty() const { return found_.empty(); }

 private:
  std::size_t size_of(const Matrix& m) const { return queue_.backend().arranged_bytes(queue_.numerics(), m); }

  // Where pages are made as they are written to, one thread waits for the other's.
  void make_pages_together(std::byte* begin, std::size_t size_bytes) const {
    constexpr std::size_t kPiece = std::size_t{8} << 20;
    queue_.pool().run(static_cast<std::int64_t>((size_bytes + kPiece - 1) / kPiece),
                      [&](std::int64_t piece, int) {
                        const std::size_t at = static_cast<std::size_t>(piece) * kPiece;
                        make_pages(begin + at, std::min(kPiece, size_bytes - at));
                      });
  }

  kernels::Queue& queue_;
  std::vector<Matrix*> found_;
};

// The embedding stays as it is: its rows are looked up.
std::shared_ptr<const Weights> arrange_weights(std::shared_ptr<const Weights> host, kernels::Queue& queue) {
  auto arranged = std::make_shared<Weights>(*host);
  Arranger arranger(queue);
  arranger(arranged->head);
  for (Layer& layer : arranged->layers) visit(layer, arranger);
  if (arranger.empty()) return host;
  arranged->owners.push_back(arranger.run());
  return arranged;
}

// Of the embedding single rows are looked up, so it may stay on the host: where a copy would save room and
// have the same values.
bool embedding_may_stay(const Weights& host, const Types& types) {
  const DType there = types(host.embedding, Role::small);
  return host.embedding.data != host.head.data && (there == host.embedding.dtype || there == DType::f32);
}

// What is to lie on the device, views of the host's: everything, or, where the rest of `free` were too little
// for a session, all but the embedding.
Weights chosen_views(const Weights& host, const kernels::Backend& backend, kernels::Numerics numerics,
                     const Device& device, WeightForm form, std::size_t free) {
  Weights views = host;
  const DeviceRoom room = device_room(host, backend, numerics);
  if (placed_bytes(host, numerics, device, form) + room.passes + room.copies > free &&
      embedding_may_stay(host, Types(backend, numerics, form)))
    views.embedding = {};
  return views;
}

// Not if it is one that this program's kernels were not built for.
bool has_room(const Device& device, const Weights& host, kernels::Numerics numerics, WeightForm form) {
  try {
    const kernels::Backend& backend = kernels::backend_of(device);
    const std::size_t free = backend.free_bytes();
    const Weights views = chosen_views(host, backend, numerics, device, form, free);
    return placed_bytes(views, numerics, device, form) + device_room(host, backend, numerics).passes <= free;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return false;
    throw;
  }
}

}  // namespace

std::size_t placed_bytes(const Weights& host, kernels::Numerics numerics, const Device& device,
                         WeightForm form) {
  Weights views = host;
  Counter counter(Types(kernels::backend_of(device), numerics, form));
  visit(views, counter);
  return counter.size_bytes();
}

std::shared_ptr<const Weights> place_weights(std::shared_ptr<const Weights> host, kernels::Queue& queue,
                                             WeightForm form) {
  if (queue.device().is_cpu()) return arrange_weights(std::move(host), queue);
  const std::size_t there = queue.backend().free_bytes();
  auto placed = std::make_shared<Weights>(
      chosen_views(*host, queue.backend(), queue.numerics(), queue.device(), form, there));
  const std::size_t wanted = placed_bytes(*placed, queue.numerics(), queue.device(), form);
  if (wanted > there)
    fail(ErrorCode::out_of_capacity,
         "{}: the weights take {:.1f} GB on {}, where {:.1f} GB may still be taken; use --device cpu, a "
         "smaller model, or a larger --device-memory where that is the limit",
         host->files, static_cast<double>(wanted) / kGigabyte, device_name(queue.device()),
         static_cast<double>(there) / kGigabyte);
  auto room = std::make_shared<Buffer>(queue.backend().allocate(wanted));
  visit(*placed, Placer(queue, *room, Types(queue.backend(), queue.numerics(), form)));
  queue.wait();
  placed->owners.push_back(std::move(room));
  if (placed->embedding.empty()) placed->embedding = host->embedding;
  MemoryBudget& budget = device_budget();
  budget.keep(budget.used() - budget.spare_used() +
              device_room(*host, queue.backend(), queue.numerics()).passes);
  return placed;
}

Device choose_device(const DeviceChoice& choice, const Weights& host, kernels::Numerics numerics,
                     WeightForm form) {
  if (!choice.automatic) return choice.device;
  for (int i = 0; i < kernels::cuda_devices(); ++i) {
    const Device device{DeviceKind::cuda, static_cast<std::int8_t>(i)};
    if (has_room(device, host, numerics, form)) return device;
  }
  return {};
}

}  // namespace mplus::model
