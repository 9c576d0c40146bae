#include "mplus/model/passes/scouts.h"

#include "mplus/kernels/rows/pooling.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::model {

std::int64_t scouts_of(const ReadItem& item) { return item.scouts_end - item.scouts_begin; }

bool asks(const Workspace& w, const ReadItem& item, std::int64_t l) {
  return scouts_of(item) > 0 && !w.weights().layers[static_cast<std::size_t>(l)].query.empty();
}

std::size_t scout_bytes(const Workspace& w, std::int64_t T, Asked what) {
  const io::ModelConfig& c = w.weights().config;
  const std::int64_t d_r = w.weights().memory ? w.weights().memory->d_r : 0;
  const auto size = [&](std::int64_t width) { return kernels::Outgoing::piece_bytes(DType::f32, T * width); };
  return size(d_r) + size(1) + (what == Asked::retriever ? 0 : size(c.heads * c.head_size));
}

ScoutTensors ask(Workspace& w, kernels::Outgoing& room, const Activations& a, const ReadShare& s,
                 std::int64_t l, Asked what) {
  const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
  const std::int64_t at = s.at + s.item->scouts_begin, T = scouts_of(*s.item);
  const ConstTensor q = a.q.rows(at, T), xn = a.xn.rows(at, T);
  ScoutTensors asked{.T = T, .retriever = {}, .attention = {}, .pool = {}};
  if (what == Asked::retriever_and_attention) {
    asked.attention = room.piece(DType::f32, {T, q.size(1)});
    kernels::copy(w.queue(), asked.attention, q);
  }
  if (!asks(w, *s.item, l)) return asked;
  asked.retriever = room.piece(DType::f32, {T, w.weights().memory->d_r});
  retriever_project(w, asked.retriever, xn, layer.query, kernels::Rows::few);
  require_finite(w, l, "retriever queries", asked.retriever);
  if (layer.pool.empty()) return asked;
  asked.pool = room.piece(DType::f32, {T});
  kernels::pooling_shares(w.queue(), asked.pool, xn, layer.pool);
  return asked;
}

memory::LayerQueries on_host(const Workspace& w, const kernels::Outgoing& room, const ScoutTensors& asked) {
  const auto values = [&](const Tensor& piece) {
    return piece.empty() ? nullptr : room.on_host(piece).on_host<float>();
  };
  const io::ModelConfig& c = w.weights().config;
  return {.T = asked.T,
          .retriever = values(asked.retriever),
          .attention = values(asked.attention),
          .pool = values(asked.pool),
          .heads = c.heads,
          .head_size = c.head_size,
          .there = room.is_copied() ? ConstTensor(asked.retriever) : ConstTensor()};
}

memory::LayerQueries ask_there(Workspace& w, const Activations& a, const ReadShare& s, std::int64_t l) {
  w.asked.begin(w.queue(), w.host_pool, scout_bytes(w, scouts_of(*s.item), Asked::retriever));
  const ScoutTensors asked = ask(w, w.asked, a, s, l, Asked::retriever);
  return {.T = asked.T, .there = asked.retriever};
}

memory::LayerQueries ask_now(Workspace& w, const Activations& a, const ReadShare& s, std::int64_t l,
                             Asked what) {
  w.asked.begin(w.queue(), w.host_pool, scout_bytes(w, scouts_of(*s.item), what));
  const ScoutTensors asked = ask(w, w.asked, a, s, l, what);
  w.asked.bring(w.queue());
  end_checks(w);
  w.queue().wait();
  return on_host(w, w.asked, asked);
}

void ScoutStates::begin(const Weights& weights) {
  const auto count = static_cast<std::size_t>(weights.config.layers);
  for (auto* states : {&retriever, &pool}) states->resize(count);
  layers.resize(count);
  on_device.reset();
}

void ScoutStates::keep(std::int64_t layer, const memory::LayerQueries& queries, const Weights& weights) {
  const auto l = static_cast<std::size_t>(layer);
  const auto copy = [&](AlignedVector<float>& to, const float* from, std::int64_t size) -> const float* {
    if (!from) return nullptr;
    to.assign(from, from + queries.T * size);
    return to.data();
  };
  layers[l] = queries;
  layers[l].retriever = copy(retriever[l], queries.retriever, weights.memory ? weights.memory->d_r : 0);
  layers[l].pool = copy(pool[l], queries.pool, 1);
}

}  // namespace mplus::model
