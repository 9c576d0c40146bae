#include "mplus/train/model/layers/rope.h"

#include <algorithm>

#include "mplus/io/config/rope_frequencies.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kFirstPositions = 512;

}  // namespace

torch::Dtype at_least_float(torch::Dtype dtype) {
  return dtype == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

RopeTable::RopeTable(const io::ModelConfig& config, torch::Dtype compute, torch::Device device)
    : frequencies_(torch::tensor(io::inverse_frequencies(config))),
      dtype_(at_least_float(compute)),
      device_(device) {}

Rotation RopeTable::rows(std::int64_t first_position, std::int64_t count) {
  const std::int64_t needed = first_position + count;
  const std::int64_t have = table_.cos.defined() ? table_.cos.size(0) : 0;
  if (needed > have) {
    const std::int64_t rows = std::max({needed, 2 * have, kFirstPositions});
    const Tensor angles =
        (torch::arange(rows).to(torch::kFloat32).unsqueeze(1) * frequencies_).to(torch::kFloat64);
    table_ = {torch::cos(angles).to(device_, dtype_), torch::sin(angles).to(device_, dtype_)};
  }
  return {table_.cos.narrow(0, first_position, count), table_.sin.narrow(0, first_position, count)};
}

}  // namespace mplus::train
