#include "mplus/train/evaluation/batch.h"

#include <algorithm>

#include "mplus/train/gpu/upload.h"
#include "mplus/train/model/recall.h"

namespace mplus::train {

Batch make_batch(std::vector<Due> due, std::int64_t n, torch::Device device) {
  Batch b{.due = std::move(due), .streams = {}, .asking = {}, .askers = {}, .words = {}, .gold = {}};
  const std::int64_t Q = std::ssize(b.due);
  std::vector<std::int64_t> streams;
  std::vector<Ids> asking;
  std::vector<std::int64_t> asks_from;
  std::vector<double> words(static_cast<std::size_t>(Q * n), 0), gold(words.size(), 0);
  for (std::size_t q = 0; q < b.due.size(); ++q) {
    const PlannedQuestion& question = b.due[q].question();
    streams.push_back(b.due[q].stream);
    asking.emplace_back(question.prompt.begin(),
                        question.prompt.begin() + static_cast<std::ptrdiff_t>(question.asks_to));
    asks_from.push_back(static_cast<std::int64_t>(question.asks_from));
    const std::size_t row = q * static_cast<std::size_t>(n);
    for (const auto& [update, score] : b.due[q].ask->words)
      words[row + static_cast<std::size_t>(update)] = score;
    double value = 1e6 * static_cast<double>(question.gold.size());
    for (const std::int64_t update : question.gold) {
      if (update < n) gold[row + static_cast<std::size_t>(update)] = value;
      value -= 1e6;
    }
  }
  b.streams = upload(streams, {Q}, torch::kInt64, device);
  b.asking = pad(asking, device);
  b.askers =
      range_weights(upload(asks_from, {Q}, torch::kInt64, device), b.asking.lengths, b.asking.tokens.size(1));
  b.words = upload(words, {Q, n}, torch::kFloat64, device);
  b.gold = upload(gold, {Q, n}, torch::kFloat64, device);
  return b;
}

Shares right_shares(const Model& model, const Batch& b, const ChunkSearch& search) {
  const Tensor right = (b.gold > 0).to(torch::kFloat64);
  const Tensor whole =
      right.sum(1).clamp_min(1) * static_cast<double>(model.memory.K * model.memory_layers());
  return {((search.short_term_rows() * right).sum(1) / whole).to(torch::kCPU),
          ((search.long_term_rows() * right).sum(1) / whole).to(torch::kCPU)};
}

Tensor recalled_shares(const Model& model, const Batch& b, const std::vector<Tensor>& births) {
  const Tensor right = b.gold > 0;
  const Tensor whole = right.sum(1).clamp_min(1).to(torch::kFloat64) * static_cast<double>(model.memory.K);
  std::vector<Tensor> layers;
  layers.reserve(births.size());
  for (const Tensor& layer : births)
    layers.push_back(
        right.gather(1, layer.clamp_min(0).floor_divide(model.memory.K)).logical_and(layer >= 0).sum(1) /
        whole);
  return torch::stack(layers, 1).to(torch::kCPU);
}

std::int64_t rank_of(const std::vector<std::int64_t>& gold, std::span<const std::int64_t> order) {
  const auto at = std::find_if(order.begin(), order.end(), [&](std::int64_t chunk) {
    return std::find(gold.begin(), gold.end(), chunk) != gold.end();
  });
  return at - order.begin() + 1;
}

}  // namespace mplus::train
