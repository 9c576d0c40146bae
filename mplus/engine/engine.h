// An Engine is a loaded model, ready to run: weights, tokenizer, threads and buffers. Sessions belong to one
// engine and use its buffers: one thread at a time per engine, sessions included. It must outlive its
// sessions.
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "mplus/engine/run/runner.h"
#include "mplus/io/text/chat_template.h"
#include "mplus/io/text/text_side.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/memory/recall/recall.h"
#include "mplus/model/files/load.h"
#include "mplus/model/initial_memory.h"

namespace mplus::engine {

struct EngineOptions {
  model::ModelFiles files;
  int threads = 0;  // 0: the cores this process may use
  kernels::Numerics numerics = kernels::Numerics::fast;
  DeviceChoice device = {};  // throws unsupported where one is named that is not there
  model::WeightForm weights = model::WeightForm::values;  // there
  model::MemoryOptions memory;
  model::RopeOptions rope;
  std::int64_t write_layers = 0;  // of RunnerOptions
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options);

  const model::ModelFiles& files() const { return options_.files; }
  const model::Weights& weights() const { return *weights_; }  // as the files have them, on the host
  Runner& runner() { return *runner_; }                        // does the work of all its sessions
  model::Workspace& workspace() { return runner_->workspace(); }
  Device device() const { return device_; }  // that passes run on
  kernels::Queue& queue() { return runner_->queue(); }
  bool has_memory() const { return weights_->memory.has_value(); }
  const memory::Layout& layout() const { return layout_; }
  std::int64_t chunk_tokens() const { return has_memory() ? weights_->memory->C : 0; }  // C
  std::int64_t window_tokens() const;                                                   // W, or the context
  const RecallPolicy& recall_policy() const { return recall_policy_; }                  // as the delta says
  memory::VoteOptions vote_options() const;

  bool has_tokenizer() const { return tokenizer_.has_value(); }
  const io::Tokenizer& tokenizer() const;  // throws not_found when the model's files bring none
  const std::optional<io::ChatTemplate>& chat_template() const { return chat_template_; }
  bool is_end(io::TokenId id) const;  // a token that ends a text
  // What the probe of talk reads in front of every message, read by the layers in front of it: the template's
  // start and system message. Made once. For models with a template and a probe.
  const model::AttentionCache& talk_start();
  // The same tokens in a window, as the base model's own answers have them in front. Made once.
  const memory::WindowRows& talk_start_rows();

  const memory::Memory& initial_memory();  // made once; sessions fork it
  // Values are bit-equal for equal ids; of a new memory, or of one that keeps its rows so.
  std::string numerics_id() const { return numerics_id(layout_.long_term); }
  std::string numerics_id(RowFormat long_term) const;
  std::string shape_id() const;  // architecture, sizes, tokenizer: what a memory must fit
  std::string
  weights_id();  // hash over the weights; computed when first asked for, by any thread, cached on disk

 private:
  Engine(const EngineOptions& options, std::future<std::optional<io::TextSide>> text);
  void take_text_side(std::optional<io::TextSide> text);

  EngineOptions options_;
  std::shared_ptr<const model::Weights> weights_;
  Device device_;
  std::unique_ptr<Runner> runner_;
  memory::Layout layout_;
  RecallPolicy recall_policy_;
  std::optional<io::Tokenizer> tokenizer_;
  std::optional<io::ChatTemplate> chat_template_;
  std::once_flag initial_memory_once_, talk_start_once_, talk_start_rows_once_, weights_id_once_;
  std::optional<memory::Memory> initial_memory_;
  std::optional<model::AttentionCache> talk_start_;
  std::optional<memory::WindowRows> talk_start_rows_;
  std::string weights_id_;
};

}  // namespace mplus::engine
