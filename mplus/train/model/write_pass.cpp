#include "mplus/train/model/write_pass.h"

#include <algorithm>

#include "mplus/train/model/layers/decoder_layer.h"

namespace mplus::train {

std::vector<Tensor> write_pass(const Model& model, const PassWeights& weights, const StreamMemory& memory,
                               const Tensor& tokens, const Tensor& streams) {
  const std::int64_t B = tokens.size(0), T = tokens.size(1), t = memory.tail_rows();
  const std::int64_t written = std::min(model.memory.K, t + T);
  const std::int64_t again = std::max<std::int64_t>(0, written - T);  // tail rows that are queried too
  const Tensor positional = torch::constant_pad_nd(weights.positional.expand({written, -1}),
                                                   {0, 0, again + T - written, 0});  // [again + T, d]
  const LayerSet& remembering = model.memory.layers;
  const std::int64_t highest = remembering.layer(model.memory_layers() - 1);  // nothing above writes
  std::vector<Tensor> rows;
  Tensor x = torch::embedding(model.base.embedding, tokens).to(model.compute);  // [B, T, d]
  for (std::int64_t l = 0; l <= highest; ++l) {
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(l)];
    const Tensor bos = weights.bos[l].expand({B, 1, -1});
    if (!remembering.contains(l)) {
      x = decoder_layer(w, model.config, x + positional.narrow(0, again, T), {.hidden = bos}, *model.rope).y;
      continue;
    }
    const Tensor& all = memory.tail(remembering.place(l));
    const Tensor own = streams.defined() ? all.index_select(0, streams) : all;
    const auto tail = own.split_with_sizes({t - again, again}, 1);
    if (again > 0) x = torch::cat({tail[1], x}, 1);  // [B, again + T, d]
    // The positional vector goes to the last K rows, in every layer, and stays in the residual.
    x = x + positional;
    // bos and the rows of the tail that only supply keys and values
    const auto [y, last] =
        decoder_layer(w, model.config, x, {.hidden = torch::cat({bos, tail[0]}, 1)}, *model.rope, written);
    rows.push_back(last);
    x = again > 0 ? y.narrow(1, again, T) : y;
  }
  return rows;
}

}  // namespace mplus::train
