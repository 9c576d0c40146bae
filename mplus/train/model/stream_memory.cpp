#include "mplus/train/model/stream_memory.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/train/model/layers/decoder_layer.h"
#include "mplus/train/model/small_rows.h"

namespace mplus::train {

namespace {

// The gradient of a gather adds into the rows, one atomic operation a number. No row is taken twice here, so
// it can be put there.
struct TakeRows : torch::autograd::Function<TakeRows> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, const Tensor& indices) {
    const std::int64_t B = x.size(0), n = x.size(1), k = indices.size(1);
    const Tensor stream = torch::arange(B, indices.options()).unsqueeze(1);
    context->save_for_backward({(indices + stream * n).flatten()});
    context->saved_data["shape"] = x.sizes();
    // A store has room for more rows than it holds: its streams are not side by side, and must not be copied.
    const std::int64_t d = x.size(2), apart = x.stride(0) / std::max<std::int64_t>(1, x.stride(1));
    if (x.stride(2) != 1 || apart * x.stride(1) != x.stride(0) || apart < n)
      return x.gather(1, indices.unsqueeze(-1).expand({-1, -1, d}));
    const Tensor rows = x.as_strided({(B - 1) * apart + n, d}, {x.stride(1), 1});
    return rows.index_select(0, (indices + stream * apart).flatten()).view({B, k, d});
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const Tensor flat = context->get_saved_variables()[0];
    const Tensor& dy = gradients[0];
    Tensor dx = torch::zeros(context->saved_data["shape"].toIntVector(), dy.options());
    dx.flatten(0, 1).index_copy_(0, flat, dy.flatten(0, 1));
    return {dx, Tensor()};
  }
};

}  // namespace

Tensor take_rows(const Tensor& x, const Tensor& indices) {
  return x.dim() == 2 ? x.gather(1, indices) : TakeRows::apply(x, indices);
}

void GrowingRows::append(const Tensor& rows, std::int64_t most) {
  const std::int64_t needed = rows_ + rows.size(1);
  const std::int64_t capacity = storage_.defined() ? storage_.size(1) : 0;
  if (needed > capacity) {
    std::vector<std::int64_t> shape = rows.sizes().vec();
    shape[1] = std::max(needed, std::min(2 * capacity, most));
    const Tensor larger = torch::empty(shape, rows.options().requires_grad(false));
    if (rows_ > 0) larger.narrow(1, 0, rows_).copy_(view());
    storage_ = larger;
  }
  storage_.narrow(1, rows_, rows.size(1)).copy_(rows);
  rows_ = needed;
}

void GrowingRows::keep(const Tensor& indices) {
  storage_ = take_rows(view(), indices);
  rows_ = indices.size(1);
}

StreamMemory::StreamMemory(const Model& model, std::int64_t streams, std::int64_t capacity)
    : streams_(streams), K_(model.memory.K), N_(model.memory.N), capacity_(capacity) {
  MPLUS_CHECK(K_ > 0, "a model without memory parts");
  const auto M = static_cast<std::size_t>(model.memory_layers());
  const auto options = torch::TensorOptions(model.device());
  short_term_.assign(M, torch::empty({streams, 0, model.config.hidden}, options.dtype(model.compute)));
  tail_ = short_term_;
  births_.assign(M, torch::empty({streams, 0}, options.dtype(torch::kInt64)));
  long_term_.resize(M);
}

StreamMemory::StreamMemory(const Model& model, const InitialMemory& initial, std::int64_t streams,
                           std::int64_t capacity)
    : StreamMemory(model, streams, capacity) {
  const auto each_stream = [&](const Tensor& rows) {
    return rows.to(model.device()).unsqueeze(0).repeat_interleave(streams, 0);
  };
  const std::int64_t most = capacity + K_;
  std::int64_t oldest = -N_;
  for (std::size_t l = 0; l < short_term_.size(); ++l) {
    short_term_[l] = each_stream(initial.short_term[static_cast<std::int64_t>(l)].to(model.compute));
    births_[l] = each_stream(torch::arange(-N_, 0, torch::kInt64));
    if (initial.long_term.empty()) continue;
    const InitialMemory::LongTerm& rows = initial.long_term[l];
    if (rows.birth.size(0) != initial.long_term[0].birth.size(0))
      fail(ErrorCode::unsupported, "long-term stores of different length ({} and {}) cannot be trained",
           initial.long_term[0].birth.size(0), rows.birth.size(0));
    long_term_[l].hidden.append(each_stream(rows.hidden.to(model.compute)), most);
    long_term_[l].key.append(each_stream(rows.key.to(model.compute)), most);
    long_term_[l].birth.append(each_stream(rows.birth), most);
    if (rows.birth.numel() > 0) oldest = std::min(oldest, rows.birth.min().item<std::int64_t>());
  }
  first_chunk_ = -((-oldest + K_ - 1) / K_);
  tail_rows_ = std::min(K_, N_);
  for (std::size_t l = 0; l < short_term_.size(); ++l)
    tail_[l] = short_term_[l].narrow(1, N_ - tail_rows_, tail_rows_);
}

