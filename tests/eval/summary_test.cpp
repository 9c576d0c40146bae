#include "mplus/eval/report/summary.h"

#include <gtest/gtest.h>

#include "mplus/eval/task/tasks.h"

namespace mplus::eval {
namespace {

Json run_of(const std::string& task, Json samples) {
  return {{"name", task}, {"run", {{"task", task}}}, {"samples", std::move(samples)}};
}

Json sample(const char* id, const char* column, int written, int distance, bool exact) {
  return {{"id", id},       {"column", column}, {"written", written},     {"distance", distance},
          {"exact", exact}, {"hit", exact},     {"f1", exact ? 1.0 : 0.0}};
}

// Each question has a point of its own in the stream; rows are by what was told since.
TEST(Summary, ChainsAreAskedAtDistances) {
  const Summary summary =
      summarise(run_of("chains", {sample("a", "hybrid", 40, 0, true), sample("b", "hybrid", 41, 0, false),
                                  sample("a", "hybrid", 665, 625, true),
                                  sample("b", "hybrid", 666, 625, true), sample("a", "bm25", 40, 0, false)}));
  ASSERT_EQ(summary.tables.size(), 1u);
  const Table& table = summary.tables[0];
  EXPECT_EQ(table.header[1], "chunks since");
  ASSERT_EQ(table.rows.size(), 3u);
  for (const auto& row : table.rows) {
    const bool memory = row[0] == "hybrid";
    EXPECT_EQ(row.back(), memory ? "2" : "1");
    if (!memory) continue;
    EXPECT_EQ(row[2].substr(0, 5), row[1] == "0" ? "0.500" : "1.000");
  }
}

TEST(Summary, EveryScriptHasATable) {
  for (const char* task : {"twice", "unknown", "chat", "chains", "longbench"}) {
    ASSERT_TRUE(is_task(task));
    EXPECT_EQ(summarise(run_of(task, Json::array())).tables.size(), 1u) << task;
  }
}

}  // namespace
}  // namespace mplus::eval
