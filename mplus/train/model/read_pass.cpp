#include "mplus/train/model/read_pass.h"

#include <algorithm>

namespace mplus::train {
namespace {

struct Rows {
  Tensor hidden, births;  // [B, k, d], [B, k]
};

// Chosen rows [B, k] of a layer's store, by birth.
Rows stored_rows(const StreamMemory& memory, std::int64_t m, const Tensor& chosen) {
  const Tensor births = take_rows(memory.long_term(m).birth.view(), chosen);
  const Tensor order = torch::argsort(births, /*stable=*/true, -1, /*descending=*/false);
  return {take_rows(memory.long_term(m).hidden.view(), chosen.gather(1, order)), births.gather(1, order)};
}

// The same of store and slots; gradients reach the slots.
Rows rows_of_both(const StreamMemory& memory, std::int64_t m, const Tensor& chosen, std::int64_t K) {
  const std::int64_t stored = memory.stored(), behind = memory.updates() * K;
  const Tensor slot = (chosen - stored).clamp_min(0),
               row = chosen.clamp_max(std::max<std::int64_t>(0, stored - 1));
  const Tensor is_slot = chosen >= stored;
  Tensor births = memory.births(m).gather(1, slot);
  if (stored > 0) births = torch::where(is_slot, births, memory.long_term(m).birth.view().gather(1, row));
  const Tensor order = torch::argsort(births + behind * is_slot, /*stable=*/true, -1, /*descending=*/false);
  const auto taken = [&](const Tensor& from, const Tensor& which) {
    return from.gather(1, which.gather(1, order).unsqueeze(2).expand({-1, -1, from.size(2)}));
  };
  Tensor hidden = taken(memory.short_term(m), slot);
  if (stored > 0)
    hidden = torch::where(is_slot.gather(1, order).unsqueeze(2), hidden,
                          taken(memory.long_term(m).hidden.view(), row));
  return {hidden, births.gather(1, order)};
}

}  // namespace

ProjectedSlots project_slots(const Model& model, const PassWeights& weights, const StreamMemory& memory) {
  ProjectedSlots slots;
  for (std::int64_t m = 0; m < model.memory_layers(); ++m) {
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(model.memory.layers.layer(m))];
    slots.push_back(project_rows(
        w, model.config, rms_norm(memory.short_term(m), w.attention_norm, model.config.norm_epsilon)));
  }
  return slots;
}

ReadResult read_pass(const Model& model, const PassWeights& weights, const ReadRequest& request) {
  const float epsilon = model.config.norm_epsilon;
  const StreamMemory* memory = request.memory;
  const std::int64_t B = request.tokens.size(0);
  const ProjectedSlots own =
      memory && !request.slots ? project_slots(model, weights, *memory) : ProjectedSlots{};
  const ProjectedSlots& slots = request.slots ? *request.slots : own;
  const bool recalls = request.recall && memory && (memory->stored() > 0 || request.over_recalled);
  ReadResult result;
  Tensor x = torch::embedding(model.base.embedding, request.tokens).to(model.compute);  // [B, T, d]
  for (std::int64_t l = 0; l < model.config.layers; ++l) {
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(l)];
    Front front{.hidden = weights.bos[l].expand({B, 1, -1})};
    if (model.memory.layers.contains(l)) {
      const std::int64_t m = model.memory.layers.place(l);
      Tensor xn;  // [B, T, d]
      if (request.keep_normed || recalls) {
        const torch::NoGradGuard constant;
        xn = rms_norm(x, w.attention_norm, epsilon);
      }
      if (request.keep_normed) result.normed.push_back(xn);
      if (recalls) {
        const Tensor chosen = request.recall(m, xn);  // [B, k]
        const Rows rows = request.over_recalled ? rows_of_both(*memory, m, chosen, model.memory.K)
                                                : stored_rows(*memory, m, chosen);
        front.hidden = torch::cat({front.hidden, rows.hidden}, 1);
        result.recalled_births.push_back(rows.births);
      }
      if (memory && !request.over_recalled) front.known = slots[static_cast<std::size_t>(m)];
    }
    x = decoder_layer(w, model.config, x, front, *model.rope).y;
  }
  result.hidden = x;
  return result;
}

Tensor logits(const Model& model, const Tensor& hidden) {
  const Tensor normed = rms_norm(hidden, model.base.final_norm, model.config.norm_epsilon);
  return torch::linear(normed, model.base.head.to(model.compute));
}

}  // namespace mplus::train
