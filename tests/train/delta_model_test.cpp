// A trained delta on the real base model: GGUF and delta through the trainer's loader, writes with recorded
// drops, reads with and without recall: the cases the engine passes, so both mean the same by the same files.
// MPLUS_PILOT_DELTA names the delta the cases were made with, for an exact comparison; otherwise the int8
// rounding of it in tests/data is compared by mean NLL.
#include <cstdlib>

#include "../io/default_model.h"
#include "golden_case.h"
#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"

namespace mplus::train {
namespace {

// The slots of each layer that hold the recorded births, [L, 1, K].
Tensor slots_of_births(const StreamMemory& memory, const Tensor& births) {
  std::vector<Tensor> layers;
  for (std::int64_t l = 0; l < births.size(0); ++l)
    layers.push_back(
        torch::searchsorted(memory.births(l)[0].contiguous(), births[l].contiguous()).unsqueeze(0));
  return torch::stack(layers);
}

struct Expectation {
  bool exact;
  void nll(const std::string& what, const Tensor& found, const Json& expected) const {
    const Tensor wanted =
        torch::tensor(expected.at("answer_nll").get<std::vector<double>>(), torch::kFloat64);
    if (exact) return expect_close(what, found, wanted, 2e-4);
    expect_close(what + " (mean)", found.mean(), wanted.mean(), 0.01);
  }
};

TEST(TrainDelta, AnswersOfTheDefaultModel) {
  MPLUS_NEED_DEFAULT_MODEL();
  const torch::NoGradGuard constant;
  const char* exact_delta = std::getenv("MPLUS_PILOT_DELTA");
  const std::filesystem::path folder = std::filesystem::path(MPLUS_TEST_DATA) / "pilot";
  const Model model =
      load_model({.model = io::test::default_model_path(),
                  .delta = exact_delta ? std::filesystem::path(exact_delta) : folder / "delta.safetensors"})
          .model;
  const Expectation expect{.exact = exact_delta != nullptr};
  const Json golden = Json::parse(read_text_file(folder / "golden.json"));
  const io::Safetensors recorded = io::Safetensors::open(folder / "golden_drops.safetensors");
  const PassWeights writing = merge(model, Adapter::write), reading = merge(model, Adapter::read);
  for (const Json& c : golden.at("cases")) {
    const auto name = c.at("name").get<std::string>();
    if (name != "three_chunks_first_asked" && name != "long_term_uncertain")
      continue;  // the others: more of the same
    StreamMemory memory(model, 1, model.memory.M);

    const io::Tensor& drops = recorded.at("dropped_births." + name);
    const Tensor births = torch::tensor(io::dequantise(drops)).to(torch::kInt64).reshape(drops.shape);
    std::int64_t dropping = 0;
    for (const Json& chunk : c.at("chunks")) {
      const auto rows = write_pass(model, writing, memory, token_tensor(chunk, 1));
      const bool full = memory.drops_for(rows[0].size(1)) > 0;
      memory.update(model, rows, full ? slots_of_births(memory, births[dropping++]) : Tensor());
    }
    const Tensor window = token_tensor(c.at("window"), 1);
    const auto starts = c.at("answer_starts").get<std::int64_t>();
    const std::int64_t answer = window.size(1) - starts;
    const auto answer_nll = [&](const ReadResult& read) {
      return token_nll(model, read.hidden.narrow(1, starts - 1, answer), window.narrow(1, starts, answer))[0];
    };
    const auto nothing = read_pass(model, reading, {.tokens = window});
    const auto slots = read_pass(model, reading, {.tokens = window, .memory = &memory});
    expect.nll(name + ": no memory", answer_nll(nothing), c.at("no_memory"));
    expect.nll(name + ": short-term memory", answer_nll(slots), c.at("short_term_only"));
    if (!c.contains("per_layer_recall")) continue;
    const Tensor asks = prefix_weights(torch::tensor({starts}), window.size(1));
    const auto check = [&](const char* rule, const Recall& recall) {
      const auto read = read_pass(model, reading, {.tokens = window, .memory = &memory, .recall = recall});
      expect.nll(name + ": " + rule, answer_nll(read), c.at(std::string(rule) + "_recall"));
      if (!expect.exact) return;
      for (const auto& [layer, wanted] : c.at(std::string(rule) + "_recalled_births").items()) {
        const Tensor found = read.recalled_births.at(static_cast<std::size_t>(std::stoll(layer)))[0];
        EXPECT_TRUE(found.equal(torch::tensor(wanted.get<std::vector<std::int64_t>>())))
            << name << ", " << rule << ", layer " << layer;
      }
    };
    check("per_layer", recall_per_layer(model, memory, {asks}));
    const auto scout = read_pass(model, reading, {.tokens = window, .memory = &memory, .keep_normed = true});
    check("consensus", recall_consensus(model, memory, scout.normed, asks));
  }
}

}  // namespace
}  // namespace mplus::train
