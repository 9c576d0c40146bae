// What an answer could draw on, as clients get it.
#include <gtest/gtest.h>

#include "mplus/serve/api/answer/generate_request.h"

namespace mplus::serve {
namespace {

TEST(Passages, TheBestOnesAndWhyOneGaveNoAnswer) {
  engine::Record record;
  record.add_source(engine::Source{"bridges", engine::Speaker::document, "The Ulm bridge is 80 m long."});
  engine::Answer answer;
  for (const std::int64_t chunk : {7, 3, 5}) {
    engine::WhyChunk passage;
    passage.chunk = chunk;
    passage.passed = chunk != 5;
    answer.why.push_back(passage);
  }
  answer.refuted.push_back({3, "80 m", "Arn Bridge"});
  answer.refuted.push_back({std::nullopt, "90 m", "Arn Bridge"});
  const Json all = passages_json(answer, 8, record, nullptr);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0]["refuted"].is_null());
  EXPECT_EQ(all[1]["refuted"], (Json{{"said", "80 m"}, {"names", "Arn Bridge"}}));
  EXPECT_EQ(all[1]["passed"], true);
  EXPECT_TRUE(all[2]["refuted"].is_null());
  const Json two = passages_json(answer, 2, record, nullptr);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1]["chunk"], 3);
}

}  // namespace
}  // namespace mplus::serve
