// What a run asks about the part of its data that it is never trained on.
#include <gtest/gtest.h>

#include <fstream>

#include "mplus/core/file.h"
#include "mplus/io/json.h"
#include "mplus/train/run/run.h"
#include "tiny_files.h"

namespace mplus::train {
namespace {

std::vector<io::Json> told(const RunConfig& config, const RunOptions& options) {
  EXPECT_EQ(run(config, options), RunEnd::finished);
  std::ifstream log(options.out / "log.jsonl");
  std::vector<io::Json> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(io::Json::parse(line));
  return lines;
}

TEST(TrainExam, IsToldAndChangesNothing) {
  const TinyFiles files("exam");
  RunConfig config = load_run_config(files.recipe(6));
  config.stages.resize(1);
  RunOptions options;
  options.cache = files.out("cache");
  options.device = "cpu";
  options.report_steps = 1;
  options.out = files.out("often");
  const std::vector<io::Json> often = told(config, options);
  options.report_steps = 100;
  options.out = files.out("seldom");
  const std::vector<io::Json> seldom = told(config, options);
  ASSERT_EQ(often.size(), 6u);
  ASSERT_EQ(seldom.size(), 2u) << "the first step and the last";
  for (const io::Json& line : often)
    for (const char* task : {"passage", "rest"})
      EXPECT_GT(line.at("nll_held_out").at(task).get<double>(), 0) << line;
  EXPECT_NE(often.front()["nll_held_out"], often.back()["nll_held_out"]) << "the model has changed";
  EXPECT_EQ(often.front()["nll_held_out"], seldom.front()["nll_held_out"]);
  EXPECT_EQ(often.back()["nll_held_out"], seldom.back()["nll_held_out"]) << "the same is asked every time";
  EXPECT_EQ(read_text_file(files.out("often") / "delta.safetensors"),
            read_text_file(files.out("seldom") / "delta.safetensors"));
}

TEST(TrainExam, IsNotHeldWhereNothingIsHeldOut) {
  const TinyFiles files("no_exam");
  RunConfig config = load_run_config(files.recipe(2));
  config.stages.resize(1);
  config.questions.clear();
  config.texts.at(0).file = files.out("one.jsonl");
  std::ofstream(config.texts[0].file)
      << R"({"text": "one document that is trained on, again and again"})" << '\n';
  RunOptions options;
  options.device = "cpu";
  options.out = files.out("run");
  for (const io::Json& line : told(config, options)) EXPECT_TRUE(line.at("nll_held_out").is_null());
}

}  // namespace
}  // namespace mplus::train
