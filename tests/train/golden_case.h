// A golden case for the trainer: what the reference implementation was given and what it computed.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mplus/core/files/file.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/train/model/files/load.h"
#include "mplus/train/torch.h"

namespace mplus::train {

using Json = nlohmann::json;

inline constexpr std::int64_t kUnlimited = std::int64_t{1} << 40;  // rows of a long-term store

struct GoldenCase {
  explicit GoldenCase(const std::string& name)
      : folder(std::filesystem::path(MPLUS_TEST_DATA) / "golden" / name),
        json(Json::parse(read_text_file(folder / "case.json"))),
        tensors(io::Safetensors::open(folder / "expected.safetensors")) {}

  double tolerance(const char* kind) const { return json.at("tolerance").at(kind).get<double>(); }
  LoadedModel load() const { return load_model({.model = folder / "model", .delta = {}}); }
  bool has(const std::string& name) const { return tensors.find(name) != nullptr; }
  Tensor expected(const std::string& name) const {
    const io::Tensor& tensor = tensors.at(name);
    const std::vector<float> values = io::dequantise(tensor);
    return torch::tensor(values).reshape(tensor.shape);
  }

  std::filesystem::path folder;
  Json json;
  io::Safetensors tensors;
};

// The same token list for each of `streams` streams, [streams, T].
inline Tensor token_tensor(const Json& list, std::int64_t streams) {
  return torch::tensor(list.get<std::vector<std::int64_t>>()).unsqueeze(0).repeat({streams, 1});
}

// |found − expected| ≤ absolute + relative·|expected| everywhere; shapes are compared up to dims of 1.
inline void expect_close(const std::string& what, const Tensor& found, const Tensor& expected,
                         double absolute, double relative = 0) {
  ASSERT_TRUE(found.defined()) << what << ": nothing was computed";
  ASSERT_EQ(found.numel(), expected.numel()) << what;
  const Tensor a = found.detach().flatten().to(torch::kFloat64);
  const Tensor b = expected.flatten().to(torch::kFloat64);
  const double worst = ((a - b).abs() / (absolute + relative * b.abs())).max().item<double>();
  EXPECT_LE(worst, 1.0) << what << ": largest error " << (a - b).abs().max().item<double>() << ", " << worst
                        << " of its tolerance";
}

}  // namespace mplus::train