std::int64_t StreamMemory::drops_for(std::int64_t written) const {
  return std::max<std::int64_t>(0, slots() + written - N_);
}

Tensor StreamMemory::draw_drops(std::int64_t written, const std::optional<at::Generator>& generator) const {
  return draw_drops(written, generator, streams_, 0);
}

Tensor StreamMemory::draw_drops(std::int64_t written, const std::optional<at::Generator>& generator,
                                std::int64_t streams, std::int64_t first) const {
  const std::int64_t drops = drops_for(written);
  if (drops == 0) return {};
  const Tensor lots = torch::rand({static_cast<std::int64_t>(births_.size()), streams, slots()}, generator,
                                  births_[0].options().dtype(torch::kFloat32));
  return std::get<1>(lots.narrow(1, first, streams_).topk(drops, -1));
}

void StreamMemory::update(const Model& model, const std::vector<Tensor>& written, const Tensor& drops) {
  const std::int64_t n = slots(), k = written.at(0).size(1);
  const std::int64_t drop = drops.defined() ? drops.size(2) : 0;
  MPLUS_CHECK(drop == drops_for(k), "{} of {} slots dropped for {} new rows, {} expected", drop, n, k,
              drops_for(k));
  // An update that writes fewer than K rows leaves the first births of its block unused.
  const Tensor birth = torch::arange((updates_ + 1) * K_ - k, (updates_ + 1) * K_, births_[0].options());
  // A stable sort puts the slots that stay first and those that go last, both in order; for all layers at
  // once.
  const Tensor order =
      drop > 0 ? torch::argsort(torch::zeros({static_cast<std::int64_t>(written.size()), streams_, n},
                                             births_[0].options().dtype(torch::kInt32))
                                    .scatter_(2, drops, 1),
                                /*stable=*/true, -1, /*descending=*/false)
               : Tensor();
  for (std::int64_t m = 0; m < static_cast<std::int64_t>(written.size()); ++m) {
    Tensor& rows = short_term_[index(m)];
    Tensor& births = births_[index(m)];
    if (drop > 0) {
      const Tensor stay = order[m].narrow(1, 0, n - drop), go = order[m].narrow(1, n - drop, drop);
      store(model, m, take_rows(rows, go), take_rows(births, go));
      rows = take_rows(rows, stay);
      births = take_rows(births, stay);
    }
    rows = torch::cat({rows, written[index(m)]}, 1);
    births = torch::cat({births, birth.expand({streams_, k})}, 1);
  }
  ++updates_;
  tail_ = written;
  tail_rows_ = k;
}

void StreamMemory::store(const Model& model, std::int64_t m, const Tensor& hidden, const Tensor& birth) {
  if (capacity_ == 0) return;
  const torch::NoGradGuard constant;
  LongTerm& rows = long_term_[index(m)];
  const Tensor normed = rms_norm(hidden, model.memory_norm(m), model.config.norm_epsilon);
  const std::int64_t most = capacity_ + K_;
  rows.hidden.append(hidden, most);
  if (model.memory.has_retriever) {
    const Tensor keys = project(model.key, m, normed);
    rows.key.append(keys, most);
    if (small_keys_) {
      const SmallKeys small = small_keys(keys);
      rows.small_codes.append(small.codes, most);
      rows.small_scales.append(small.scales, most);
    }
  }
  rows.birth.append(birth, most);
  if (rows.birth.rows() <= capacity_) return;
  const Tensor by_birth = torch::argsort(rows.birth.view(), /*stable=*/true, -1, /*descending=*/false);
  const Tensor youngest =
      std::get<0>(by_birth.narrow(1, rows.birth.rows() - capacity_, capacity_).sort(-1));  // in store order
  rows.hidden.keep(youngest);
  if (model.memory.has_retriever) rows.key.keep(youngest);
  if (rows.small_codes.rows() > 0) {
    rows.small_codes.keep(youngest);
    rows.small_scales.keep(youngest);
  }
  rows.birth.keep(youngest);
}

void StreamMemory::keep_small_keys() {
  MPLUS_CHECK(stored() == 0, "{} rows were dropped without small keys", stored());
  small_keys_ = true;
}

void StreamMemory::detach() {
  for (Tensor& rows : short_term_) rows = rows.detach();
  for (Tensor& rows : tail_) rows = rows.detach();
}

}  // namespace mplus::train
