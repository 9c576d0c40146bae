// Recall by consensus in the trainer: the votes, their order and the recalled rows of the golden cases.
#include <gtest/gtest.h>

#include "mplus/core/files/file.h"
#include "mplus/io/text/json.h"
#include "mplus/train/model/recall.h"

namespace mplus::train {
namespace {

TEST(TrainRecall, ConsensusAgreesWithTheGoldenCases) {
  const std::string file = MPLUS_TEST_DATA "/golden/consensus/case.json";
  const io::Json json = io::parse_json(read_text_file(file), file);
  ASSERT_FALSE(json["cases"].empty());
  for (const io::Json& c : json["cases"]) {
    const std::int64_t K = c["K"];
    std::vector<Tensor> scores, births;
    for (const io::Json& layer : c["layers"]) {
      scores.push_back(
          torch::tensor(layer["scores"].get<std::vector<double>>(), torch::kFloat64).unsqueeze(0));
      births.push_back(torch::tensor(layer["births"].get<std::vector<std::int64_t>>()).unsqueeze(0));
    }
    std::vector<Tensor> chunks;
    std::int64_t first = 0, last = 0;
    for (const Tensor& b : births) {
      chunks.push_back(b.floor_divide(K));
      if (b.numel() == 0) continue;
      first = std::min(first, chunks.back().min().item<std::int64_t>());
      last = std::max(last, chunks.back().max().item<std::int64_t>());
    }
    for (Tensor& chunk : chunks) chunk -= first;
    const Tensor votes = chunk_votes(scores, chunks, last - first + 1, 0, {});
    for (const auto& [chunk, vote] : c["votes"].items())
      EXPECT_NEAR(votes[0][std::stoll(chunk) - first].item<double>(), vote.get<double>(), 1e-6)
          << "chunk " << chunk;
    const auto rows = rows_by_vote(votes, scores, chunks, births, c["K0"]);
    for (std::size_t l = 0; l < rows.size(); ++l) {
      const Tensor found = std::get<0>(births[l].gather(1, rows[l]).sort(-1));
      const auto expected = c["recalled"][l].get<std::vector<std::int64_t>>();
      EXPECT_TRUE(torch::equal(found[0], torch::tensor(expected))) << "layer " << l;
    }
  }
}

TEST(TrainRecall, OnlyTheBestScoresOfAChunkCount) {
  // Two layers of four rows each in two chunks of two; by all scores chunk 0 wins, by the best one chunk 1.
  const std::vector<Tensor> scores(2, torch::tensor({{0.6, 0.5, 0.9, 0.1}}, torch::kFloat64));
  const std::vector<Tensor> chunks(2, torch::tensor({{0, 0, 1, 1}}, torch::kInt64));
  const Tensor all = chunk_votes(scores, chunks, 2, 0, {}), best = chunk_votes(scores, chunks, 2, 1, {});
  EXPECT_GT(all[0][0].item<double>(), all[0][1].item<double>());
  EXPECT_LT(best[0][0].item<double>(), best[0][1].item<double>());
}

}  // namespace
}  // namespace mplus::train
