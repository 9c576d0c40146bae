// The parts of the trainer's evaluation against those that training itself uses: many questions at once must
// find, recall and read what each would alone.
#include <gtest/gtest.h>

#include "mplus/train/evaluation/reader.h"
#include "mplus/train/evaluation/search.h"
#include "mplus/train/model/recall.h"
#include "mplus/train/model/small_rows.h"
#include "mplus/train/model/write_pass.h"
#include "tests/train/tiny_model.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kStreams = 3, kUpdates = 9;

struct Written {
  Model model;
  std::optional<StreamMemory> memory;

  explicit Written(std::int64_t top, const LayerSet& layers = {})
      : model(tiny_model(torch::kFloat64, 1, layers)) {
    const torch::NoGradGuard constant;
    model.memory.recall.vote_top = top;
    model.vote_weights = torch::tensor({0.4, 1.6}, torch::kFloat64).narrow(0, 0, model.memory_layers());
    memory.emplace(model, kStreams, 1000);
    memory->keep_small_keys();
    const PassWeights writing = merge(model, Adapter::write);
    const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(7);
    for (std::uint64_t u = 0; u < kUpdates; ++u) {
      const auto rows = write_pass(model, writing, *memory, random_tokens(model, kStreams, 6, 100 + u));
      memory->update(model, rows, memory->draw_drops(rows[0].size(1), random));
    }
  }
};

// Questions of 5, 3, 5 and 2 tokens to streams 2, 0, 2 and 1.
struct Questions {
  std::vector<std::vector<std::int32_t>> ids{{1, 2, 3, 4, 5}, {6, 7, 8}, {9, 1, 9, 2, 9}, {3, 11}};
  Tensor streams = torch::tensor({2, 0, 2, 1}, torch::kInt64);
  Windows windows = pad(ids, torch::kCPU);
  Tensor askers = prefix_weights(windows.lengths, windows.tokens.size(1));
};

// The same question asked of all streams, so that the reads of training can take it.
Tensor of_all_streams(const std::vector<std::int32_t>& ids) {
  return torch::tensor(std::vector<std::int64_t>(ids.begin(), ids.end())).unsqueeze(0).expand({kStreams, -1});
}

TEST(Evaluation, FindsAndReadsWhatEachQuestionWouldAlone) {
  const torch::NoGradGuard constant;
  for (const auto& [top, layers] :
       {std::pair{0, LayerSet()}, {2, LayerSet()}, {2, LayerSet({1})}, {0, LayerSet({0})}}) {
    const Written written(top, layers);
    const Model& model = written.model;
    const StreamMemory& memory = *written.memory;
    const Questions questions;
    const Reader reader(model);
    const PassWeights reading = merge(model, Adapter::read);
    const ProjectedSlots slots = reader.slots(memory);
    std::vector<Tensor> normed;
    reader.read(reader.memory_fronts(slots, questions.streams), questions.windows.tokens, &normed);
    const ChunkSearch search(model, memory, normed, questions.askers, questions.streams);
    const ChunkVotes& votes = search.competing();
    const TakenRows taken = search.take(votes.order(), votes.leaders(kNoMargin).sum(1), true);
    for (const ChosenRows& layer : taken) EXPECT_TRUE((layer.count == model.memory.K0).all().item<bool>());
    const RecallFronts recalled = reader.recall_fronts(
        memory, slots, questions.streams,
        [&](std::int64_t l, const Tensor&) { return taken[static_cast<std::size_t>(l)]; }, nullptr);
    const Tensor hidden = reader.read(recalled.fronts, questions.windows.tokens);
    for (std::int64_t q = 0; q < std::ssize(questions.ids); ++q) {
      const std::int64_t s = questions.streams[q].item<std::int64_t>();
      const Tensor tokens = of_all_streams(questions.ids[static_cast<std::size_t>(q)]);
      const std::int64_t T = tokens.size(1);
      const ReadResult scout =
          read_pass(model, reading, {.tokens = tokens, .memory = &memory, .keep_normed = true});
      const Tensor askers = prefix_weights(torch::full({kStreams}, T, torch::kInt64), T);
      const ReadResult alone = read_pass(model, reading,
                                         {.tokens = tokens,
                                          .memory = &memory,
                                          .recall = recall_consensus(model, memory, scout.normed, askers)});
      ASSERT_EQ(std::ssize(recalled.recalled_births), model.memory_layers());
      for (std::size_t l = 0; l < recalled.recalled_births.size(); ++l)
        EXPECT_TRUE(torch::equal(recalled.recalled_births[l][q], alone.recalled_births[l][s]))
            << "question " << q << " layer " << l;
      // Scores are taken in float32 here: rows are the same, so nothing but rounding of the reads is left.
      EXPECT_TRUE(torch::allclose(hidden[q].narrow(0, 0, T), alone.hidden[s], 1e-9, 1e-12))
          << "question " << q;
    }
  }
}

