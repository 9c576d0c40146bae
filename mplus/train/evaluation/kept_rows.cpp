#include "mplus/train/evaluation/kept_rows.h"

#include "mplus/train/model/small_rows.h"

namespace mplus::train {

void keep_rows(const std::vector<RecalledRows>& layers, RowFormat format) {
  if (format == RowFormat::plain || layers.empty()) return;
  std::vector<Tensor> places, vectors;  // both of a layer's keys, then of its values
  std::vector<std::int64_t> sizes;
  for (const RecalledRows& layer : layers)
    for (const Tensor& all : {layer.front->rows.k, layer.front->rows.v}) {
      places.push_back(all.narrow(1, 1, layer.births.size(1)));   // [Q, k, G, e]
      vectors.push_back(places.back().flatten(2).flatten(0, 1));  // [Q · k, G · e]
      sizes.push_back(vectors.back().size(0));
    }
  const std::vector<Tensor> small =
      through_small_vectors(torch::cat(vectors), format).split_with_sizes(sizes);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Tensor stored = (layers[i / 2].births >= 0).unsqueeze(-1).unsqueeze(-1);  // [Q, k, 1, 1]
    const Tensor& plain = places[i];
    places[i].copy_(torch::where(stored, small[i].view(plain.sizes()).to(plain.scalar_type()), plain));
  }
}

}  // namespace mplus::train
