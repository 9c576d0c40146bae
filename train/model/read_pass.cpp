#include "mplus/train/model/read_pass.h"

namespace mplus::train {
ProjectedSlots project_slots(const Model& model, const PassWeights& weights, const StreamMemory& memory) {
  ProjectedSlots slots;
  for (std::int64_t l = 0; l < model.config.layers; ++l) {
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(l)];
    slots.push_back(project_rows(
        w, model.config, rms_norm(memory.short_term(l), w.attention_norm, model.config.norm_epsilon)));
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
  const bool recalls = request.recall && memory && memory->stored() > 0;
  ReadResult result;
  Tensor x = torch::embedding(model.base.embedding, request.tokens).to(model.compute);  // [B, T, d]
  for (std::int64_t l = 0; l < model.config.layers; ++l) {
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(l)];
    Tensor xn;  // [B, T, d]
    if (request.keep_normed || recalls) {
      const torch::NoGradGuard constant;
      xn = rms_norm(x, w.attention_norm, epsilon);
    }
    if (request.keep_normed) result.normed.push_back(xn);
    Front front{.hidden = weights.bos[l].expand({B, 1, -1})};
    if (recalls) {
      const Tensor chosen = request.recall(l, xn);  // [B, k]
      const Tensor births = take_rows(memory->long_term(l).birth.view(), chosen);
      const Tensor order = torch::argsort(births, /*stable=*/true, -1, /*descending=*/false);
      const Tensor rows =
          take_rows(memory->long_term(l).hidden.view(), chosen.gather(1, order));  // [B, k, d]
      front.hidden = torch::cat({front.hidden, rows}, 1);
      result.recalled_births.push_back(births.gather(1, order));
    }
    if (memory) front.known = slots[static_cast<std::size_t>(l)];
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
