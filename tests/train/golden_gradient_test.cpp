// Losses and gradients of the reference implementation's training steps.
#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"
#include "tests/train/golden_case.h"

namespace mplus::train {
namespace {

void ask_for_gradients(Model& model) {
  for (const Parameter& p : parameters(model)) p.tensor->requires_grad_();
}

void clear_gradients(Model& model) {
  for (const Parameter& p : parameters(model)) p.tensor->mutable_grad() = Tensor();
}

// Compares every gradient the case has below `prefix`; a parameter it leaves out must have none. Returns how
// many were compared. Only the layers the case recorded are looked at.
int expect_gradients(const GoldenCase& golden, Model& model, const std::string& prefix, bool all_recorded) {
  const double absolute = golden.tolerance("grad"), relative = golden.tolerance("grad_rtol");
  const auto named = [&](std::string name) {
    if (golden.has(prefix + name) || !name.ends_with("weight")) return prefix + name;
    return prefix + name.substr(0, name.size() - 6) + "base_layer.weight";
  };
  int compared = 0;
  for (const Parameter& p : parameters(model)) {
    const Tensor& gradient = p.tensor->grad();
    for (std::int64_t l = 0; l < (p.stacked() ? model.config.layers : 1); ++l) {
      const std::string name = named(p.stacked() ? p.layer_name(static_cast<std::size_t>(l)) : p.name);
      if (golden.has(name)) {
        EXPECT_TRUE(gradient.defined()) << name;
        if (!gradient.defined()) continue;
        expect_close(name, p.stacked() ? gradient[l] : gradient, golden.expected(name), absolute, relative);
        ++compared;
      } else if (all_recorded && gradient.defined() && (l == 0 || l == model.config.layers - 1)) {
        EXPECT_EQ((p.stacked() ? gradient[l] : gradient).abs().max().item<double>(), 0.0) << name;
      }
    }
  }
  return compared;
}

int recorded_gradients(const GoldenCase& golden, const std::string& prefix) {
  int count = 0;
  for (const auto& [name, tensor] : golden.tensors.tensors()) count += name.starts_with(prefix);
  return count;
}

// The memory a train step reads: the old slots that were kept (none: one-block), then x1's rows; the store is
// constant.
StreamMemory step_memory(const LoadedModel& loaded, const Json& variant, const std::vector<Tensor>& rows) {
  const Model& model = loaded.model;
  InitialMemory initial = *loaded.memory;
  if (!variant.at("retrieved").is_array() || variant.at("retrieved").at(0).empty()) initial.long_term.clear();
  if (variant.at("kept_old_slots").is_null()) {
    StreamMemory memory(model, 1, 0);
    memory.update(model, rows, {});
    return memory;
  }
  std::vector<Tensor> drops;
  for (const Json& kept : variant.at("kept_old_slots")) {
    Tensor goes = torch::ones({model.memory.N}, torch::kBool);
    goes.index_fill_(0, torch::tensor(kept.get<std::vector<std::int64_t>>()), false);
    drops.push_back(goes.nonzero().flatten().unsqueeze(0));
  }
  StreamMemory memory(model, initial, 1, 0);  // capacity 0: what is dropped here joins no store
  memory.update(model, rows, torch::stack(drops));
  return memory;
}

TEST(TrainGolden, TrainStepLossesAndGradients) {
  const GoldenCase golden("train_step");
  LoadedModel loaded = golden.load();
  Model& model = loaded.model;
  ask_for_gradients(model);
  const Tensor x1 = token_tensor(golden.json.at("x1"), 1), x2 = token_tensor(golden.json.at("x2"), 1);
  for (const Json& variant : golden.json.at("variants")) {
    const auto name = variant.at("name").get<std::string>();
    clear_gradients(model);
    const PassWeights writing = merge(model, Adapter::write);
    const StreamMemory before(model, *loaded.memory, 1, 0);
    const auto rows = write_pass(model, writing, before, x1);
    expect_close(name + ".delta", torch::stack(rows, 1), golden.expected(name + ".delta"),
                 golden.tolerance("state"));
    const bool write_set = variant.at("read_lora").get<std::string>() == "default";
    const PassWeights reading = merge(model, write_set ? Adapter::write : Adapter::read);
    const StreamMemory memory = step_memory(loaded, variant, rows);
    const Tensor all = prefix_weights(torch::tensor({x2.size(1)}), x2.size(1));
    const ReadResult read = read_pass(
        model, reading, {.tokens = x2, .memory = &memory, .recall = recall_per_layer(model, memory, {all})});
    expect_close(name + ".logits", logits(model, read.hidden), golden.expected(name + ".logits"),
                 golden.tolerance("logits"));
    const Tensor loss = next_token_loss(model, read.hidden, x2);
    expect_close(name + ".loss", loss, golden.expected(name + ".loss"), golden.tolerance("loss"));
    loss.backward();
    const std::string gradients = name + ".grad.";
    const int compared = expect_gradients(golden, model, gradients, name != "full_memory_no_ltm");
    EXPECT_EQ(compared, recorded_gradients(golden, gradients)) << name;
    EXPECT_GT(compared, 20) << name;
  }
}

TEST(TrainGolden, RetrieverLossesAndGradients) {
  const GoldenCase golden("retriever_loss");
  LoadedModel loaded = golden.load();
  Model& model = loaded.model;
  ask_for_gradients(model);
  const StreamMemory memory(model, *loaded.memory, 1, kUnlimited);
  const Tensor tokens = token_tensor(golden.json.at("tokens"), 1);
  std::vector<Tensor> right;
  for (const Json& layer : golden.json.at("labels"))
    right.push_back(torch::tensor(layer.get<std::vector<std::int64_t>>()).unsqueeze(0));
  for (const Json& run : golden.json.at("runs")) {
    const auto name = run.at("name").get<std::string>();
    const auto askers = [&](const char* key) {
      std::vector<Tensor> weights;
      for (const Json& length : run.at(key))
        weights.push_back(prefix_weights(torch::tensor({length.get<std::int64_t>()}), tokens.size(1)));
      return weights;
    };
    const PassWeights weights = merge(model, Adapter::read);
    const ReadResult read =
        read_pass(model, weights,
                  {.tokens = tokens,
                   .memory = &memory,
                   .recall = recall_per_layer(model, memory, askers("ltm_query_prefix_lengths")),
                   .keep_normed = true});
    const auto p = slot_scores(model, memory, model.query, read.normed, askers("query_prefix_lengths"));
    const auto p_encoder = encoder_slot_scores(model, memory);
    for (std::size_t l = 0; l < p.size(); ++l) {
      const std::string layer = fmt::format(".{}", l);
      const Tensor norm_query = golden.expected(name + ".norm_query" + layer);
      expect_close(name + ".norm_query" + layer, read.normed[l].narrow(1, 0, norm_query.size(-2)), norm_query,
                   golden.tolerance("state"));
      expect_close(name + ".p" + layer, p[l], golden.expected(name + ".p" + layer),
                   golden.tolerance("scores"));
      expect_close(name + ".p_encoder" + layer, p_encoder[l], golden.expected(name + ".p_encoder" + layer),
                   golden.tolerance("scores"));
    }
    clear_gradients(model);
    const Tensor query_loss = retriever_loss(p, right), encoder_loss = retriever_loss(p_encoder, right);
    EXPECT_NEAR(query_loss.item<double>(), run.at("loss_query").get<double>(), golden.tolerance("loss"));
    EXPECT_NEAR(encoder_loss.item<double>(), run.at("loss_encoder").get<double>(), golden.tolerance("loss"));
    query_loss.backward({}, /*keep_graph=*/true);
    const std::string first = name + ".grad_query_loss.", total = name + ".grad_total.";
    EXPECT_EQ(expect_gradients(golden, model, first, true), recorded_gradients(golden, first));
    encoder_loss.backward();
    EXPECT_EQ(expect_gradients(golden, model, total, true), recorded_gradients(golden, total));
    EXPECT_GT(recorded_gradients(golden, total), 0);
  }
}

}  // namespace
}  // namespace mplus::train
