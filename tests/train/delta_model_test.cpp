// A trained delta on the real base model: GGUF and delta through the trainer's loader, writes with recorded
// drops, reads with and without recall: the cases the engine passes, so both mean the same by the same files.
#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"
#include "tests/io/default_model.h"
#include "tests/train/golden_case.h"

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

class Expectation {
 public:
  Expectation(const GoldenCase& golden, std::string name) : golden_(golden), name_(std::move(name)) {}

  void nll(const Json& reads, const std::string& rule, const Tensor& found) const {
    const auto wanted = reads.at(rule).at("answer_nll").get<std::vector<double>>();
    expect_close(name_ + "." + rule, found, torch::tensor(wanted, torch::kFloat64), golden_.tolerance("nll"));
  }
  // Compares what a rule chooses, and reads the reference's rows: two scores may be all but equal, and a row
  // more or less would change everything that comes after. Such rows are listed as contested.
  Recall watched(const Json& reads, const std::string& rule, const StreamMemory& memory,
                 Recall recall) const {
    const Tensor wanted = golden_.expected("recalled." + name_ + "." + rule).to(torch::kInt64);
    const Json contested = reads.at(rule).at("contested");
    const std::string what = name_ + "." + rule;
    return [=, &memory](std::int64_t m, const Tensor& normed) {
      const Tensor births = memory.long_term(m).birth.view()[0];
      const auto near = contested.value(std::to_string(m), std::vector<std::int64_t>());
      const auto sure = [&](const Tensor& rows) {
        return std::get<0>(
            rows.masked_select(torch::isin(rows, torch::tensor(near, torch::kInt64)).logical_not()).sort());
      };
      EXPECT_TRUE(sure(births.index_select(0, recall(m, normed)[0])).equal(sure(wanted[m])))
          << what << ", layer " << m;
      return torch::isin(births, wanted[m]).nonzero().view({1, -1});
    };
  }

 private:
  const GoldenCase& golden_;
  std::string name_;
};

void check_question(const Model& model, const PassWeights& reading, const StreamMemory& memory,
                    const Json& question, const Expectation& expect) {
  const Tensor window = token_tensor(question.at("window"), 1);
  const auto starts = question.at("answer_starts").get<std::int64_t>();
  const std::int64_t answer = window.size(1) - starts;
  const auto answer_nll = [&](const ReadResult& read) {
    return token_nll(model, read.hidden.narrow(1, starts - 1, answer), window.narrow(1, starts, answer))[0];
  };
  const Json& reads = question.at("reads");
  expect.nll(reads, "no_memory", answer_nll(read_pass(model, reading, {.tokens = window})));
  const auto scout = read_pass(model, reading, {.tokens = window, .memory = &memory, .keep_normed = true});
  expect.nll(reads, "short_term", answer_nll(scout));
  if (!reads.contains("per_layer")) return;
  const Tensor asks = prefix_weights(torch::tensor({starts}), window.size(1));
  const auto check = [&](const char* rule, const Recall& recall) {
    const Recall watched = expect.watched(reads, rule, memory, recall);
    expect.nll(
        reads, rule,
        answer_nll(read_pass(model, reading, {.tokens = window, .memory = &memory, .recall = watched})));
  };
  check("per_layer", recall_per_layer(model, memory, {asks}));
  check("consensus", recall_consensus(model, memory, scout.normed, asks));
}

TEST(TrainDelta, AnswersOfTheDefaultModel) {
  MPLUS_NEED_DEFAULT_MODEL();
  const torch::NoGradGuard constant;
  const GoldenCase golden("smollm2_135m_mplus");
  const Model model =
      load_model({.model = io::test::default_model_path(),
                  .delta = std::filesystem::path(MPLUS_SOURCE_DIR) / "models/smollm2-135m-mplus.safetensors"})
          .model;
  const PassWeights writing = merge(model, Adapter::write), reading = merge(model, Adapter::read);
  for (const Json& stream : golden.json.at("streams")) {
    const auto name = stream.at("name").get<std::string>();
    if (name != "long_term") continue;  // in the others chunks differ in length, which the trainer's do not
    StreamMemory memory(model, 1, model.memory.M);
    for (const Json& chunk : stream.at("chunks")) {
      const std::string drops = fmt::format("drops.{}.{}", name, memory.updates());
      const auto rows = write_pass(model, writing, memory, token_tensor(chunk, 1));
      Tensor slots;
      if (golden.has(drops)) slots = slots_of_births(memory, golden.expected(drops).to(torch::kInt64));
      memory.update(model, rows, slots);
      for (const Json& question : stream.at("questions"))
        if (question.at("after") == memory.updates())
          check_question(model, reading, memory, question,
                         {golden, name + "." + question.at("name").get<std::string>()});
    }
  }
}

}  // namespace
}  // namespace mplus::train
