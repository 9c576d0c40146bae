#include "tests/model/reference.h"

#include <algorithm>
#include <cmath>

#include "mplus/io/weights/dequantise.h"
#include "mplus/model/passes/workspace.h"

namespace mplus::model::reference {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

Row bos_of(const Layer& layer) {
  const float* bos = layer.bos.on_host<float>();
  return {bos, bos + layer.bos.elements()};
}

}  // namespace

Model::Model(const Weights& weights) : w_(weights), frequencies_(inverse_frequencies(weights.config)) {}

Row Model::linear(const Matrix& w, const Row& x) const {
  Row y(index(w.rows), 0.0);
  std::vector<float> row(index(w.cols));
  for (std::int64_t o = 0; o < w.rows; ++o) {
    io::dequantise_row(row.data(), w, o);
    for (std::size_t i = 0; i < row.size(); ++i) y[index(o)] += static_cast<double>(row[i]) * x[i];
  }
  return y;
}

Row Model::project(const Projection& p, const Row& x, Adapter adapter) const {
  Row y = linear(p.base, x);
  if (const Lora* lora = p.lora(adapter)) {
    const Row low = linear(lora->b, linear(lora->a, x));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(w_.lora_scale) * low[i];
  }
  if (!p.bias.empty())
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(p.bias.on_host<float>()[i]);
  if (!p.head_norm.empty())
    for (auto head = y.begin(); head != y.end(); head += w_.config.head_size)
      std::ranges::copy(norm(Row(head, head + w_.config.head_size), p.head_norm), head);
  return y;
}

Row Model::norm(const Row& x, const ConstTensor& weight) const {
  double sum = 0;
  for (double v : x) sum += v * v;
  const double scale =
      1 / std::sqrt(sum / static_cast<double>(x.size()) + static_cast<double>(w_.config.norm_epsilon));
  Row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * scale * static_cast<double>(weight.on_host<float>()[i]);
  return y;
}

Row Model::embed(std::int32_t token) const {
  std::vector<float> row(index(w_.config.hidden));
  io::dequantise_row(row.data(), w_.embedding, token);
  return {row.begin(), row.end()};
}

void Model::rotate(Row& x, std::int64_t heads, std::int64_t position) const {
  const std::size_t half = frequencies_.size();
  for (std::int64_t h = 0; h < heads; ++h) {
    double* head = x.data() + index(h) * 2 * half;
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(static_cast<float>(position) * frequencies_[i]);
      const double a = head[i], b = head[half + i];
      head[i] = a * std::cos(angle) - b * std::sin(angle);
      head[half + i] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
}

RowList Model::layer(const Layer& l, const RowList& rows, std::int64_t queries, Adapter adapter) const {
  const io::ModelConfig& c = w_.config;
  const auto n = static_cast<std::int64_t>(rows.size());
  RowList keys, values;
  for (std::int64_t r = 0; r < n; ++r) {
    const Row xn = norm(rows[index(r)], l.attention_norm);
    keys.push_back(project(l.k, xn, adapter));
    values.push_back(project(l.v, xn, adapter));
    rotate(keys.back(), c.kv_heads, r);
  }
  RowList out;
  for (std::int64_t r = n - queries; r < n; ++r) {
    Row q = project(l.q, norm(rows[index(r)], l.attention_norm), adapter);
    rotate(q, c.heads, r);
    Row attended(index(c.heads * c.head_size), 0.0);
    for (std::int64_t h = 0; h < c.heads; ++h) {
      const std::int64_t g = h / (c.heads / c.kv_heads);
      std::vector<double> weight(index(r + 1));
      for (std::int64_t j = 0; j <= r; ++j) {
        double dot = 0;
        for (std::int64_t i = 0; i < c.head_size; ++i)
          dot += q[index(h * c.head_size + i)] * keys[index(j)][index(g * c.head_size + i)];
        weight[index(j)] = dot / std::sqrt(static_cast<double>(c.head_size));
      }
      const double best = *std::max_element(weight.begin(), weight.end());
      double total = 0;
      for (double& v : weight) total += v = std::exp(v - best);
      for (std::int64_t j = 0; j <= r; ++j)
        for (std::int64_t i = 0; i < c.head_size; ++i)
          attended[index(h * c.head_size + i)] +=
              weight[index(j)] / total * values[index(j)][index(g * c.head_size + i)];
    }
    Row x = rows[index(r)];
    const Row o = linear(l.o, attended);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += o[i];
    const Row xn = norm(x, l.mlp_norm);
    Row gate = project(l.gate, xn, adapter);
    const Row up = project(l.up, xn, adapter);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    const Row down = project(l.down, gate, adapter);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += down[i];
    out.push_back(std::move(x));
  }
  return out;
}

std::vector<RowList> Model::inject(const std::vector<RowList>& tails,
                                   std::span<const std::int32_t> chunk) const {
  const auto T = static_cast<std::int64_t>(chunk.size());
  RowList x;
  for (std::int32_t token : chunk) x.push_back(embed(token));
  std::vector<RowList> result;
  for (std::size_t l = 0; l < w_.layers.size(); ++l) {
    const std::int64_t written = std::min(w_.memory->K, std::ssize(tails[l]) + T);
    RowList rows{bos_of(w_.layers[l])};
    rows.insert(rows.end(), tails[l].begin(), tails[l].end());
    rows.insert(rows.end(), x.begin(), x.end());
    for (auto r = rows.end() - written; r != rows.end(); ++r)
      for (std::size_t i = 0; i < r->size(); ++i)
        (*r)[i] += static_cast<double>(w_.positional.on_host<float>()[i]);
    const RowList y = layer(w_.layers[l], rows, std::max(T, written), Adapter::write);
    result.emplace_back(y.end() - written, y.end());
    x.assign(y.end() - T, y.end());
  }
  return result;
}

RowList Model::read(const std::vector<RowList>& prefix, std::span<const std::int32_t> tokens,
                    bool with_bos) const {
  RowList x;
  for (std::int32_t token : tokens) x.push_back(embed(token));
  for (std::size_t l = 0; l < w_.layers.size(); ++l) {
    RowList rows;
    if (with_bos) rows.push_back(bos_of(w_.layers[l]));
    if (!prefix.empty()) rows.insert(rows.end(), prefix[l].begin(), prefix[l].end());
    rows.insert(rows.end(), x.begin(), x.end());
    x = layer(w_.layers[l], rows, static_cast<std::int64_t>(x.size()),
              with_bos ? Adapter::read : Adapter::none);
  }
  RowList logits;
  for (const Row& row : x) logits.push_back(linear(w_.head, norm(row, w_.final_norm)));
  return logits;
}

}  // namespace mplus::model::reference
