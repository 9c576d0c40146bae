#include "mplus/train/evaluation/reader.h"

#include <algorithm>

#include "mplus/train/model/upload.h"

namespace mplus::train {
namespace {

std::size_t index(std::int64_t l) { return static_cast<std::size_t>(l); }

KeyValue joined(const std::vector<KeyValue>& parts) {
  std::vector<Tensor> k, v;
  for (const KeyValue& part : parts) {
    k.push_back(part.k);
    v.push_back(part.v);
  }
  return {torch::cat(k, 1), torch::cat(v, 1)};
}

}  // namespace

Windows pad(const std::vector<std::vector<std::int32_t>>& windows, std::int64_t more, torch::Device device) {
  std::size_t longest = 0;
  for (const auto& window : windows) longest = std::max(longest, window.size());
  const auto Q = static_cast<std::int64_t>(windows.size());
  const std::size_t T = longest + static_cast<std::size_t>(more);
  std::vector<std::int32_t> tokens(windows.size() * T, 0);
  std::vector<std::int64_t> lengths;
  for (std::size_t q = 0; q < windows.size(); ++q) {
    std::copy(windows[q].begin(), windows[q].end(), tokens.begin() + static_cast<std::ptrdiff_t>(q * T));
    lengths.push_back(static_cast<std::int64_t>(windows[q].size()));
  }
  return {upload(tokens, {Q, static_cast<std::int64_t>(T)}, torch::kInt32, device).to(torch::kInt64),
          upload(lengths, {Q}, torch::kInt64, device)};
}

KeyValue Reader::bos(std::int64_t l, std::int64_t questions) const {
  const LayerWeights& w = weights_.layers[index(l)];
  const Tensor row =
      rms_norm(weights_.bos[l].expand({1, 1, -1}), w.attention_norm, model_.config.norm_epsilon);
  const KeyValue one = project_rows(w, model_.config, row);
  return {one.k.expand({questions, -1, -1, -1}), one.v.expand({questions, -1, -1, -1})};
}

Fronts Reader::plain_fronts(std::int64_t questions) const {
  Fronts fronts;
  for (std::int64_t l = 0; l < model_.config.layers; ++l) fronts.push_back(joined({bos(l, questions)}));
  return fronts;
}

Fronts Reader::memory_fronts(const ProjectedSlots& slots, const Tensor& streams) const {
  Fronts fronts;
  for (std::int64_t l = 0; l < model_.config.layers; ++l)
    fronts.push_back(
        joined({bos(l, streams.size(0)),
                {slots[index(l)].k.index_select(0, streams), slots[index(l)].v.index_select(0, streams)}}));
  return fronts;
}

RecallFronts Reader::recall_fronts(const StreamMemory& memory, const ProjectedSlots& slots,
                                   const Tensor& streams, const ChooseRows& choose,
                                   const Windows* windows) const {
  if (memory.stored() == 0) return {memory_fronts(slots, streams), {}};
  const float epsilon = model_.config.norm_epsilon;
  RecallFronts result;
  Tensor x, xn;
  if (windows) x = torch::embedding(model_.base.embedding, windows->tokens).to(model_.compute);
  for (std::int64_t l = 0; l < model_.config.layers; ++l) {
    const LayerWeights& w = weights_.layers[index(l)];
    if (windows) xn = rms_norm(x, w.attention_norm, epsilon);
    const Tensor chosen = choose(l, xn);  // [Q, k]
    std::vector<KeyValue> parts{bos(l, streams.size(0))};
    if (chosen.size(1) > 0) {
      const Tensor births = memory.long_term(l).birth.view().index_select(0, streams).gather(1, chosen);
      const Tensor order = torch::argsort(births, /*stable=*/true, -1, /*descending=*/false);
      const Tensor rows = memory.long_term(l).hidden.view().index(
          {streams.unsqueeze(1), chosen.gather(1, order)});  // [Q, k, d]
      parts.push_back(project_rows(w, model_.config, rms_norm(rows, w.attention_norm, epsilon)));
      result.recalled_births.push_back(births.gather(1, order));
    } else {
      result.recalled_births.push_back(chosen);
    }
    parts.push_back({slots[index(l)].k.index_select(0, streams), slots[index(l)].v.index_select(0, streams)});
    result.fronts.push_back(joined(parts));
    if (windows) x = layer(l, x, result.fronts.back());
  }
  return result;
}

Tensor Reader::layer(std::int64_t l, const Tensor& x, const KeyValue& front) const {
  return decoder_layer(weights_.layers[index(l)], model_.config, x, {.known = front}, *model_.rope).y;
}

Tensor Reader::read(const Fronts& fronts, const Tensor& tokens, std::vector<Tensor>* normed) const {
  Tensor x = torch::embedding(model_.base.embedding, tokens).to(model_.compute);
  for (std::int64_t l = 0; l < model_.config.layers; ++l) {
    if (normed)
      normed->push_back(rms_norm(x, weights_.layers[index(l)].attention_norm, model_.config.norm_epsilon));
    x = layer(l, x, fronts[index(l)]);
  }
  return x;
}

Tensor Reader::logits(const Tensor& hidden) const {
  const Tensor normed = rms_norm(hidden, model_.base.final_norm, model_.config.norm_epsilon);
  return torch::linear(normed.to(torch::kFloat32), model_.base.head.to(torch::kFloat32));
}

Tensor Reader::next_tokens(const Fronts& fronts, const Tensor& tokens, const Tensor& lengths) const {
  const Tensor hidden = read(fronts, tokens);  // [Q, T, d]
  const Tensor last = (lengths - 1).view({-1, 1, 1}).expand({-1, 1, hidden.size(2)});
  return logits(hidden.gather(1, last).squeeze(1)).argmax(-1);
}

std::vector<double> Reader::nll(const Fronts& fronts, const std::vector<std::vector<std::int32_t>>& windows,
                                const std::vector<std::size_t>& from) const {
  const Tensor tokens = pad(windows, 0, model_.device()).tokens;
  const Tensor hidden = read(fronts, tokens);
  std::vector<Tensor> means;
  for (std::size_t q = 0; q < windows.size(); ++q) {  // one at a time: logits are large
    const auto row = static_cast<std::int64_t>(q), begin = static_cast<std::int64_t>(from[q]);
    const std::int64_t scored = static_cast<std::int64_t>(windows[q].size()) - begin;
    const Tensor all = logits(hidden[row].narrow(0, begin - 1, scored));  // [scored, V]
    const Tensor right = all.gather(1, tokens[row].narrow(0, begin, scored).unsqueeze(1)).squeeze(1);
    means.push_back((all.logsumexp(-1) - right).mean());
  }
  const Tensor host = torch::stack(means).to(torch::kCPU, torch::kFloat64);
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

}  // namespace mplus::train
