#include "mplus/train/run/retriever_stage.h"

#include <fmt/core.h>

#include <cmath>

#include "mplus/train/model/device.h"
#include "mplus/train/retriever/loss.h"

namespace mplus::train {
namespace {

enum : std::uint32_t { kExam = 120, kStep = 121 };  // purposes of draws

ChunkOptions chunk_options(const Stage& stage) {
  ChunkOptions chunk = stage.config().lesson.chunk;
  chunk.length = stage.run().model.memory.C;
  chunk.short_share = chunk.twice = 0;  // every chunk writes K rows, and one chunk alone answers
  return chunk;
}

// What is trained beside the model's own tensors.
struct Extra {
  explicit Extra(const Model& model);
  std::vector<Trained> trained(double rate) const {
    return {{"vote_log_weights", log_weights, rate}, {"vote_temperature", temperature, rate}};
  }

  Tensor log_weights;  // [L], of the layers in the vote
  Tensor temperature;  // [1 + L], of the vote and of each layer
};

Extra::Extra(const Model& model) {
  const auto options = torch::TensorOptions(model.device());
  const std::int64_t L = model.config.layers;
  log_weights = model.vote_weights.defined() ? model.vote_weights.clamp_min(1e-3).log().clone()
                                             : torch::zeros({L}, options);
  temperature = torch::full({1 + L}, std::log(4.0), options);
  for (Tensor* tensor : {&log_weights, &temperature}) tensor->requires_grad_();
}

// Questions nobody has trained on yet, against candidates of their own kind.
void examine(const Stage& stage, const RetrieverCache& cache, const Extra& extra, std::int64_t step,
             std::uint32_t round) {
  const torch::NoGradGuard constant;
  const RunParts& run = stage.run();
  RetrieverStageOptions exam = stage.config().retriever;
  exam.same_kind = 1;
  io::Json shares;
  std::string shown;
  for (std::size_t k = 0; k < kKinds; ++k) {
    const auto kind = static_cast<Kind>(k);
    Random draw(stage.seed(), {.purpose = kExam, .life = round, .stream = static_cast<std::uint32_t>(k)});
    const RetrieverBatch batch = draw_batch(cache, exam, draw, kind);
    if (batch.questions.empty()) continue;
    const RetrieverLoss result =
        retriever_batch_loss(run.model, cache, batch, exam, extra.log_weights.exp(), extra.temperature, draw);
    const double share = result.found.mean().item<double>();
    shares[std::string(kind_name(kind))] = share;
    shown += fmt::format("  {} {:.3f}", kind_name(kind), share);
  }
  run.log.record({{"stage", stage.config().name}, {"step", step}, {"found_first", shares}});
  run.log.say(fmt::format("  found first among their kind, unseen:{}", shown));
}

// Sums since they were last told; on the device, so that adding waits for nothing.
class RetrieverReport {
 public:
  explicit RetrieverReport(const Stage& stage)
      : stage_(stage),
        loss_(torch::zeros({}, torch::TensorOptions(stage.run().model.device()))),
        found_(torch::zeros_like(loss_)) {}

  // part: of all questions of the step, those of this process.
  void count(const RetrieverLoss& result, double part) {
    loss_ += result.loss.detach();
    found_ += part * result.found.mean();
    ++steps_;
  }
  bool is_due(std::int64_t step) const {
    return (step + 1) % (4 * stage_.run().options.report_steps) == 0 || step + 1 == stage_.config().steps;
  }
  void tell(std::int64_t step, const Tensor& norm);

 private:
  const Stage& stage_;
  Tensor loss_, found_;
  std::int64_t steps_ = 0;
  Clock::time_point since_ = Clock::now();
};

void RetrieverReport::tell(std::int64_t step, const Tensor& norm) {
  const RunParts& run = stage_.run();
  const StageConfig& config = stage_.config();
  const auto mean = [&](const Tensor& sum) {
    return sum_over(run.processes, sum).item<double>() / static_cast<double>(steps_);
  };
  const double loss = mean(loss_), found = mean(found_);
  const double each = seconds_since(since_) / static_cast<double>(steps_);
  const double gigabytes = device_gigabytes(run.model.device());
  run.log.record({{"stage", config.name},
                  {"step", step + 1},
                  {"seconds", run.clock.seconds()},
                  {"loss", loss},
                  {"found", found},
                  {"device_gigabytes", gigabytes}});
  run.log.say(fmt::format("{} {}/{}  {:.0f} ms a step, {:.1f} min left, {:.0f} GB  loss {:.3f}  found {:.3f}",
                          config.name, step + 1, config.steps, 1e3 * each,
                          each * static_cast<double>(config.steps - step - 1) / 60, gigabytes, loss, found));
  stage_.check_finite(loss, norm.item<double>(), step);
  loss_.zero_();
  found_.zero_();
  steps_ = 0;
  since_ = Clock::now();
}

}  // namespace

RunEnd run_retriever(Stage& stage) {
  const RunParts& run = stage.run();
  const StageConfig& config = stage.config();
  const RetrieverStageOptions& options = config.retriever;
  Model& model = run.model;
  const ChunkMaker maker(run.material, chunk_options(stage), stage.seed());
  const Extra extra(model);
  model.vote_weights = Tensor();  // made from the logarithms at the end
  AdamW optimizer = stage.optimizer(extra.trained(config.rates.retriever));
  const std::int64_t rounds = std::max<std::int64_t>(1, options.rounds);
  const std::int64_t per_round = (config.steps + rounds - 1) / rounds;
  RetrieverCache cache;
  RetrieverReport report(stage);
  RunEnd end = RunEnd::finished;
  stage.start_clock();
  for (std::int64_t step = stage.first_step(); stage.progress(step) < 1; ++step) {
    if (stage.stops_before(step, optimizer)) {
      end = RunEnd::stopped;
      break;
    }
    if (step % per_round == 0 || step == stage.first_step()) {
      const auto round = static_cast<std::uint32_t>(step / per_round);
      stage.seed_draws(-1 - static_cast<std::int64_t>(round));
      cache = {};  // before the next one asks for memory
      cache = make_retriever_cache(model, maker, config.lesson.streams, options, round, stage.seed());
      run.log.say(fmt::format("{}: round {}, {} questions on {} chunks, {:.0f} s", config.name, round + 1,
                              cache.chunk.size(), cache.kind.size(), run.clock.seconds_here()));
      examine(stage, cache, extra, step, round);
    }
    stage.begin_step(step);
    Random draw(stage.seed(), {.purpose = kStep, .update = static_cast<std::uint32_t>(step)});
    RetrieverBatch batch = draw_batch(cache, options, draw, std::nullopt);
    const double part = take_share(batch, stage.share());
    RetrieverLoss result =
        retriever_batch_loss(model, cache, batch, options, extra.log_weights.exp(), extra.temperature, draw);
    if (run.processes) result.loss = part * result.loss;
    result.loss.backward();
    const Tensor norm = stage.end_step(step, optimizer);
    report.count(result, part);
    if (report.is_due(step)) report.tell(step, norm);
  }
  // Also for the delta of a run that stops; its checkpoint has been written.
  const torch::NoGradGuard constant;
  model.vote_weights = (extra.log_weights - extra.log_weights.mean()).exp().detach();
  model.memory.vote_top = options.vote_top;
  model.memory.recall = "consensus";
  return end;
}

}  // namespace mplus::train
