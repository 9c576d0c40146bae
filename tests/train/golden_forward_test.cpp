// The trainer's forward passes against what the reference implementation computed: writes, series of writes
// with recorded drops, reads with recall. Two equal streams stand side by side in every pass.
#include <algorithm>

#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"
#include "tests/train/golden_case.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kGoldenStreams = 2;

// [L] of [B, …] as [B, L, …].
Tensor by_stream(const std::vector<Tensor>& layers) { return torch::stack(layers, 1); }

void expect_each_stream(const std::string& what, const Tensor& found, const Tensor& expected,
                        double tolerance) {
  for (std::int64_t b = 0; b < kGoldenStreams; ++b)
    expect_close(fmt::format("{} of stream {}", what, b), found[b], expected, tolerance);
}

// Prompt and the tokens generated after it in one pass: the prompt asks, so the rows recalled are the same.
void check_read(const GoldenCase& golden, const Model& model, const StreamMemory& memory, const Json& read,
                const std::vector<std::vector<std::int64_t>>& recalled_births) {
  const auto name = read.at("name").get<std::string>();
  Json tokens = read.at("tokens");
  const auto T = static_cast<std::int64_t>(tokens.size());
  for (const Json& token : read.at("greedy")) tokens.push_back(token);
  const Tensor window = token_tensor(tokens, kGoldenStreams);
  const PassWeights weights = merge(model, Adapter::read);
  const Tensor asks = prefix_weights(torch::full({kGoldenStreams}, T), window.size(1));
  const ReadResult result = read_pass(model, weights,
                                      {.tokens = window,
                                       .memory = &memory,
                                       .recall = recall_per_layer(model, memory, {asks}),
                                       .keep_normed = true});
  const Tensor found = logits(model, result.hidden);
  expect_each_stream(name + ".logits", found.narrow(1, 0, T), golden.expected(name + ".logits"),
                     golden.tolerance("logits"));
  const Tensor generated = golden.expected(name + ".gen_logits");
  expect_each_stream(name + ".gen_logits", found.narrow(1, T, generated.size(0)), generated,
                     golden.tolerance("logits"));
  for (std::size_t l = 0; l < recalled_births.size(); ++l) {
    const auto layer = static_cast<std::int64_t>(l);
    EXPECT_TRUE(result.recalled_births.at(l)[1].equal(torch::tensor(recalled_births[l])))
        << name << ": rows recalled in layer " << l;
    const std::string scores = fmt::format("{}.scores.{}", name, l);
    if (!golden.has(scores)) continue;
    const Tensor found_scores = recall_scores(project(model.query, layer, result.normed[l]),
                                              memory.long_term(layer).key.view(), asks);
    const Tensor expected = golden.expected(scores);
    if (read.contains("row_births")) {  // the order of rows is free: compare by birth
      const Tensor ours = torch::argsort(memory.long_term(layer).birth.view());
      const Tensor theirs =
          torch::argsort(torch::tensor(read.at("row_births").at(l).get<std::vector<std::int64_t>>()));
      expect_each_stream(scores, found_scores.gather(1, ours), expected.gather(0, theirs),
                         golden.tolerance("scores"));
    } else {
      expect_each_stream(scores, found_scores, expected, golden.tolerance("scores"));
    }
  }
}

TEST(TrainGolden, InjectWritesTheReferencesRows) {
  const GoldenCase golden("mplus_inject");
  const LoadedModel loaded = golden.load();
  const StreamMemory memory(loaded.model, *loaded.memory, kGoldenStreams, 0);
  const PassWeights weights = merge(loaded.model, Adapter::write);
  for (const Json& chunk : golden.json.at("chunks")) {
    const auto rows =
        write_pass(loaded.model, weights, memory, token_tensor(chunk.at("tokens"), kGoldenStreams));
    const std::string name = "delta." + chunk.at("name").get<std::string>();
    expect_each_stream(name, by_stream(rows), golden.expected(name), golden.tolerance("state"));
  }
}

