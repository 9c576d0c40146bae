#include "mplus/train/evaluation/planned_streams.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <map>

#include "mplus/core/drops.h"
#include "mplus/train/gpu/upload.h"
#include "mplus/train/model/write_pass.h"

namespace mplus::train {
namespace {

std::int64_t capacity(const Model& model, std::span<const PlannedMemory> memories) {
  std::size_t most = 0;
  for (const PlannedMemory& memory : memories) most = std::max(most, memory.updates.size());
  return static_cast<std::int64_t>(most) * model.memory.K;
}

}  // namespace

PlannedStreams::PlannedStreams(const Model& model, std::span<const PlannedMemory> memories, bool small_keys)
    : model_(model),
      memories_(memories),
      writing_(merge(model, Adapter::write)),
      memory_(model, std::ssize(memories), capacity(model, memories)) {
  if (small_keys) memory_.keep_small_keys();
}

const Ids& PlannedStreams::chunk(std::int64_t stream, std::int64_t u) const {
  const std::vector<Ids>& updates = memories_[static_cast<std::size_t>(stream)].updates;
  return updates[std::min(static_cast<std::size_t>(u), updates.size() - 1)];
}

void PlannedStreams::write(std::int64_t u) {
  std::map<std::size_t, std::vector<std::int64_t>> by_length;
  const std::int64_t S = std::ssize(memories_);
  for (std::int64_t s = 0; s < S; ++s) by_length[chunk(s, u).size()].push_back(s);
  std::vector<std::vector<Tensor>> parts(static_cast<std::size_t>(model_.memory_layers()));
  std::vector<std::int64_t> order;
  for (const auto& [length, streams] : by_length) {
    Ids tokens;
    for (const std::int64_t s : streams) tokens.insert(tokens.end(), chunk(s, u).begin(), chunk(s, u).end());
    const std::int64_t B = std::ssize(streams);
    const Tensor ids = upload(tokens, {B, static_cast<std::int64_t>(length)}, torch::kInt32, model_.device());
    const auto rows = write_pass(model_, writing_, memory_, ids.to(torch::kInt64),
                                 upload(streams, {B}, torch::kInt64, model_.device()));
    for (std::size_t l = 0; l < rows.size(); ++l) parts[l].push_back(rows[l]);
    order.insert(order.end(), streams.begin(), streams.end());
  }
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const Tensor back = upload(place, {S}, torch::kInt64, model_.device());
  std::vector<Tensor> rows;
  rows.reserve(parts.size());
  for (const std::vector<Tensor>& part : parts) rows.push_back(torch::cat(part, 0).index_select(0, back));
  memory_.update(model_, rows, drops(u, rows.front().size(1)));
}

Tensor PlannedStreams::drops(std::int64_t u, std::int64_t written) const {
  const std::int64_t drop = memory_.drops_for(written), S = std::ssize(memories_);
  if (drop == 0) return {};
  const std::int64_t M = model_.memory_layers(), n = memory_.slots();
  std::vector<std::int64_t> slots(static_cast<std::size_t>(M * S * drop));
  at::parallel_for(0, M * S, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t layer = model_.memory.drop_per_layer ? model_.memory.layers.layer(i / S) : 0;
      const auto chosen = choose_drops(memories_[static_cast<std::size_t>(i % S)].seed, layer, u, n, drop);
      std::copy(chosen.begin(), chosen.end(), slots.begin() + i * drop);
    }
  });
  return upload(slots, {M, S, drop}, torch::kInt64, model_.device());
}

}  // namespace mplus::train
