#include "mplus/memory/tail.h"

#include "mplus/core/tensors/pages.h"

namespace mplus::memory {

Tail::Tail(std::span<const NewRows> layers, std::int64_t width) : rows_(layers[0].n), width_(width) {
  for (const NewRows& rows : layers) {
    Layer& layer = layers_.emplace_back(Layer{rows.hidden, rows.hidden_on_device, rows.hidden_memory});
    if (rows.hidden_memory) continue;
    auto copy = std::make_shared<AlignedVector<float>>(rows.hidden, rows.hidden + rows_ * width);
    layer.host = copy->data();
    layer.memory = std::move(copy);
  }
}

Tail::Tail(std::int64_t rows, std::int64_t width, std::span<const float> hidden)
    : rows_(rows), width_(width) {
  const auto values = std::make_shared<AlignedVector<float>>();
  values->reserve(hidden.size());
  make_pages(values->data(), hidden.size_bytes());
  values->assign(hidden.begin(), hidden.end());
  for (std::int64_t at = 0; at < std::ssize(hidden); at += rows * width)
    layers_.push_back(Layer{values->data() + at, {}, values});
}

const float* Tail::on_host(std::int64_t place) const {
  const Layer& layer = layers_[static_cast<std::size_t>(place)];
  const std::lock_guard lock(mutex_);
  if (!layer.host) {
    AlignedVector<float> values(static_cast<std::size_t>(rows_ * width_));
    NewRows{.n = rows_, .hidden_on_device = layer.on_device}.copy_hidden(values.data(), width_);
    layer.host = brought_.emplace_back(std::move(values)).data();
  }
  return layer.host;
}

ConstTensor Tail::near(const Device& device, std::int64_t place) const {
  const ConstTensor& there = layers_[static_cast<std::size_t>(place)].on_device;
  if (!there.empty() && there.device == device) return there;
  return {on_host(place), DType::f32, {rows_, width_}};
}

}  // namespace mplus::memory