// Rows in front that are fewer for some questions and layers, from lists that were made apart.
TEST(Evaluation, PaddingChangesNothing) {
  const torch::NoGradGuard constant;
  const Written written(0);
  const StreamMemory& memory = *written.memory;
  const Questions questions;
  const Reader reader(written.model);
  const ProjectedSlots slots = reader.slots(memory);
  const Tensor rows = torch::tensor({4, 0, 7, 2, 5}, torch::kInt64);
  const std::vector<std::vector<std::int64_t>> counts = {{3, 0, 5, 1}, {2, 4, 0, 1}};  // [L][Q]
  const auto fronts_of = [&](const Tensor& which, bool ragged) {
    return reader.recall_fronts(
        memory, slots, questions.streams.index_select(0, which),
        [&](std::int64_t l, const Tensor&) {
          const Tensor count = torch::tensor(counts[static_cast<std::size_t>(l)]).index_select(0, which);
          if (ragged) return ChosenRows{rows.expand({which.size(0), -1}), count};
          return ChosenRows{rows.narrow(0, 0, count[0].item<std::int64_t>()).unsqueeze(0)};
        },
        nullptr);
  };
  const auto these = [](std::vector<std::int64_t> which) { return torch::tensor(which); };
  const RecallFronts some = fronts_of(these({0, 1, 2}), true);
  const Fronts all = joined({some.fronts, fronts_of(these({3}), false).fronts});
  const Tensor hidden = reader.read(all, questions.windows.tokens);
  constexpr std::int64_t kMost = 6;
  std::vector<std::vector<std::int64_t>> said;
  reader.generate(all, questions.windows, kMost, [&](const std::vector<std::int64_t>& ids) {
    said.push_back(ids);
    return true;
  });
  ASSERT_EQ(std::ssize(said), kMost);
  for (std::size_t q = 0; q < questions.ids.size(); ++q) {
    const RecallFronts own = fronts_of(these({static_cast<std::int64_t>(q)}), false);
    std::vector<std::int32_t> window = questions.ids[q];
    const auto T = static_cast<std::int64_t>(window.size());
    const Tensor alone = reader.read(own.fronts, pad({window}, torch::kCPU).tokens)[0];
    // Angles are float32 products, so turning all rows by some positions more is not quite the same.
    const Tensor beside = hidden[static_cast<std::int64_t>(q)].narrow(0, 0, T);
    EXPECT_LT((beside - alone).abs().max().item<double>(), 4e-6) << "question " << q;
    for (std::size_t l = 0; q < 3 && l < 2; ++l) {
      const Tensor births = some.recalled_births[l][static_cast<std::int64_t>(q)];
      EXPECT_TRUE(torch::equal(births.masked_select(births >= 0), own.recalled_births[l][0]));
    }
    // Answers grow as if the whole window were read again for every token.
    for (const std::vector<std::int64_t>& ids : said) {
      const Tensor last = reader.read(own.fronts, pad({window}, torch::kCPU).tokens)[0][-1];
      const Tensor best = logits(written.model, last.view({1, 1, -1})).argmax(-1);
      EXPECT_EQ(best.item<std::int64_t>(), ids[q]) << "question " << q;
      window.push_back(static_cast<std::int32_t>(ids[q]));
    }
  }
}

// Rows of the store come back from few bits; bos, slots and padding stay what they are.
TEST(Evaluation, RowsOfTheStoreAreReadAsTheyAreKept) {
  const torch::NoGradGuard constant;
  const Written written(0);
  const StreamMemory& memory = *written.memory;
  const Questions questions;
  const Reader plain(written.model);
  const ProjectedSlots slots = plain.slots(memory);
  const auto chosen_of = [&](const Tensor& rows, const Tensor& count) {  // 100 and more: a slot
    return ChosenRows{torch::where(rows < 100, rows, rows - 100 + memory.stored()), count};
  };
  const std::vector<ChosenRows> chosen{
      chosen_of(torch::tensor({{4, 101, 2}, {100, 0, 1}, {3, 5, 102}, {6, 2, 0}}, torch::kInt64),
                torch::tensor({3, 2, 1, 0}, torch::kInt64)),
      chosen_of(torch::tensor({{1, 0, 100}, {0, 1, 2}, {2, 1, 0}, {101, 0, 3}}, torch::kInt64),
                torch::tensor({2, 3, 0, 1}, torch::kInt64))};
  const auto both_ways = [&](const Reader& reader) {
    const auto rows = [&](std::int64_t l, const Tensor&) {
      return ChosenRows{torch::tensor({{1, 4}, {0, 2}, {5, 3}, {7, 6}}, torch::kInt64) + l};
    };
    return std::vector<RecallFronts>{
        reader.chosen_fronts(memory, questions.streams, chosen),
        reader.recall_fronts(memory, slots, questions.streams, rows, nullptr),
        reader.recall_fronts(memory, slots, questions.streams, rows, &questions.windows)};
  };
  const std::vector<RecallFronts> before = both_ways(plain);
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    const std::vector<RecallFronts> after = both_ways(plain.with_rows(format));
    for (std::size_t way = 0; way < before.size(); ++way)
      for (std::size_t l = 0; l < 2; ++l) {
        const Tensor& births = before[way].recalled_births[l];
        ASSERT_TRUE(torch::equal(births, after[way].recalled_births[l]));
        ASSERT_GT((births >= 0).sum().item<std::int64_t>(), 0);
        const Tensor all = torch::zeros(before[way].fronts[l].rows.k.sizes().slice(0, 2), torch::kBool);
        all.narrow(1, 1, births.size(1)).copy_(births >= 0);
        const auto expected = [&](const Tensor& rows) {
          const Tensor small = through_small_vectors(rows.flatten(2), format).view(rows.sizes());
          return torch::where(all.unsqueeze(-1).unsqueeze(-1), small.to(rows.scalar_type()), rows);
        };
        const KeyValue &was = before[way].fronts[l].rows, &is = after[way].fronts[l].rows;
        EXPECT_TRUE(torch::equal(is.k, expected(was.k))) << way << " " << l;
        EXPECT_TRUE(torch::equal(is.v, expected(was.v))) << way << " " << l;
        EXPECT_FALSE(torch::equal(is.k, was.k));
      }
  }
}

