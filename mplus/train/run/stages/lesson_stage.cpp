#include "mplus/train/run/stages/lesson_stage.h"

#include <fmt/core.h>

#include <thread>

#include "mplus/train/lessons/lesson_queue.h"
#include "mplus/train/model/device.h"
#include "mplus/train/run/stages/exam.h"

namespace mplus::train {
namespace {

// Sums since they were last told.
class LessonReport {
 public:
  explicit LessonReport(const Stage& stage)
      : stage_(stage),
        tally_(stage.run().model.device()),
        without_(stage.run().model.device()),
        exam_(stage) {}

  Tally& tally() { return tally_; }
  void count(const Lesson& lesson) {
    for (const auto& tokens : lesson.writes) written_ += static_cast<double>(tokens.size());
    for (const Read& read : lesson.reads) read_ += static_cast<double>(read.tokens.size());
    ++steps_;
  }
  bool is_due(std::int64_t step) const {
    return step + 1 == stage_.config().steps || (step + 1) % stage_.run().options.report_steps == 0 ||
           step == stage_.first_step();
  }
  void tell(std::int64_t step, const Lesson& lesson, const Tensor& loss, const Tensor& norm);

 private:
  const Stage& stage_;
  Tally tally_, without_;
  Exam exam_;
  double written_ = 0, read_ = 0;  // tokens
  std::int64_t steps_ = 0;
  Clock::time_point since_ = Clock::now();
};

void LessonReport::tell(std::int64_t step, const Lesson& lesson, const Tensor& loss, const Tensor& norm) {
  const RunParts& run = stage_.run();
  const StageConfig& config = stage_.config();
  if (lesson.memory != MemoryUse::none) tally_without_memory(run.model, lesson, without_);
  io::Json by_task, without_memory, held_out;
  for (const Tally::Line& line : exam_.sit()) held_out[line.task] = line.nll;
  const double passed = seconds_since(since_), each = passed / static_cast<double>(steps_);
  const Tensor sums =
      sum_over(run.processes, torch::tensor({loss.item<double>(), written_, read_}, torch::kFloat64));
  const double last_loss = sums[0].item<double>(), last_norm = norm.item<double>();
  const double written = sums[1].item<double>() / passed, read = sums[2].item<double>() / passed;
  std::string shown;
  for (const Tally::Line& line : tally_.take(run.processes)) {
    by_task[line.task] = line.nll;
    shown += fmt::format("  {} {:.3f}", line.task, line.nll);
    if (held_out.contains(line.task))
      shown += fmt::format(" (held out {:.3f})", held_out[line.task].get<double>());
  }
  for (const Tally::Line& line : without_.take(run.processes)) without_memory[line.task] = line.nll;
  const double gigabytes = device_gigabytes(run.model.device());
  run.log.record({{"stage", config.name},
                  {"step", step + 1},
                  {"seconds", run.clock.seconds()},
                  {"loss", last_loss},
                  {"gradient_norm", last_norm},
                  {"nll", by_task},
                  {"nll_without_memory", without_memory},
                  {"nll_held_out", held_out},
                  {"written_per_second", written},
                  {"read_per_second", read},
                  {"device_gigabytes", gigabytes}});
  run.log.say(fmt::format(
      "{} {}/{}  {:.0f} ms a step, {:.0f} min left, {:.1f}k written/s {:.1f}k read/s {:.0f} GB {}",
      config.name, step + 1, config.steps, 1e3 * each,
      each * static_cast<double>(config.steps - step - 1) / 60, written / 1e3, read / 1e3, gigabytes, shown));
  stage_.check_health();
  written_ = read_ = 0;
  steps_ = 0;
  since_ = Clock::now();
}

}  // namespace

RunEnd run_lessons(Stage& stage) {
  const RunParts& run = stage.run();
  const StageConfig& config = stage.config();
  LessonOptions lessons = config.lesson;
  lessons.chunk.length = run.model.memory.C;
  const LessonMaker maker(run.material, lessons, stage.seed(), config.steps, stage.share());
  AdamW optimizer = stage.optimizer({});
  const auto threads = static_cast<std::int64_t>(std::max(2u, std::thread::hardware_concurrency()));
  LessonQueue queue(maker, stage.first_step(), config.steps, threads);
  std::optional<StreamMemory> live;
  LessonReport report(stage);
  stage.start_clock();
  for (std::int64_t step = stage.first_step(); stage.progress(step) < 1; ++step) {
    if (const std::int64_t steps = maker.left_of_life(step); steps > 0) stage.put_off_stop(steps);
    else if (stage.stops_before(step, optimizer)) return RunEnd::stopped;
    stage.begin_step(step);
    const Lesson lesson = queue.next();
    const Tensor loss = lesson_loss(run.model, lesson, config.step, live, report.tally(), run.processes);
    loss.backward();
    const Tensor norm = stage.end_step(step, loss, optimizer);
    report.count(lesson);
    if (report.is_due(step)) report.tell(step, lesson, loss, norm);
  }
  return RunEnd::finished;
}

}  // namespace mplus::train
