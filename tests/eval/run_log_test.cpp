#include "mplus/eval/report/run_log.h"

#include <gtest/gtest.h>

#include "mplus/core/files/file.h"
#include "mplus/eval/report/report.h"
#include "mplus/eval/report/results.h"
#include "tests/eval/expect_error.h"
#include "tests/eval/temporary_file.h"

namespace mplus::eval {
namespace {

const Json kIdentity{{"task", "retention"}, {"seed", 3}};

TEST(RunLog, GoesOnWhereItWas) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.samples.jsonl";
  {
    RunLog log(file, kIdentity);
    log.add("one", {{"exact", true}});
    log.add("two", {{"output", "half \xff"}});  // a model may say anything
  }
  RunLog log(file, kIdentity);
  EXPECT_EQ(log.resumed(), 2u);
  EXPECT_TRUE(log.has("one") && log.has("two") && !log.has("three"));
  EXPECT_EQ(log.samples()[0]["exact"], true);
}

// A process may die within any byte of a line; what was whole before stays, and the rest can be added again.
TEST(RunLog, SurvivesDeathAtAnyByte) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "whole";
  {
    RunLog log(file, kIdentity);
    for (const char* key : {"a", "b", "c"}) log.add(key, {{"n", 1}});
  }
  const std::string whole = read_text_file(file);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const auto part = folder.write("part", whole.substr(0, cut));
    const auto lines = static_cast<std::size_t>(
        std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut), '\n'));
    {
      RunLog log(part, kIdentity);
      ASSERT_EQ(log.resumed(), lines == 0 ? 0 : lines - 1) << cut;
      for (const char* key : {"a", "b", "c"})
        if (!log.has(key)) log.add(key, {{"n", 1}});
    }
    ASSERT_EQ(read_text_file(part), whole) << cut;
  }
}

TEST(RunLog, RefusesOtherRuns) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a";
  { RunLog log(file, kIdentity); }
  Json other = kIdentity;
  other["seed"] = 4;
  expect_error(ErrorCode::invalid_argument, {"seed", "expected 4", "found 3"},
               [&] { RunLog log(file, other); });
  const auto newer = folder.write("b", "{\"schema\":\"mplus-eval\",\"version\":99,\"run\":{}}\n");
  expect_error(ErrorCode::unsupported, {"99"}, [&] { RunLog log(newer, kIdentity); });
  const auto foreign = folder.write("c", "{\"x\":1}\n");
  expect_error(ErrorCode::corrupt, {"something else"}, [&] { RunLog log(foreign, kIdentity); });
  const auto broken = folder.write(
      "d", "{\"schema\":\"mplus-eval\",\"version\":1,\"run\":{\"task\":\"retention\",\"seed\":3}}\n{\n");
  expect_error(ErrorCode::corrupt, {"not a sample"}, [&] { RunLog log(broken, kIdentity); });
  RunLog first(file, kIdentity);
  expect_error(ErrorCode::io, {"another process"}, [&] { RunLog second(file, kIdentity); });
}

TEST(Results, RefuseOtherVersions) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_results(folder.path())["runs"].empty());
  folder.write("results.json", "{\"schema\":\"mplus-eval\",\"version\":2,\"runs\":[]}");
  expect_error(ErrorCode::unsupported, {"results.json", "version 2"}, [&] { read_results(folder.path()); });
  folder.write("results.json", "{\"runs\":[]}");
  expect_error(ErrorCode::corrupt, {"results.json"}, [&] { read_results(folder.path()); });
  folder.write("results.json", "{");
  expect_error(ErrorCode::corrupt, {"not JSON"}, [&] { read_results(folder.path()); });
  folder.write("results.json", "{\"schema\":\"mplus-eval\",\"version\":1,\"runs\":[{}]}");
  expect_error(ErrorCode::corrupt, {"name"}, [&] { read_results(folder.path()); });
}

Json results(double better) {
  Json run{{"name", "r"}, {"run", {{"task", "retention"}}}, {"samples", Json::array()}};
  for (int q = 0; q < 40; ++q)
    run["samples"].push_back({{"key", fmt::format("k{}", q)},
                              {"id", fmt::format("q{}", q)},
                              {"column", "mplus"},
                              {"exact", q % 4 == 0 || q < better * 40}});
  return {{"schema", kSchema}, {"version", kSchemaVersion}, {"runs", {run}}};
}

TEST(Compare, PairsTheSameQuestions) {
  const auto tables = compare(results(0), results(0.5), "A", "B");
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 1u);
  const auto& row = tables[0].rows[0];
  EXPECT_EQ(row[0], "mplus");
  EXPECT_EQ(row[2], "0.250");
  EXPECT_EQ(row[3], "0.625");  // 20 of the first half and 5 of the second
  EXPECT_EQ(row[6], "40");
  EXPECT_TRUE(row[4].starts_with("+0.375 [+0."));
}

}  // namespace
}  // namespace mplus::eval
