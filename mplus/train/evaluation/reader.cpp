#include "mplus/train/evaluation/reader.h"

#include <algorithm>

#include "mplus/train/evaluation/kept_rows.h"
#include "mplus/train/gpu/upload.h"

namespace mplus::train {
namespace {

std::size_t index(std::int64_t l) { return static_cast<std::size_t>(l); }

KeyValue in_a_row(const std::vector<KeyValue>& parts, std::int64_t dimension) {
  std::vector<Tensor> k, v;
  for (const KeyValue& part : parts) {
    k.push_back(part.k);
    v.push_back(part.v);
  }
  return {torch::cat(k, dimension), torch::cat(v, dimension)};
}

KeyValue of_streams(const KeyValue& all, const Tensor& streams) {
  return {all.k.index_select(0, streams), all.v.index_select(0, streams)};
}

Tensor all_of(const KeyValue& rows) {
  return torch::full({rows.k.size(0)}, rows.k.size(1),
                     torch::TensorOptions(rows.k.device()).dtype(torch::kInt64));
}

// Row t of q [Q, T, H, e] sees those of k and v [Q, keys, G, e] that `visible` [Q or 1, T, keys] says. Heads
// that share keys are rows of one head here, so keys need no copies.
Tensor attend_visible(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& visible) {
  const std::int64_t Q = q.size(0), T = q.size(1), G = k.size(2), shared = q.size(2) / G;
  const Tensor rows = q.view({Q, T, G, shared, -1}).permute({0, 2, 3, 1, 4}).flatten(2, 3);
  const Tensor out = torch::scaled_dot_product_attention(rows, k.transpose(1, 2), v.transpose(1, 2),
                                                         visible.repeat({1, shared, 1}).unsqueeze(1));
  return out.view({Q, G, shared, T, -1}).permute({0, 3, 1, 2, 4}).flatten(2);
}

}  // namespace

Fronts select(const Fronts& fronts, const Tensor& which) {
  Fronts part;
  for (const FrontRows& layer : fronts)
    part.push_back({of_streams(layer.rows, which),
                    layer.count.defined() ? layer.count.index_select(0, which) : Tensor()});
  return part;
}

Fronts joined(std::vector<Fronts> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  Fronts all;
  for (std::size_t l = 0; l < parts.front().size(); ++l) {
    std::int64_t most = 0;
    bool same = true;
    for (const Fronts& part : parts) {
      const std::int64_t rows = part[l].rows.k.size(1);
      same = same && rows == parts.front()[l].rows.k.size(1) && !part[l].count.defined();
      most = std::max(most, rows);
    }
    std::vector<KeyValue> rows;
    std::vector<Tensor> counts;
    for (Fronts& part : parts) {  // each layer's parts are let go as they are joined: fronts are large
      FrontRows layer = std::move(part[l]);
      part[l] = {};
      if (!same) counts.push_back(layer.count.defined() ? layer.count : all_of(layer.rows));
      const auto padded = [&](const Tensor& x) {
        const std::int64_t missing = most - x.size(1);
        return missing == 0 ? x : torch::constant_pad_nd(x, {0, 0, 0, 0, missing, 0});
      };
      rows.push_back({padded(layer.rows.k), padded(layer.rows.v)});
    }
    all.push_back({in_a_row(rows, 0), same ? Tensor() : torch::cat(counts, 0)});
  }
  return all;
}

Windows pad(const std::vector<std::vector<std::int32_t>>& windows, torch::Device device) {
  std::size_t T = 0;
  for (const auto& window : windows) T = std::max(T, window.size());
  const auto Q = static_cast<std::int64_t>(windows.size());
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
  for (std::int64_t l = 0; l < model_.config.layers; ++l) fronts.push_back({bos(l, questions)});
  return fronts;
}

Fronts Reader::memory_fronts(const ProjectedSlots& slots, const Tensor& streams) const {
  Fronts fronts;
  const LayerSet& remembering = model_.memory.layers;
  for (std::int64_t l = 0; l < model_.config.layers; ++l) {
    const KeyValue start = bos(l, streams.size(0));
    fronts.push_back({remembering.contains(l)
                          ? in_a_row({start, of_streams(slots[index(remembering.place(l))], streams)}, 1)
                          : start});
  }
  return fronts;
}

RecallFronts Reader::recall_fronts(const StreamMemory& memory, const ProjectedSlots& slots,
                                   const Tensor& streams, const ChooseRows& choose,
                                   const Windows* windows) const {
  if (memory.stored() == 0) return {memory_fronts(slots, streams), {}};
  const LayerSet& remembering = model_.memory.layers;
  const float epsilon = model_.config.norm_epsilon;
  RecallFronts result;
  Tensor x, xn;
  if (windows) x = embed(windows->tokens);
  for (std::int64_t l = 0; l < model_.config.layers; ++l) {
    const LayerWeights& w = weights_.layers[index(l)];
    if (!remembering.contains(l)) {
      result.fronts.push_back({bos(l, streams.size(0))});
      if (windows) x = layer(l, x, see(result.fronts.back(), x.size(1)));
      continue;
    }
    const std::int64_t m = remembering.place(l);
    if (windows) xn = rms_norm(x, w.attention_norm, epsilon);
    const ChosenRows chosen = choose(m, xn);
    const std::int64_t k = chosen.rows.size(1);
    Tensor births = memory.long_term(m).birth.view().index_select(0, streams).gather(1, chosen.rows);
    if (chosen.count.defined())
      births.masked_fill_(torch::arange(k, births.options()).unsqueeze(0) >= chosen.count.unsqueeze(1), -1);
    const Tensor order = torch::argsort(births, /*stable=*/true, -1, /*descending=*/false);
    result.recalled_births.push_back(births.gather(1, order));
    const Tensor rows = memory.long_term(m).hidden.view().index(
        {streams.unsqueeze(1), chosen.rows.gather(1, order)});  // [Q, k, d], padding first
    const KeyValue behind = of_streams(slots[index(m)], streams);
    result.fronts.push_back(front(l, rows, chosen.count, &behind));
    if (!windows) continue;
    keep_rows({{&result.fronts.back(), result.recalled_births.back()}}, rows_);
    x = layer(l, x, see(result.fronts.back(), x.size(1)));
  }
  return windows ? result : kept(std::move(result));
}

RecallFronts Reader::chosen_fronts(const StreamMemory& memory, const Tensor& streams,
                                   const std::vector<ChosenRows>& chosen) const {
  RecallFronts result;
  const std::int64_t stored = memory.stored(), newest = memory.updates() * model_.memory.K;
  for (std::int64_t l = 0; l < model_.config.layers; ++l) {
    if (!model_.memory.layers.contains(l)) {
      result.fronts.push_back({bos(l, streams.size(0))});
      continue;
    }
    const std::int64_t m = model_.memory.layers.place(l);
    const auto& [rows, count] = chosen[index(m)];
    const std::int64_t k = rows.size(1);
    const StreamMemory::LongTerm& store = memory.long_term(m);
    const Tensor is_slot = rows >= stored;
    const Tensor in_store = rows.clamp_max(stored - 1), slot = (rows - stored).clamp_min(0);
    const Tensor stream = streams.unsqueeze(1);
    const auto rows_of = [&](const Tensor& slots, const GrowingRows& kept, const Tensor& which) {
      const Tensor of_slots = slots.index({stream, slot});
      return stored == 0 ? of_slots : torch::where(which, of_slots, kept.view().index({stream, in_store}));
    };
    // By birth, slots behind long-term rows, padding first.
    Tensor key = rows_of(memory.births(m) + newest, store.birth, is_slot);
    key.masked_fill_(torch::arange(k, key.options()).unsqueeze(0) >= count.unsqueeze(1), -1);
    const Tensor order = torch::argsort(key, /*stable=*/true, -1, /*descending=*/false);
    key = key.gather(1, order);
    result.recalled_births.push_back(torch::where(key < newest, key, torch::full_like(key, -1)));
    const Tensor hidden = rows_of(memory.short_term(m), store.hidden, is_slot.unsqueeze(2))
                              .gather(1, order.unsqueeze(2).expand({-1, -1, memory.short_term(m).size(2)}));
    result.fronts.push_back(front(l, hidden, count, nullptr));
  }
  return kept(std::move(result));
}

Reader Reader::with_rows(RowFormat rows) const {
  Reader other = *this;
  other.rows_ = rows;
  return other;
}

RecallFronts Reader::kept(RecallFronts read) const {
  std::vector<RecalledRows> layers;
  for (std::size_t m = 0; m < read.recalled_births.size(); ++m) {
    const std::int64_t l = model_.memory.layers.layer(static_cast<std::int64_t>(m));
    layers.push_back({&read.fronts[index(l)], read.recalled_births[m]});
  }
  keep_rows(layers, rows_);
  return read;
}

FrontRows Reader::front(std::int64_t l, const Tensor& rows, const Tensor& count,
                        const KeyValue* behind) const {
  const LayerWeights& w = weights_.layers[index(l)];
  const std::int64_t k = rows.size(1);
  const KeyValue start = bos(l, rows.size(0));
  const KeyValue recalled =
      project_rows(w, model_.config, rms_norm(rows, w.attention_norm, model_.config.norm_epsilon));
  FrontRows all{behind ? in_a_row({start, recalled, *behind}, 1) : in_a_row({start, recalled}, 1)};
  if (count.defined()) {  // bos stands right before the first row that is there
    const Tensor place = (k - count).view({-1, 1, 1, 1});
    all.rows.k.scatter_(1, place.expand_as(start.k), start.k);
    all.rows.v.scatter_(1, place.expand_as(start.v), start.v);
    all.count = count + (all.rows.k.size(1) - k);
  }
  return all;
}

Tensor Reader::embed(const Tensor& tokens) const {
  return torch::embedding(model_.base.embedding, tokens).to(model_.compute);
}

Reader::Seen Reader::see(const FrontRows& front, std::int64_t room) const {
  const Tensor &k = front.rows.k, &v = front.rows.v;
  const std::int64_t rows = k.size(1);
  Seen seen{torch::zeros({k.size(0), rows + room, k.size(2), k.size(3)}, k.options()), {}, rows, {}};
  seen.v = torch::zeros_like(seen.k);
  rotate_into(k, seen.k.narrow(1, 0, rows), model_.rope->rows(0, rows), Rotate::forward);
  seen.v.narrow(1, 0, rows).copy_(v);
  if (front.count.defined()) seen.padding = rows - front.count;
  return seen;
}

Tensor Reader::layer(std::int64_t l, const Tensor& x, const Seen& seen, const Tensor& places) const {
  const LayerWeights& w = weights_.layers[index(l)];
  const float epsilon = model_.config.norm_epsilon;
  const std::int64_t T = x.size(1), G = seen.k.size(2), e = seen.k.size(3), room = seen.k.size(1);
  const Tensor product = torch::linear(rms_norm(x, w.attention_norm, epsilon), w.qkv, w.qkv_bias);
  const std::int64_t H = product.size(2) / e - 2 * G;
  const auto heads = [&](std::int64_t first, std::int64_t count) {
    return product.narrow(-1, first * e, count * e).unflatten(-1, {count, e});
  };
  const auto normed = [&](const Tensor& rows, const Tensor& weight) {
    return weight.defined() ? rms_norm(rows, weight, epsilon) : rows;
  };
  const Tensor q = normed(heads(0, H), w.q_norm), k = normed(heads(H, G), w.k_norm), v = heads(H + G, G);
  const Tensor rotated_q = torch::empty(q.sizes(), q.options());
  Tensor last;  // [Q or 1, T]: the last key that a row sees
  if (!places.defined()) {
    const Rotation at = model_.rope->rows(seen.front, T);
    rotate_into(q, rotated_q, at, Rotate::forward);
    rotate_into(k, seen.k.narrow(1, seen.front, T), at, Rotate::forward);
    seen.v.narrow(1, seen.front, T).copy_(v);
    last = torch::arange(seen.front, seen.front + T, torch::TensorOptions(x.device()).dtype(torch::kInt64))
               .unsqueeze(0);
  } else {
    // Each at its own position: to the rotation, questions are rows.
    const Tensor at = places + seen.front;
    const Rotation table = model_.rope->rows(0, room);
    const Rotation own{table.cos.index_select(0, at), table.sin.index_select(0, at)};
    const Tensor rotated_k = torch::empty(k.sizes(), k.options());
    rotate_into(q.transpose(0, 1), rotated_q.transpose(0, 1), own, Rotate::forward);
    rotate_into(k.transpose(0, 1), rotated_k.transpose(0, 1), own, Rotate::forward);
    const Tensor row = at.view({-1, 1, 1, 1}).expand_as(k);
    seen.k.scatter_(1, row, rotated_k);
    seen.v.scatter_(1, row, v);
    last = at.unsqueeze(1);
  }
  const Tensor keys = torch::arange(room, last.options()).view({1, 1, -1});
  Tensor visible = keys <= last.unsqueeze(2);  // [Q or 1, T, room]
  if (seen.padding.defined()) visible = visible.logical_and(keys >= seen.padding.view({-1, 1, 1}));
  const Tensor mid = x + torch::linear(attend_visible(rotated_q, seen.k, seen.v, visible), w.o);
  const Tensor gate_up = torch::linear(rms_norm(mid, w.mlp_norm, epsilon), w.gate_up);
  return mid + torch::linear(swiglu(gate_up), w.down);
}

Tensor Reader::read(const Fronts& fronts, const Tensor& tokens, std::vector<Tensor>* normed) const {
  Tensor x = embed(tokens);
  for (std::int64_t l = 0; l < model_.config.layers; ++l) {
    if (normed && model_.memory.layers.contains(l))
      normed->push_back(rms_norm(x, weights_.layers[index(l)].attention_norm, model_.config.norm_epsilon));
    x = layer(l, x, see(fronts[index(l)], tokens.size(1)));
  }
  return x;
}

Tensor Reader::logits(const Tensor& hidden) const {
  const Tensor normed = rms_norm(hidden, model_.base.final_norm, model_.config.norm_epsilon);
  return torch::linear(normed.to(torch::kFloat32), head_);
}

void Reader::generate(const Fronts& fronts, const Windows& windows, std::int64_t most,
                      const std::function<bool(const std::vector<std::int64_t>&)>& next,
                      const std::function<Tensor(const Tensor&)>& first, double temperature) const {
  std::vector<Seen> seen;
  Tensor x = embed(windows.tokens);
  for (std::int64_t l = 0; l < model_.config.layers; ++l) {
    seen.push_back(see(fronts[index(l)], windows.tokens.size(1) + most));
    x = layer(l, x, seen.back());
  }
  const Tensor ends = (windows.lengths - 1).view({-1, 1, 1}).expand({-1, 1, x.size(2)});
  x = x.gather(1, ends);  // [Q, 1, d]
  for (std::int64_t i = 0; i < most; ++i) {
    Tensor scores = logits(x.squeeze(1));  // [Q, V]
    if (i == 0 && first) scores = first(scores);
    if (temperature > 0)  // Gumbel's way to draw
      scores = scores / temperature - torch::empty_like(scores).exponential_().log();
    const Tensor tokens = scores.argmax(-1);  // [Q]
    const Tensor host = tokens.to(torch::kCPU);
    const std::int64_t* values = host.const_data_ptr<std::int64_t>();
    if (!next({values, values + host.numel()}) || i + 1 == most) return;
    x = embed(tokens.unsqueeze(1));
    for (std::int64_t l = 0; l < model_.config.layers; ++l)
      x = layer(l, x, seen[index(l)], windows.lengths + i);
  }
}

Tensor Reader::likeliest(const Fronts& fronts, const Tensor& tokens, const Tensor& places) const {
  constexpr std::int64_t kAtOnce = 4096;  // logits are large
  const Tensor rows = read(fronts, tokens).flatten(0, 1).index_select(0, places);
  std::vector<Tensor> parts;
  for (const Tensor& part : rows.split(kAtOnce)) parts.push_back(logits(part).argmax(-1));
  return torch::cat(parts);
}

std::vector<double> Reader::nll(const Fronts& fronts, const std::vector<std::vector<std::int32_t>>& windows,
                                const std::vector<std::size_t>& from) const {
  const Tensor tokens = pad(windows, model_.device()).tokens;
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