TEST(Evaluation, SmallKeysScoreAlmostAsPlainOnes) {
  const torch::NoGradGuard constant;
  const Written written(0);
  const StreamMemory& memory = *written.memory;
  const Questions questions;
  const Tensor queries = torch::randn({4, 5, written.model.memory.d_r});
  const auto scores = [&](RowFormat rows) {
    return stored_scores(memory, 1, rows, queries, questions.askers.to(torch::kFloat32), questions.streams);
  };
  const Tensor plain = scores(RowFormat::plain), small = scores(RowFormat::int8);
  EXPECT_EQ(plain.sizes(), (std::vector<std::int64_t>{4, memory.stored()}));
  EXPECT_LT((plain - small).abs().max().item<double>(), 0.02);
  EXPECT_FALSE(torch::equal(plain, small));
  EXPECT_TRUE(torch::equal(small, scores(RowFormat::int4)));  // the same keys
}

TEST(Evaluation, EveryRowIsCountedOnce) {
  const torch::NoGradGuard constant;
  const Written written(0);
  const Questions questions;
  const Reader reader(written.model);
  std::vector<Tensor> normed;
  reader.read(reader.memory_fronts(reader.slots(*written.memory), questions.streams),
              questions.windows.tokens, &normed);
  const ChunkSearch search(written.model, *written.memory, normed, questions.askers, questions.streams);
  const Tensor all = search.long_term_rows() + search.short_term_rows();  // [Q, n]
  EXPECT_TRUE(torch::equal(all, torch::full_like(all, 2.0 * 3)));         // L · K
  EXPECT_TRUE(search.everything().held.all().item<bool>());
}

TEST(Evaluation, LeadersAreThoseNearTheBest) {
  // As in memory's own test: mean 1 and sd 2.55 over the four that are held.
  const ChunkVotes votes{torch::tensor({{5.0, 1.0, 0.0, -2.0, 0.0}}, torch::kFloat64),
                         torch::tensor({{true, true, false, true, true}})};
  const auto leaders = [&](double margin) { return votes.leaders(margin).sum().item<std::int64_t>(); };
  EXPECT_EQ(leaders(0), 1);
  EXPECT_EQ(leaders(1.5), 1);
  EXPECT_EQ(leaders(1.6), 2);
  EXPECT_EQ(leaders(2.0), 4);
  EXPECT_EQ(leaders(kNoMargin), 5);
}

TEST(Evaluation, WordsWeighAsMuchAsVotes) {
  // By hand: votes standardised over the three chunks held are −1.22, 0, 1.22, words −.71, 1.41, −.71.
  const ChunkVotes votes{torch::tensor({{1.0, 2.0, 3.0, 0.0}}, torch::kFloat64),
                         torch::tensor({{true, true, true, false}})};
  const Tensor words = torch::tensor({{0.0, 6.0, 0.0, 9.0}}, torch::kFloat64);
  const ChunkVotes total = with_words(votes, words);
  EXPECT_NEAR(total.votes[0][0].item<double>(), -1.2247 - 0.7071, 1e-3);
  EXPECT_NEAR(total.votes[0][1].item<double>(), 1.4142, 1e-3);
  EXPECT_NEAR(total.votes[0][2].item<double>(), 1.2247 - 0.7071, 1e-3);
  EXPECT_EQ(total.votes[0][3].item<double>(), 0);
  EXPECT_EQ(total.order()[0][0].item<std::int64_t>(), 1);
}

TEST(Evaluation, StreamsMayBeWrittenInParts) {
  const torch::NoGradGuard constant;
  const Written written(0);
  const PassWeights writing = merge(written.model, Adapter::write);
  const Tensor tokens = random_tokens(written.model, kStreams, 5, 3);
  const auto all = write_pass(written.model, writing, *written.memory, tokens);
  const Tensor some = torch::tensor({2, 0}, torch::kInt64);
  const auto part = write_pass(written.model, writing, *written.memory, tokens.index_select(0, some), some);
  for (std::size_t l = 0; l < all.size(); ++l)
    EXPECT_TRUE(torch::allclose(part[l], all[l].index_select(0, some), 1e-12, 1e-14));
}

}  // namespace
}  // namespace mplus::train
