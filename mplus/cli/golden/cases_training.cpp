// The forward parts of the training cases: retriever probabilities and losses, and the cross-entropy of a
// train step.
#include <algorithm>
#include <cmath>

#include "mplus/cli/golden/cases.h"
#include "mplus/core/error.h"
#include "mplus/engine/answer/sampling/sampler.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/norm.h"
#include "mplus/kernels/retrieval/retrieval.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::golden {
namespace {

// Recall as the training branch draws it: a prefix of the target asks, of another length in each layer.
class PrefixRecall final : public memory::Recall {
 public:
  explicit PrefixRecall(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)) {}
  memory::LayerRecall rows(kernels::Queue& queue, const memory::Memory& memory, std::int64_t layer,
                           const memory::LayerQueries& queries) override {
    memory::LayerQueries prefix = queries;
    prefix.T = std::min(prefix.T, lengths_.at(static_cast<std::size_t>(layer)));
    return best_->rows(queue, memory, layer, prefix);
  }

 private:
  std::vector<std::int64_t> lengths_;
  std::unique_ptr<memory::Recall> best_ = memory::make_recall({RecallRule::per_layer});
};

// p_j = mean_t sigmoid(q_t · k_j) from the projections' inputs.
std::vector<float> probabilities(model::Workspace& w, const model::RetrieverHead& query,
                                 const model::RetrieverHead& key, std::span<const float> norm_query,
                                 std::span<const float> norm_memory) {
  const std::int64_t d = w.weights().config.hidden;
  const std::int64_t d_r = w.weights().memory->d_r;
  const auto T = static_cast<std::int64_t>(norm_query.size()) / d;
  const auto n = static_cast<std::int64_t>(norm_memory.size()) / d;
  w.reserve(std::max(T, n));
  const auto project = [&](std::span<const float> normed, std::int64_t rows,
                           const model::RetrieverHead& head) {
    const kernels::OnDevice x(w.queue(), {normed.data(), DType::f32, {rows, d}});
    const Buffer room = w.queue().backend().allocate(row_bytes(DType::f32, rows * d_r));
    const Tensor out = room.tensor(DType::f32, {rows, d_r});
    model::retriever_project(w, out, x.tensor(), head, kernels::Rows::batched);
    return kernels::to_host(w.queue(), out);
  };
  const std::vector<float> q = project(norm_query, T, query), k = project(norm_memory, n, key);
  std::vector<float> p(static_cast<std::size_t>(n));
  kernels::retrieval_scores(w.queue(), {p.data(), DType::f32, {n}}, {q.data(), DType::f32, {T, d_r}},
                            kernels::key_tensor(k.data(), DType::f32, n, d_r));
  return p;
}

std::vector<float> normed(model::Workspace& w, const float* x, std::int64_t rows, const ConstTensor& weight) {
  const std::int64_t d = w.weights().config.hidden;
  const kernels::OnDevice in(w.queue(), {x, DType::f32, {rows, d}});
  const Buffer room = w.queue().backend().allocate(row_bytes(DType::f32, rows * d));
  const Tensor out = room.tensor(DType::f32, {rows, d});
  kernels::rms_norm(w.queue(), out, in.tensor(), weight, w.weights().config.norm_epsilon);
  return kernels::to_host(w.queue(), out);
}

// The retriever loss: means over all (layer, token) pairs together, apart for right and wrong tokens.
double pooled_loss(const std::vector<std::vector<float>>& p,
                   const std::vector<std::vector<std::int64_t>>& labels) {
  double right = 0, wrong = 0, rights = 0, wrongs = 0;
  for (std::size_t l = 0; l < p.size(); ++l)
    for (std::size_t j = 0; j < p[l].size(); ++j) {
      const auto value = static_cast<double>(p[l][j]);
      if (labels[l][j] != 0) {
        right -= std::log(value + 1e-5);
        ++rights;
      } else {
        wrong -= std::log(1 - value + 1e-5);
        ++wrongs;
      }
    }
  return 0.5 * (rights > 0 ? right / rights : 0) + 0.5 * (wrongs > 0 ? wrong / wrongs : 0);
}

void check_retriever_run(GoldenModel& model, const CaseFolder& folder, const Json& run, Report& report) {
  model::Workspace& w = model.workspace();
  const memory::Memory memory = model.memory();
  const auto name = run.at("name").get<std::string>();
  const auto tokens = token_list(folder.json().at("tokens"));
  const auto lengths = integer_list(run.at("query_prefix_lengths"));
  const auto labels = integer_lists(folder.json().at("labels"));
  const std::int64_t d = model.weights().config.hidden;
  PrefixRecall recall(integer_list(run.at("ltm_query_prefix_lengths")));
  std::vector<std::vector<float>> inputs(model.weights().layers.size());
  model::ReadTaps taps;
  taps.hidden = [&](std::int64_t l, std::span<const float> x) {
    inputs[static_cast<std::size_t>(l)].assign(x.begin(), x.end());
  };
  model::AttentionCache cache(model.weights().config.layers, w.kv_shape());
  const model::ReadItem item{.tokens = tokens,
                             .cache = &cache,
                             .memory = &memory,
                             .recall = &recall,
                             .scouts_end = static_cast<std::int64_t>(tokens.size()),
                             .logits_from = static_cast<std::int64_t>(tokens.size()),
                             .taps = &taps};
  model::read_pass(w, {&item, 1}, model::Adapter::read, {});
  std::vector<std::vector<float>> p, p_encoder;
  for (std::size_t l = 0; l < inputs.size(); ++l) {
    const model::Layer& layer = model.weights().layers[l];
    const std::vector<float> norm_query = normed(w, inputs[l].data(), lengths[l], layer.attention_norm);
    const std::vector<float> slots = slot_states(memory, static_cast<std::int64_t>(l));
    const std::vector<float> norm_memory =
        normed(w, slots.data(), std::ssize(slots) / memory.layout().hidden, layer.attention_norm);
    const auto expect = [&](const char* what, std::span<const float> found, const char* kind) {
      const std::string tensor = fmt::format("{}.{}.{}", name, what, l);
      report.close(tensor, found, folder.expected(tensor), folder.tolerance(kind));
    };
    expect("norm_query", norm_query, "state");
    expect("norm_memory", norm_memory, "state");
    p.push_back(probabilities(w, layer.query, layer.key, norm_query, norm_memory));
    const auto newest = std::span(norm_memory).last(static_cast<std::size_t>(memory.layout().K * d));
    p_encoder.push_back(probabilities(w, layer.encoder_query, layer.key, newest, norm_memory));
    expect("p", p.back(), "scores");
    expect("p_encoder", p_encoder.back(), "scores");
  }
  report.close(name + ".loss_query", pooled_loss(p, labels), run.at("loss_query").get<double>(),
               folder.tolerance("loss"));
  report.close(name + ".loss_encoder", pooled_loss(p_encoder, labels), run.at("loss_encoder").get<double>(),
               folder.tolerance("loss"));
}

