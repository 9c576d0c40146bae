// A run as a whole: what it tells of the part of its data that it is never trained on, and when it stops by
// itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "mplus/core/files/file.h"
#include "mplus/io/text/json.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/train/run/run.h"
#include "tests/io/expect_error.h"
#include "tests/train/run/stop_at.h"
#include "tests/train/tiny_files.h"

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

TEST(TrainExam, AModelThatDoesNotChangeIsJudgedTheSame) {
  const TinyFiles files("same_exam");
  RunConfig config = load_run_config(files.recipe(4));
  config.stages.resize(1);
  config.stages[0].rates = {.adapter = 1e-30};  // lost in float32
  RunOptions options;
  options.device = "cpu";
  options.report_steps = 1;
  options.out = files.out("run");
  const std::vector<io::Json> lines = told(config, options);
  for (const io::Json& line : lines) EXPECT_EQ(line.at("nll_held_out"), lines[0].at("nll_held_out"));
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

// A life is not left in the middle: no checkpoint holds its memories.
TEST(TrainStop, WaitsForTheEndOfALifeAndSaysSo) {
  const TinyFiles files("put-off");
  RunConfig config = load_run_config(files.recipe(40));
  config.stages.resize(1);
  LessonOptions& lesson = config.stages[0].lesson;
  lesson.plain = lesson.context = lesson.fresh = 0;
  lesson.live = 1;
  lesson.lives = {12};
  lesson.most_new = 1;
  RunOptions options;
  options.device = "cpu";
  options.out = files.out("run");
  options.report_steps = 1;
  testing::internal::CaptureStderr();
  {
    const StopAt stop(options, "\"step\":3,");
    EXPECT_EQ(run(config, options), RunEnd::stopped);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("stops in "), std::string::npos) << said;
  EXPECT_EQ(said.find("stops in "), said.rfind("stops in ")) << "once";
  const std::string log = read_text_file(options.out / "log.jsonl");
  EXPECT_NE(log.find("\"step\":12,"), std::string::npos);
  EXPECT_EQ(log.find("\"step\":13,"), std::string::npos);
}

// Saved before every step it may be left before, told of only at the end: what is saved is good all the same.
TEST(TrainHealth, ARunThatIsLostStopsAndKeepsItsLastGoodState) {
  const TinyFiles files("lost");
  for (const bool saves : {true, false}) {
    RunConfig config = load_run_config(files.recipe(40));
    config.stages.resize(1);
    config.stages[0].rates.adapter = 1e18;  // squares of it are no numbers any more
    RunOptions options;
    options.device = "cpu";
    options.out = files.out(saves ? "saves" : "does_not");
    options.report_steps = 1000;
    options.checkpoint_minutes = saves ? 0 : 100;
    const std::filesystem::path checkpoint = options.out / "checkpoint.safetensors";
    EXPECT_MPLUS_ERROR(ErrorCode::cancelled,
                       ("stage lessons", "last good state", saves ? checkpoint.string() : "began"),
                       run(config, options));
    EXPECT_FALSE(std::filesystem::exists(options.out / "delta.safetensors"));
    ASSERT_EQ(std::filesystem::exists(checkpoint), saves);
    if (!saves) continue;
    const io::Safetensors saved = io::Safetensors::open(checkpoint);
    for (const auto& [name, tensor] : saved.tensors()) {
      if (tensor.dtype != DType::f32) continue;
      std::vector<float> values(tensor.bytes.size() / sizeof(float));
      std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
      for (const float value : values) ASSERT_TRUE(std::isfinite(value)) << name;
    }
  }
}

}  // namespace
}  // namespace mplus::train
