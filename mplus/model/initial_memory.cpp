#include "mplus/model/initial_memory.h"

#include <algorithm>
#include <cmath>

#include "mplus/core/error.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::model {
namespace {

AlignedVector<float> to_floats(const Matrix& m) {
  AlignedVector<float> values(static_cast<std::size_t>(m.rows * m.cols));
  for (std::int64_t r = 0; r < m.rows; ++r) io::dequantise_row(values.data() + r * m.cols, m, r);
  return values;
}

// Rows with births of their own, added one by one.
void append_with_births(memory::Rows& to, const memory::Layout& layout, const float* hidden,
                        const ProjectedRows& rows, const std::vector<std::int64_t>& births) {
  for (std::int64_t r = 0; r < std::ssize(births); ++r) {
    const memory::NewRows one{.hidden = hidden + r * layout.hidden,
                              .k = rows.k.data() + r * layout.kv,
                              .v = rows.v.data() + r * layout.kv,
                              .key = rows.key.data() + r * layout.retriever,
                              .n = 1};
    to.append(layout, one, births[static_cast<std::size_t>(r)]);
  }
}

// The projected form of hidden states of one layer; retriever keys as given, if given.
memory::Rows project_layer(Workspace& w, const memory::Layout& layout, std::int64_t l, const Matrix& hidden,
                           const Matrix* key, const std::vector<std::int64_t>& births) {
  const AlignedVector<float> h = to_floats(hidden);
  ProjectedRows projected = project_rows(w, l, {h.data(), DType::f32, {hidden.rows, hidden.cols}});
  if (key) {
    projected.key = to_floats(*key);
    const ConstTensor given(projected.key.data(), DType::f32, {std::ssize(projected.key)});
    const kernels::OnDevice there(w.queue(), given);
    require_finite(w, l, "retriever keys", there.tensor());
    end_checks(w);
  }
  memory::Rows rows(layout, std::max<std::int64_t>(1, hidden.rows));
  append_with_births(rows, layout, h.data(), projected, births);
  return rows;
}

memory::LongTermStore initial_long_term(Workspace& w, const memory::Layout& layout) {
  auto owned = std::make_shared<std::vector<memory::Rows>>();
  owned->reserve(static_cast<std::size_t>(layout.layers));
  std::vector<memory::RowsView> views;
  std::vector<std::int64_t> counts;
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const auto& from = w.weights().initial_memory->long_term[static_cast<std::size_t>(l)];
    std::vector<std::int64_t> births;
    births.reserve(from.ages.size());
    for (float age : from.ages) births.push_back(-1 - static_cast<std::int64_t>(std::llround(age)));
    views.push_back(owned->emplace_back(project_layer(w, layout, l, from.hidden, &from.key, births)).view());
    counts.push_back(views.back().n);
  }
  memory::LongTermStore store(layout);
  store.adopt(std::make_shared<memory::Segment>(std::move(views), std::move(owned)), counts);
  store.enforce_capacity(layout);
  return store;
}

}  // namespace

memory::Layout memory_layout(const Weights& weights, const MemoryOptions& options) {
  memory::Layout layout{.layers = weights.config.layers,
                        .hidden = weights.config.hidden,
                        .kv = weights.config.kv_heads * weights.config.head_size,
                        .dtype = options.dtype,
                        .long_term = options.long_term,
                        .keep_hidden = options.keep_hidden};
  if (!weights.memory) return layout;
  const io::MemoryConfig& m = *weights.memory;
  layout.retriever = m.has_retriever ? m.d_r : 0;
  layout.K = m.K;
  layout.N = m.N;
  layout.K0 = m.K0;
  layout.M = m.M > 0 ? m.M : memory::kUnlimited;
  if (options.long_term_capacity > 0) layout.M = options.long_term_capacity;
  layout.drop_per_layer = m.drop_per_layer;
  layout.remembering = m.layers;
  return layout;
}

memory::Memory initial_memory(Workspace& w, const memory::Layout& layout, std::uint64_t seed) {
  memory::Memory memory(layout, seed);
  if (!w.weights().initial_memory) return memory;
  const InitialMemory& initial = *w.weights().initial_memory;
  std::vector<memory::Rows> slots;
  std::vector<memory::RowsView> views;
  std::vector<float> tail;
  const std::int64_t tail_rows = std::min(layout.K, layout.N);
  std::vector<std::int64_t> births(static_cast<std::size_t>(layout.N));
  for (std::int64_t j = 0; j < layout.N; ++j) births[static_cast<std::size_t>(j)] = j - layout.N;
  slots.reserve(static_cast<std::size_t>(layout.layers));
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const Matrix& hidden = initial.short_term[static_cast<std::size_t>(l)];
    views.push_back(slots.emplace_back(project_layer(w, layout, l, hidden, nullptr, births)).view());
    const AlignedVector<float> h = to_floats(hidden);
    tail.insert(tail.end(), h.end() - tail_rows * layout.hidden, h.end());
  }
  memory.load_short_term(views);
  memory.load_tail(tail_rows, tail);
  if (layout.has_long_term() && !initial.long_term.empty())
    memory.load_long_term(initial_long_term(w, layout));
  return memory;
}

}  // namespace mplus::model