// The memory a train step reads: the old slots that were kept, then x1's rows.
memory::Memory step_memory(GoldenModel& model, const memory::Memory& initial, const Json& variant,
                           const model::WrittenRows& written, model::Adapter adapter) {
  const std::size_t layers = written.layers.size();
  const std::vector<float> all = stacked(written);
  memory::Memory memory = initial;
  if (variant.at("kept_old_slots").is_null()) memory = memory::Memory(initial.layout(), 0);
  memory::Drops drops(layers);
  std::vector<model::ProjectedRows> projected;
  std::vector<memory::NewRows> rows;
  projected.reserve(layers);
  for (std::size_t l = 0; l < layers; ++l) {
    if (!variant.at("kept_old_slots").is_null()) {
      const auto kept = integer_list(variant.at("kept_old_slots").at(l));
      for (std::int64_t slot = 0; slot < initial.layout().N; ++slot)
        if (std::find(kept.begin(), kept.end(), slot) == kept.end()) drops[l].push_back(slot);
    }
    const std::int64_t n = written.layers[l].n, d = initial.layout().hidden;
    const ConstTensor states(all.data() + static_cast<std::int64_t>(l) * n * d, DType::f32, {n, d});
    const auto& q = projected.emplace_back(
        model::project_rows(model.workspace(), static_cast<std::int64_t>(l), states, adapter));
    rows.push_back({states.on_host<float>(), q.k.data(), q.v.data(), q.key.data(), n});
  }
  memory.update(rows, &drops);
  memory.load_long_term(initial.long_term());  // the store is constant in a train step
  return memory;
}

}  // namespace

void run_retriever_loss(const CaseFolder& folder, Report& report) {
  GoldenModel model({.model = folder.path() / "model", .delta = {}}, {.device = folder.device()});
  for (const Json& run : folder.json().at("runs")) check_retriever_run(model, folder, run, report);
  report.note("gradients belong to the trainer and are not compared here");
}

void run_train_step(const CaseFolder& folder, Report& report) {
  GoldenModel model({.model = folder.path() / "model", .delta = {}}, {.device = folder.device()});
  memory::Memory initial = model.memory();
  const auto x1 = token_list(folder.json().at("x1"));
  const auto x2 = token_list(folder.json().at("x2"));
  const auto V = static_cast<std::size_t>(model.weights().config.vocab);
  for (const Json& variant : folder.json().at("variants")) {
    const auto name = variant.at("name").get<std::string>();
    const model::WriteItem item{x1, &initial};
    const auto written = model::write_pass(model.workspace(), {&item, 1});
    report.close(name + ".delta", stacked(written[0]), folder.expected(name + ".delta"),
                 folder.tolerance("state"));
    const bool write_set = variant.at("read_lora").get<std::string>() == "default";
    const model::Adapter adapter = write_set ? model::Adapter::write : model::Adapter::read;
    const memory::Memory memory = step_memory(model, initial, variant, written[0], adapter);
    const bool recalls = variant.at("retrieved").is_array() && !variant.at("retrieved").at(0).empty();
    const auto recall = memory::make_recall({recalls ? RecallRule::per_layer : RecallRule::none});
    const ReadRun run = run_read(
        model, {.memory = &memory, .recall = recall.get(), .tokens = x2, .steps = 0, .adapter = adapter});
    report.close(name + ".logits", run.logits, folder.expected(name + ".logits"), folder.tolerance("logits"));
    double loss = 0;
    for (std::size_t t = 0; t + 1 < x2.size(); ++t)
      loss += engine::negative_log_likelihood(std::span(run.logits).subspan(t * V, V), x2[t + 1]) /
              static_cast<double>(x2.size() - 1);
    report.close(name + ".loss", loss, variant.at("loss").get<double>(), folder.tolerance("loss"));
    for (std::size_t l = 0; recalls && l < run.recalled_births.size(); ++l) {
      std::vector<std::int64_t> expected;
      for (std::int64_t row : integer_list(variant.at("retrieved").at(l)))
        expected.push_back(
            initial.long_term().birth(static_cast<std::int64_t>(l), {0, static_cast<std::uint32_t>(row)}));
      report.equal(fmt::format("{}: rows recalled in layer {}", name, l), run.recalled_births[l], expected);
    }
  }
  report.note("gradients belong to the trainer and are not compared here");
}

}  // namespace mplus::golden
