// A golden case: what a reference implementation was given and what it computed. A Report collects
// comparisons; each tolerance comes from the case's own file.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/engine/run/runner.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/memory/memory.h"
#include "mplus/model/files/load.h"
#include "mplus/model/initial_memory.h"
#include "mplus/model/passes/read_pass.h"

namespace mplus::golden {

using Json = nlohmann::json;

class Report {
 public:
  void close(const std::string& what, std::span<const float> found, std::span<const float> expected,
             double tolerance);
  void close(const std::string& what, double found, double expected, double tolerance);
  void equal(const std::string& what, const std::vector<std::int64_t>& found,
             const std::vector<std::int64_t>& expected);
  void note(const std::string& text) { notes_.push_back(text); }

  std::int64_t comparisons() const { return comparisons_; }
  const std::vector<std::string>& failures() const { return failures_; }
  const std::vector<std::string>& notes() const { return notes_; }
  double worst_share() const { return worst_share_; }  // largest error over its tolerance

 private:
  void fail_with(std::string message) { failures_.push_back(std::move(message)); }
  std::int64_t comparisons_ = 0;
  double worst_share_ = 0;
  std::vector<std::string> failures_, notes_;
};

// case.json and expected.safetensors of one folder.
class CaseFolder {
 public:
  CaseFolder(const std::filesystem::path& folder, const DeviceChoice& device);
  const Json& json() const { return json_; }
  const std::filesystem::path& path() const { return path_; }
  const DeviceChoice& device() const { return device_; }  // that the case is to run on
  double tolerance(const char* kind) const { return json_.at("tolerance").at(kind).get<double>(); }
  bool has(const std::string& tensor) const { return expected_ && expected_->find(tensor) != nullptr; }
  const io::Tensor& tensor(const std::string& name) const;
  std::vector<float> expected(const std::string& tensor) const;

 private:
  std::filesystem::path path_;
  DeviceChoice device_;
  Json json_;
  std::optional<io::Safetensors> expected_;
};

struct GoldenOptions {
  model::RopeOptions rope = {};
  model::MemoryOptions memory = {.dtype = DType::f32, .keep_hidden = true};
  kernels::Numerics numerics = kernels::Numerics::exact;
  DeviceChoice device = {};
};

// A model, by default in f32 arithmetic, with the memory it brought (hidden states kept).
class GoldenModel {
 public:
  GoldenModel(const model::ModelFiles& files, const GoldenOptions& options);
  engine::Runner& runner() { return runner_; }
  model::Workspace& workspace() { return runner_.workspace(); }
  // One update of each of these memories, in one pass.
  void update(std::span<const io::TokenId> chunk, std::span<memory::Memory* const> memories,
              const memory::Drops* drops);
  const model::Weights& weights() const { return runner_.workspace().weights(); }  // on the device
  memory::Layout layout(std::int64_t capacity = memory::kUnlimited) const;
  memory::Memory memory(std::int64_t capacity = memory::kUnlimited);

 private:
  model::MemoryOptions memory_options_;
  std::shared_ptr<const model::Weights> weights_;
  engine::Runner runner_;
};

// Reads tokens over a memory (or none) and decodes greedily.
struct ReadRun {
  std::vector<float> logits;      // [T, V]
  std::vector<float> gen_logits;  // [steps, V], after feeding greedy[i]
  std::vector<std::int64_t> greedy;
  std::vector<std::vector<std::int64_t>> recalled_births;  // [L], in the order used
  std::vector<std::vector<float>> scores;                  // [L] of every long-term row, in store order
};
struct ReadRequest {
  const memory::Memory* memory = nullptr;
  memory::Recall* recall = nullptr;
  std::vector<io::TokenId> tokens;
  std::int64_t steps = 0;
  model::Adapter adapter = model::Adapter::read;
};
ReadRun run_read(GoldenModel& model, const ReadRequest& request);
std::vector<float> stacked(const model::WrittenRows& written);                     // [layers, n, d]
std::vector<float> slot_states(const memory::Memory& memory, std::int64_t layer);  // [rows, d], oldest first

std::vector<io::TokenId> token_list(const Json& json);
std::vector<std::int64_t> integer_list(const Json& json);
std::vector<std::vector<std::int64_t>> integer_lists(const Json& json);

}  // namespace mplus::golden
