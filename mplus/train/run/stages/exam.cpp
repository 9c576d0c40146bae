#include "mplus/train/run/stages/exam.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kLessons = 2;
constexpr std::int64_t kMostChunks = 4;  // in a memory, which begins empty

// Passages and running text, as the stage asks about them. Facts and conversations are made up: they are new
// in every lesson.
LessonOptions exam_options(const Stage& stage) {
  const LessonOptions& lesson = stage.config().lesson;
  LessonOptions exam;
  exam.chunk.length = stage.run().model.memory.C;
  exam.chunk.kinds = lesson.chunk.kinds;
  exam.chunk.kinds[static_cast<std::size_t>(ChunkKind::facts)] = 0;
  exam.chunk.kinds[static_cast<std::size_t>(ChunkKind::chat)] = 0;
  exam.chunk.cloze = lesson.chunk.cloze;
  exam.streams = lesson.streams;
  exam.window = lesson.window;
  exam.plain = exam.context = exam.live = 0;
  exam.fresh = 1;
  exam.chunks = {{0, kMostChunks}};
  exam.reads = 1;
  exam.talk = exam.unknown = exam.next = exam.reread = 0;
  exam.focus = lesson.focus;
  exam.several = lesson.several;
  return exam;
}

bool has_something(const LessonOptions& options, const Material& material) {
  const double text = options.chunk.kinds[static_cast<std::size_t>(ChunkKind::text)];
  const double passage = options.chunk.kinds[static_cast<std::size_t>(ChunkKind::passage)];
  return !material.texts.empty() && (text > 0 || (passage > 0 && !material.questions.empty()));
}

}  // namespace

Exam::Exam(const Stage& stage) : stage_(stage), tally_(stage.run().model.device()) {
  const LessonOptions options = exam_options(stage);
  if (!has_something(options, stage.run().held_out)) return;
  const LessonMaker maker(stage.run().held_out, options, stage.seed(), kLessons, stage.share());
  for (std::int64_t i = 0; i < kLessons; ++i) lessons_.push_back(maker.lesson(i));
}

std::vector<Tally::Line> Exam::sit() {
  if (lessons_.empty()) return {};
  const torch::NoGradGuard constant;
  const RunParts& run = stage_.run();
  constexpr std::int64_t kBetweenSteps = -1;
  stage_.seed_draws(kBetweenSteps);
  std::optional<StreamMemory> live;
  for (const Lesson& lesson : lessons_)
    lesson_loss(run.model, lesson, stage_.config().step, live, tally_, run.processes);
  return tally_.take(run.processes);
}

}  // namespace mplus::train
