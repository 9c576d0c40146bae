// Laws of batched streams: neighbours do not matter, rows are neither lost nor doubled, memory starts empty.
#include <gtest/gtest.h>

#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"
#include "tests/train/tiny_model.h"

namespace mplus::train {
namespace {

struct Life {
  StreamMemory memory;
  Tensor logits;  // [B, T, V]
};

// Six writes with given drops and a read with the paper's recall.
Life live(const Model& model, const std::vector<Tensor>& chunks, std::vector<Tensor>& drops,
          const Tensor& window) {
  const PassWeights writing = merge(model, Adapter::write), reading = merge(model, Adapter::read);
  StreamMemory memory(model, window.size(0), 100);
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(5);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto rows = write_pass(model, writing, memory, chunks[i]);
    if (drops.size() <= i) drops.push_back(memory.draw_drops(rows[0].size(1), random));
    memory.update(model, rows, drops[i]);
  }
  const Tensor asks = prefix_weights(torch::full({window.size(0)}, window.size(1)), window.size(1));
  const ReadResult read =
      read_pass(model, reading,
                {.tokens = window, .memory = &memory, .recall = recall_per_layer(model, memory, {asks})});
  return {memory, logits(model, read.hidden)};
}

TEST(TrainStreams, AStreamIsTheSameAloneAndInABatch) {
  const Model model = tiny_model(torch::kFloat64);
  std::vector<Tensor> chunks, drops;
  for (std::uint64_t i = 0; i < 6; ++i) chunks.push_back(random_tokens(model, 3, i == 2 ? 2 : 6, i));
  const Tensor window = random_tokens(model, 3, 5, 9);
  const Life together = live(model, chunks, drops, window);
  for (std::int64_t b = 0; b < 3; ++b) {
    std::vector<Tensor> own_chunks, own_drops;
    for (const Tensor& chunk : chunks) own_chunks.push_back(chunk.narrow(0, b, 1));
    for (const Tensor& drop : drops) own_drops.push_back(drop.defined() ? drop.narrow(1, b, 1) : drop);
    const Life alone = live(model, own_chunks, own_drops, window.narrow(0, b, 1));
    EXPECT_TRUE(torch::allclose(alone.logits[0], together.logits[b], 1e-10, 1e-10)) << "stream " << b;
  }
}

TEST(TrainStreams, EveryBirthIsInOnePlace) {
  const Model model = tiny_model(torch::kFloat32);
  std::vector<Tensor> chunks, drops;
  for (std::uint64_t i = 0; i < 6; ++i) chunks.push_back(random_tokens(model, 3, 6, i));
  const Life life = live(model, chunks, drops, random_tokens(model, 3, 5, 9));
  EXPECT_EQ(life.memory.slots(), model.memory.N);
  EXPECT_EQ(life.memory.stored(), 6 * model.memory.K - model.memory.N);
  for (std::int64_t l = 0; l < model.config.layers; ++l)
    for (std::int64_t b = 0; b < 3; ++b) {
      const Tensor births = torch::cat({life.memory.births(l)[b], life.memory.long_term(l).birth.view()[b]});
      EXPECT_TRUE(std::get<0>(births.sort()).equal(torch::arange(6 * model.memory.K)));
    }
  EXPECT_FALSE(drops.at(5)[0].equal(drops.at(5)[1])) << "layers draw for themselves";
}

TEST(TrainStreams, AShortFirstChunkLeavesFewerRowsWithTheHighestBirths) {
  const Model model = tiny_model(torch::kFloat32);
  StreamMemory memory(model, 1, 0);
  const auto rows = write_pass(model, merge(model, Adapter::write), memory, random_tokens(model, 1, 2, 1));
  EXPECT_EQ(rows.at(0).size(1), 2);
  memory.update(model, rows, {});
  EXPECT_TRUE(memory.births(0)[0].equal(torch::tensor({1, 2}, torch::kInt64)));
  EXPECT_EQ(memory.tail_rows(), 2);
}

TEST(TrainStreams, SlotsProjectedOnceServeEveryRead) {
  const Model model = tiny_model(torch::kFloat64);
  StreamMemory memory(model, 2, 0);
  memory.update(model, write_pass(model, merge(model, Adapter::write), memory, random_tokens(model, 2, 6, 1)),
                {});
  const PassWeights reading = merge(model, Adapter::read);
  const ProjectedSlots slots = project_slots(model, reading, memory);
  for (std::uint64_t seed = 2; seed < 4; ++seed) {
    const Tensor window = random_tokens(model, 2, 5, seed);
    const Tensor shared =
        read_pass(model, reading, {.tokens = window, .memory = &memory, .slots = &slots}).hidden;
    EXPECT_TRUE(shared.equal(read_pass(model, reading, {.tokens = window, .memory = &memory}).hidden));
  }
}

// Rows of both memories, chosen: all slots are short-term memory, and slots that are not chosen change
// nothing.
TEST(TrainStreams, AReadOverWhatItChoseSeesNothingElse) {
  const torch::NoGradGuard constant;
  const Model model = tiny_model(torch::kFloat64);
  const PassWeights writing = merge(model, Adapter::write), reading = merge(model, Adapter::read);
  for (const unsigned updates : {2u, 5u}) {  // nothing stored, and something
    StreamMemory memory(model, 2, 100);
    const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(7);
    for (unsigned u = 0; u < updates; ++u) {
      const auto rows = write_pass(model, writing, memory, random_tokens(model, 2, 6, u));
      memory.update(model, rows, memory.draw_drops(rows[0].size(1), random));
    }
    const Tensor tokens = random_tokens(model, 2, 5, 9);
    const std::int64_t m = memory.stored(), n = memory.slots();
    EXPECT_EQ(m > 0, updates > 2);
    const auto over = [&](const std::vector<std::int64_t>& rows) {
      const Tensor chosen = torch::tensor(rows, torch::kInt64).unsqueeze(0).expand({2, -1});
      return read_pass(model, reading,
                       {.tokens = tokens,
                        .memory = &memory,
                        .recall = [=](std::int64_t, const Tensor&) { return chosen; },
                        .over_recalled = true});
    };
    std::vector<std::int64_t> slots;
    for (std::int64_t i = 0; i < n; ++i) slots.push_back(m + (i * 5 + 3) % n);  // in any order
    ASSERT_NE(n % 5, 0);
    const Tensor whole = read_pass(model, reading, {.tokens = tokens, .memory = &memory}).hidden;
    EXPECT_TRUE(torch::allclose(over(slots).hidden, whole, 1e-12, 1e-12));
    slots.pop_back();
    EXPECT_FALSE(torch::allclose(over(slots).hidden, whole, 1e-6, 1e-6));
    if (m < 2) continue;
    slots.insert(slots.begin(), {1, 0});  // and rows of the store before them
    const ReadResult both = over(slots);
    EXPECT_TRUE(torch::equal(std::get<0>(both.recalled_births[0].narrow(1, 0, 2).sort(1)),
                             both.recalled_births[0].narrow(1, 0, 2)));
    EXPECT_TRUE(torch::equal(std::get<0>(memory.long_term(0).birth.view().narrow(1, 0, 2).sort(1)),
                             both.recalled_births[0].narrow(1, 0, 2)));
  }
}

TEST(TrainLosses, AnEmptySetOfTokensAddsNothing) {
  const Tensor p = torch::full({1, 4}, 0.25);
  const double wrong = 0.5 * -std::log(0.75 + 1e-5), right = 0.5 * -std::log(0.25 + 1e-5);
  EXPECT_NEAR(retriever_loss({p}, {torch::zeros({1, 4})}).item<double>(), wrong, 1e-6);
  EXPECT_NEAR(retriever_loss({p}, {torch::ones({1, 4})}).item<double>(), right, 1e-6);
}

}  // namespace
}  // namespace mplus::train