TEST(TrainGolden, ReadsRecallAndPredictLikeTheReference) {
  const GoldenCase golden("mplus_read");
  const LoadedModel loaded = golden.load();
  int compared = 0;
  for (const Json& read : golden.json.at("reads")) {
    if (!read.at("spec_should_match").get<bool>()) continue;
    InitialMemory initial = *loaded.memory;
    const auto rows = read.at("ltm_rows").get<std::int64_t>();
    if (rows == 0) initial.long_term.clear();
    for (InitialMemory::LongTerm& layer : initial.long_term)
      layer = {layer.hidden.narrow(0, 0, rows), layer.key.narrow(0, 0, rows), layer.birth.narrow(0, 0, rows)};
    const StreamMemory memory(loaded.model, initial, kGoldenStreams, kUnlimited);
    std::vector<std::vector<std::int64_t>> births;
    for (std::size_t l = 0; l < initial.long_term.size(); ++l) {
      births.emplace_back();
      for (const Json& row : read.at("retrieved").at(l))
        births.back().push_back(initial.long_term[l].birth[row.get<std::int64_t>()].item<std::int64_t>());
    }
    check_read(golden, loaded.model, memory, read, births);
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

// Births of the case's files start at 1, ours at 0.
std::vector<std::vector<std::int64_t>> our_births(const Json& lists) {
  auto births = lists.get<std::vector<std::vector<std::int64_t>>>();
  for (auto& layer : births)
    for (std::int64_t& birth : layer) --birth;
  return births;
}

void check_update(const GoldenCase& golden, const StreamMemory& memory, std::size_t u, const Json& update) {
  const std::string prefix = fmt::format("u{}.", u);
  std::vector<Tensor> slots, keys;
  const auto births = our_births(update.at("spec").at("stm_births"));
  for (std::int64_t l = 0; l < static_cast<std::int64_t>(births.size()); ++l) {
    slots.push_back(memory.short_term(l));
    const Tensor stored = memory.long_term(l).key.view();
    const std::int64_t K = golden.json.at("K").get<std::int64_t>();
    keys.push_back(stored.narrow(1, stored.size(1) - K, K));
    EXPECT_TRUE(memory.births(l)[1].equal(torch::tensor(births[static_cast<std::size_t>(l)]))) << prefix << l;
  }
  expect_each_stream(prefix + "stm", by_stream(slots), golden.expected(prefix + "stm"),
                     golden.tolerance("state"));
  expect_each_stream(prefix + "dropped_keys", by_stream(keys), golden.expected(prefix + "dropped_keys"),
                     golden.tolerance("state"));
}

TEST(TrainGolden, SeriesOfUpdatesAndReadsBehindThem) {
  const GoldenCase golden("mplus_sequence");
  const LoadedModel loaded = golden.load();
  const Model& model = loaded.model;
  const PassWeights weights = merge(model, Adapter::write);
  StreamMemory unlimited(model, *loaded.memory, kGoldenStreams, kUnlimited);
  StreamMemory small(model, *loaded.memory, kGoldenStreams, golden.json.at("M_small").get<std::int64_t>());
  std::size_t u = 0;
  for (const Json& update : golden.json.at("updates")) {
    const auto rows =
        write_pass(model, weights, unlimited, token_tensor(update.at("tokens"), kGoldenStreams));
    const std::string name = fmt::format("u{}.delta", u);
    expect_each_stream(name, by_stream(rows), golden.expected(name), golden.tolerance("state"));
    std::vector<Tensor> dropped;
    for (const Json& layer : update.at("dropped"))
      dropped.push_back(torch::tensor(layer.get<std::vector<std::int64_t>>()).expand({kGoldenStreams, -1}));
    unlimited.update(model, rows, torch::stack(dropped));
    small.update(model, rows, torch::stack(dropped));
    check_update(golden, unlimited, u, update);
    const auto kept = our_births(update.at("spec").at("ltm_births_M_small"));
    for (std::int64_t l = 0; l < model.config.layers; ++l) {
      const Tensor held = std::get<0>(small.long_term(l).birth.view()[1].sort());
      EXPECT_TRUE(held.equal(torch::tensor(kept[static_cast<std::size_t>(l)])))
          << "update " << u << ", layer " << l;
    }
    ++u;
  }
  for (const Json& read : golden.json.at("reads")) {
    const auto name = read.at("name").get<std::string>();
    if (name == "official") continue;
    check_read(golden, model, name == "spec_M_small" ? small : unlimited, read,
               our_births(read.at("retrieved_births")));
  }
}

}  // namespace
}  // namespace mplus::train
