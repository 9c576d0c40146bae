// A lesson's loss: what it reaches, and what not.
#include "mplus/train/run/stages/step.h"

#include <gtest/gtest.h>

#include "tests/train/tiny_model.h"

namespace mplus::train {
namespace {

// Two streams write two chunks and read one window, whose answer the first chunk holds.
Lesson small_lesson() {
  Lesson lesson;
  lesson.memory = MemoryUse::fresh;
  lesson.begins = true;
  lesson.streams = 2;
  lesson.writes = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}};
  Read read;
  read.T = 5;
  read.tokens = {2, 7, 1, 8, 2, 1, 4, 1, 4, 2};
  read.weight = {0, kOtherWeight, 1, 1, 1, 0, kOtherWeight, 1, 1, 1};
  read.from = {0, 0};
  read.to = {2, 2};
  read.update = {0, 0};
  read.distractor = {1, 1};
  read.task = {2, 3};
  lesson.reads = {read};
  return lesson;
}

struct Reached {
  bool write, read, query, encoder_query;
};

Reached reached_by(const StepOptions& options, const Lesson& lesson = small_lesson()) {
  Model model = tiny_model(torch::kFloat64);
  for (const Parameter& p : parameters(model))
    if (p.part != ParameterPart::base) p.tensor->requires_grad_();
  std::optional<StreamMemory> live;
  Tally tally(torch::kCPU);
  torch::manual_seed(1);
  lesson_loss(model, lesson, options, live, tally).backward();
  const auto has_gradient = [](const Tensor& x) {
    return x.grad().defined() && x.grad().abs().max().item<double>() > 0;
  };
  const auto lines = tally.take();
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].task, "facts");
  EXPECT_EQ(lines[0].tokens, 3);
  return {has_gradient(model.write.v.b), has_gradient(model.read.v.b), has_gradient(model.query.first),
          has_gradient(model.encoder_query.first)};
}

TEST(TrainStep, GradientGoesThroughTheWrites) {
  const Reached reached = reached_by({});
  EXPECT_TRUE(reached.write && reached.read);
  EXPECT_FALSE(reached.query || reached.encoder_query);
}

TEST(TrainStep, AMemoryCanBeAConstant) {
  StepOptions options;
  options.gradient = 0;
  const Reached reached = reached_by(options);
  EXPECT_FALSE(reached.write);
  EXPECT_TRUE(reached.read);
}

// Recall of one chunk alone is recall into a model that takes no more rows than that.
TEST(TrainStep, OneChunkMayBeRecalledAlone) {
  const auto loss = [](double alone, std::int64_t K0) {
    const torch::NoGradGuard constant;
    Model model = tiny_model(torch::kFloat64);
    model.memory.K0 = K0;
    Lesson lesson = small_lesson();
    lesson.memory = MemoryUse::live;
    for (int i = 0; i < 2; ++i)  // more than short-term memory holds
      lesson.writes.insert(lesson.writes.end(), {lesson.writes[0], lesson.writes[1]});
    StepOptions options;
    options.recall = options.right = 1;
    options.alone = alone;
    std::optional<StreamMemory> live;
    Tally tally(torch::kCPU);
    torch::manual_seed(1);
    return lesson_loss(model, lesson, options, live, tally).item<double>();
  };
  const Model model = tiny_model(torch::kFloat64);
  const std::int64_t K = model.memory.K, K0 = model.memory.K0;
  ASSERT_GT(K0, K);
  EXPECT_EQ(loss(1, K0), loss(0, K));
  EXPECT_NE(loss(1, K0), loss(0, K0));
}

TEST(TrainStep, AFocusedReadReachesTheWritesOfWhatItSees) {
  StepOptions options;
  options.right = 1;
  Lesson lesson = small_lesson();
  for (Read& read : lesson.reads) read.focused = true;
  const Reached reached = reached_by(options, lesson);
  EXPECT_TRUE(reached.write && reached.read);
  const auto loss = [&](bool focused) {
    const torch::NoGradGuard constant;
    const Model model = tiny_model(torch::kFloat64);
    for (Read& read : lesson.reads) read.focused = focused;
    StepOptions how;
    how.right = how.alone = 1;
    std::optional<StreamMemory> live;
    Tally tally(torch::kCPU);
    torch::manual_seed(1);
    return lesson_loss(model, lesson, how, live, tally).item<double>();
  };
  EXPECT_NE(loss(true), loss(false)) << "the other chunk was seen, too";
}

TEST(TrainStep, BothRetrieverLossesReachTheirQueries) {
  StepOptions options;
  options.retriever_loss = 1;
  const Reached reached = reached_by(options);
  EXPECT_TRUE(reached.query && reached.encoder_query);
}

}  // namespace
}  // namespace mplus::train
