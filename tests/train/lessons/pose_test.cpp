// A tiny model is taught to pose and to answer the question of a passage, then makes it up by itself.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>

#include "mplus/core/error.h"
#include "mplus/io/text/json_lines.h"
#include "mplus/io/text/text_side.h"
#include "mplus/train/questions/make_files.h"
#include "mplus/train/run/run.h"
#include "tests/train/tiny_files.h"

namespace mplus::train {
namespace {

const std::string kPassage =
    "The lamp in the north tower is lit by a keeper whose name is Orla. She climbs the stairs at dusk and "
    "stays "
    "until the morning boats are in. The oil is kept in a shed of stone behind the tower, and it is carried "
    "up in "
    "cans of tin. When fog comes in from the sea, she rings the bell as well, three times a minute, all "
    "night long.";

// Base, adapters and vectors learn; nothing but this passage, in the window.
RunConfig lessons(const TinyFiles& files) {
  std::ofstream(files.out("passage.jsonl"))
      << fmt::format(R"({{"context": "{}", "question": "Who lights the lamp?", "answers": ["Orla"]}})",
                     kPassage)
      << '\n';
  RunConfig config = load_run_config(files.recipe(1));
  // Chunks as long as the passage are the passage.
  config.memory.C = std::ssize(io::read_text_side(files.base())->tokenizer.encode(kPassage));
  config.questions = {{files.out("passage.jsonl"), 1}};
  config.stages.resize(1);
  StageConfig& stage = config.stages[0];
  stage.steps = 160;
  stage.lesson.streams = 2;
  stage.lesson.plain = stage.lesson.fresh = stage.lesson.live = 0;
  stage.lesson.context = 1;
  stage.lesson.chunk.kinds = {0, 1, 0, 0};
  stage.lesson.chunk.length = config.memory.C;
  stage.lesson.pose = 0.5;
  stage.step.retriever_loss = 0;
  stage.rates = {.base = 1e-2, .adapter = 1e-2, .vectors = 1e-2, .retriever = 0};
  return config;
}

MakeQuestionsOptions questions_of(const TinyFiles& files) {
  MakeQuestionsOptions options;
  options.texts = {files.out("passage.jsonl")};
  options.model = files.out("run") / "base";
  options.delta = files.out("run") / "delta.safetensors";
  options.out = files.out("made.jsonl");
  options.device = "cpu";
  options.pose = {.tokens = 60, .temperature = 0};
  return options;
}

TEST(TrainQuestions, AreMadeUpByAModelThatWasTaughtTo) {
  const TinyFiles files("pose");
  RunOptions run_options;
  run_options.out = files.out("run");
  run_options.device = "cpu";
  run_options.base_dtype = DType::f32;
  ASSERT_EQ(run(lessons(files), run_options), RunEnd::finished);
  MakeQuestionsOptions options = questions_of(files);
  make_questions(options);
  io::JsonLines lines(options.out);
  io::Json line;
  ASSERT_TRUE(lines.next(line)) << "nothing was made up";
  EXPECT_EQ(line["source"], "passage");
  EXPECT_EQ(line["context"], kPassage);
  EXPECT_EQ(line["question"], "Who lights the lamp?");
  EXPECT_EQ(line["answers"], io::Json::array({"Orla"}));
  EXPECT_FALSE(lines.next(line));

  std::atomic<bool> stop = true;
  options.stop = &stop;
  EXPECT_THROW(make_questions(options), Error);
  options.stop = nullptr;
  options.out = files.out("no such folder") / "made.jsonl";
  EXPECT_THROW(make_questions(options), Error);
}

}  // namespace
}  // namespace mplus::train
