#include "mplus/train/read_pass.h"

namespace mplus::train {
namespace {

// Rows of one layer in front of the window, in the order they stand in.
struct Prefix {
  std::vector<Tensor> k, v;
  void add(const KeyValue& rows) {
    k.push_back(rows.k);
    v.push_back(rows.v);
  }
};

}  // namespace

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
  const std::int64_t B = request.tokens.size(0), T = request.tokens.size(1);
  const ProjectedSlots own =
      memory && !request.slots ? project_slots(model, weights, *memory) : ProjectedSlots{};
  const ProjectedSlots& slots = request.slots ? *request.slots : own;
  const bool recalls = request.recall && memory && memory->stored() > 0;
  ReadResult result;
  Tensor x = torch::embedding(model.base.embedding, request.tokens).to(model.compute);  // [B, T, d]
  for (std::int64_t l = 0; l < model.config.layers; ++l) {
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(l)];
    const Tensor xn = rms_norm(x, w.attention_norm, epsilon);  // [B, T, d]
    if (request.keep_normed) result.normed.push_back(xn.detach());
    Prefix prefix;
    prefix.add(project_rows(w, model.config,
                            rms_norm(weights.bos[l].expand({B, 1, -1}), w.attention_norm, epsilon)));
    if (recalls) {
      const Tensor chosen = request.recall(l, xn.detach());  // [B, k]
      const Tensor births = take_rows(memory->long_term(l).birth.view(), chosen);
      const Tensor order = torch::argsort(births, /*stable=*/true, -1, /*descending=*/false);
      const Tensor rows =
          take_rows(memory->long_term(l).hidden.view(), chosen.gather(1, order));  // [B, k, d]
      prefix.add(project_rows(w, model.config, rms_norm(rows, w.attention_norm, epsilon)));
      result.recalled_births.push_back(births.gather(1, order));
    }
    if (memory) prefix.add(slots[static_cast<std::size_t>(l)]);
    KeyValue front{torch::cat(prefix.k, 1), torch::cat(prefix.v, 1)};
    const std::int64_t rows = front.k.size(1);
    front.k = rotate(front.k, model.rope->rows(0, rows));
    x = decoder_layer(w, model.config, x, xn, front, model.rope->rows(rows, T));
  }
  result.hidden = x;
  return result;
}

Tensor logits(const Model& model, const Tensor& hidden) {
  const Tensor normed = rms_norm(hidden, model.base.final_norm, model.config.norm_epsilon);
  return torch::linear(normed, model.base.head.to(model.compute));
}

}  // namespace mplus::train
