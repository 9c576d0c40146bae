#include "mplus/train/run/files/average.h"

#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <deque>

#include "mplus/core/error.h"
#include "mplus/core/layer_set.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors_writer.h"

namespace mplus::train {
namespace {

constexpr const char* kSizes[] = {"K", "N", "K0", "d_r", "r", "alpha"};

std::string scale_name(const std::string& name) { return name + "_scale"; }

// Scales of int8 rows belong to their tensors.
bool is_scale(const io::Safetensors& delta, const std::string& name) {
  const std::size_t stem = name.size() - std::min(name.size(), std::string_view("_scale").size());
  const io::Tensor* rows = delta.find(name.substr(0, stem));
  return rows && rows->dtype == DType::i8 && name == scale_name(rows->name);
}

std::vector<float> values(const io::Safetensors& delta, const io::Tensor& tensor) {
  if (tensor.dtype != DType::i8) return io::dequantise(tensor);
  Matrix rows = tensor.matrix();
  const std::vector<float> scales = io::dequantise(delta.at(scale_name(tensor.name)));
  if (std::ssize(scales) != rows.rows)
    fail(ErrorCode::model_mismatch, "{}: tensor \"{}\": expected {} numbers, found {}", delta.path().string(),
         scale_name(tensor.name), rows.rows, scales.size());
  rows.row_scales = scales.data();
  std::vector<float> out(static_cast<std::size_t>(rows.rows * rows.cols));
  for (std::int64_t r = 0; r < rows.rows; ++r) io::dequantise_row(out.data() + r * rows.cols, rows, r);
  return out;
}

std::vector<double> shares(const AverageOptions& options) {
  std::vector<double> weights = options.weights;
  if (options.deltas.size() < 2)
    fail(ErrorCode::invalid_argument, "an average is of two deltas or more, {} named", options.deltas.size());
  if (weights.empty()) weights.assign(options.deltas.size(), 1.0);
  if (weights.size() != options.deltas.size())
    fail(ErrorCode::invalid_argument, "{} weights for {} deltas", weights.size(), options.deltas.size());
  double total = 0;
  for (const double w : weights) {
    if (!std::isfinite(w) || w < 0)
      fail(ErrorCode::invalid_argument, "weights: expected 0 or more, found {}", w);
    total += w;
  }
  if (total == 0) fail(ErrorCode::invalid_argument, "weights: all of them are 0");
  for (double& w : weights) w /= total;
  return weights;
}

void check_alike(const io::Safetensors& one, const io::Safetensors& other) {
  const auto layers = [](const io::Safetensors& delta) {
    const auto at = delta.metadata().find("memory_layers");
    return at == delta.metadata().end() ? LayerSet().text() : at->second;
  };
  if (layers(one) != layers(other))
    fail(ErrorCode::model_mismatch, "{} has a memory in layers {}, {} in {}", one.path().string(),
         layers(one), other.path().string(), layers(other));
  for (const char* key : kSizes) {
    const auto a = one.metadata().find(key), b = other.metadata().find(key);
    if (a != one.metadata().end() && b != other.metadata().end() && a->second != b->second)
      fail(ErrorCode::model_mismatch, "{} has {} = {}, {} has {}", one.path().string(), key, a->second,
           other.path().string(), b->second);
  }
  for (const auto& [name, tensor] : other.tensors())
    if (!is_scale(other, name) && !one.find(name))
      fail(ErrorCode::model_mismatch, "{} has no tensor \"{}\", {} has", one.path().string(), name,
           other.path().string());
}

}  // namespace

void average_deltas(const AverageOptions& options) {
  const std::vector<double> weights = shares(options);
  std::vector<io::Safetensors> deltas;
  std::vector<std::string> record;
  for (std::size_t i = 0; i < options.deltas.size(); ++i) {
    deltas.push_back(io::Safetensors::open(options.deltas[i]));
    record.push_back(fmt::format("{:.4g} of {}", weights[i], io::sha256_hex(options.deltas[i])));
  }
  const io::Safetensors& last = deltas.back();
  for (const io::Safetensors& delta : deltas) {
    check_alike(last, delta);
    check_alike(delta, last);
  }
  std::deque<std::vector<std::byte>> kept;
  std::vector<io::TensorData> tensors;
  for (const auto& [name, like] : last.tensors()) {
    if (is_scale(last, name)) continue;
    std::vector<double> sum(static_cast<std::size_t>(like.elements()));
    for (std::size_t i = 0; i < deltas.size(); ++i) {
      const io::Tensor& tensor = deltas[i].at(name);
      if (tensor.shape != like.shape)
        fail(ErrorCode::model_mismatch, "{}: tensor \"{}\": expected shape {}, found {}",
             deltas[i].path().string(), name, io::shape_text(like.shape), io::shape_text(tensor.shape));
      const std::vector<float> own = values(deltas[i], tensor);
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += weights[i] * static_cast<double>(own[e]);
    }
    const DType type = like.dtype == DType::f32 ? DType::f32 : DType::bf16;
    std::vector<std::byte>& bytes = kept.emplace_back(sum.size() * (type == DType::f32 ? 4 : 2));
    for (std::size_t e = 0; e < sum.size(); ++e) {
      const auto value = static_cast<float>(sum[e]);
      const std::uint16_t half = f32_to_bf16(value);
      if (type == DType::f32) std::memcpy(bytes.data() + 4 * e, &value, 4);
      else std::memcpy(bytes.data() + 2 * e, &half, 2);
    }
    tensors.push_back({name, type, like.shape, bytes});
  }
  io::StringMap metadata = last.metadata();
  metadata["average"] = fmt::format("{}", fmt::join(record, ", "));
  io::write_safetensors(options.out, tensors, metadata, Readers::by_umask);
}

}  // namespace mplus::train
