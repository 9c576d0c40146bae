#include "mplus/train/run/stages/retriever_stage.h"

#include <fmt/core.h>

#include <cmath>

#include "mplus/core/error.h"
#include "mplus/train/model/device.h"
#include "mplus/train/retriever/conditioning.h"
#include "mplus/train/retriever/loss.h"

namespace mplus::train {
namespace {

enum : std::uint32_t { kExam = 120, kStep = 121, kRenewed = 122 };  // purposes of draws

ChunkOptions chunk_options(const Stage& stage) {
  ChunkOptions chunk = stage.config().lesson.chunk;
  chunk.length = stage.run().model.memory.C;
  chunk.short_share = chunk.twice = 0;  // every chunk writes K rows, and one chunk alone answers
  return chunk;
}

std::vector<Trained> trained_beside(const RetrieverFactors& factors, double rate) {
  std::vector<Trained> trained{{"vote_log_weights", factors.layers, rate},
                               {"vote_temperature", factors.votes, rate}};
  if (factors.vector.defined()) trained.push_back({"vector_temperature", factors.vector, rate});
  return trained;
}

// A vector_pool that queries and keys have been trained away from would say that they fit it.
void prepare_vector(Model& model, const RetrieverStageOptions& options, RunLog& log) {
  if (options.vector > 0) {
    if (!model.vector_pool.defined())  // zeros: all tokens that ask have the same share
      model.vector_pool =
          torch::zeros({model.memory_layers(), model.config.hidden}, torch::TensorOptions(model.device()));
  } else if (model.vector_pool.defined()) {
    log.say(
        "vector_pool is left out of what this stage makes: `vector` is 0, one vector a chunk is not trained");
    model.vector_pool = Tensor();
  }
}

std::string shown(const std::vector<double>& shares) {
  std::string text;
  for (const double share : shares) text += fmt::format(" {:.2f}", share);
  return text;
}

// Inputs evened out by the first round, and layers that cannot learn begun again. A stage that goes on makes
// that round once more, so that it goes on the same way.
void prepare_heads(const Stage& stage, const RetrieverCache& first, AdamW& optimizer) {
  const RunParts& run = stage.run();
  const RetrieverStageOptions& options = stage.config().retriever;
  if (!options.even_inputs) return;
  const EvenedInputs evened = even_inputs(first);
  optimizer.even_inputs(run.model.query.first, evened.query);
  optimizer.even_inputs(run.model.key.first, evened.key);
  if (stage.first_step() > 0 || options.renew_below <= 0) return;
  const auto look = [&] {
    Random draw(stage.seed(), {.purpose = kRenewed});
    return found_by_layer(run.model, first, options, draw);
  };
  const std::vector<double> before = look();
  std::vector<std::int64_t> mute;
  for (std::size_t m = 0; m < before.size(); ++m)
    if (before[m] < options.renew_below) mute.push_back(static_cast<std::int64_t>(m));
  renew_layers(run.model, first, evened, mute, stage.seed());
  const std::vector<double> after = look();
  run.log.record(
      {{"stage", stage.config().name}, {"found_by_layer", before}, {"renewed", mute}, {"then", after}});
  run.log.say(fmt::format("  found first by each layer alone:{}; {} begun again:{}", shown(before),
                          mute.size(), shown(after)));
}

// Questions nobody has trained on yet, against candidates of their own kind.
void examine(const Stage& stage, const RetrieverCache& cache, const RetrieverFactors& factors,
             std::int64_t step, std::uint32_t round) {
  const torch::NoGradGuard constant;
  const RunParts& run = stage.run();
  RetrieverStageOptions exam = stage.config().retriever;
  exam.same_kind = 1;
  io::Json line = {{"stage", stage.config().name}, {"step", step}, {"found_first", io::Json::object()}};
  std::string shown;
  for (std::size_t k = 0; k < kKinds; ++k) {
    const std::string kind(kind_name(static_cast<ChunkKind>(k)));
    Random draw(stage.seed(), {.purpose = kExam, .life = round, .stream = static_cast<std::uint32_t>(k)});
    const RetrieverBatch batch = draw_batch(cache, exam, draw, static_cast<ChunkKind>(k));
    if (batch.questions.empty()) continue;
    const RetrieverLoss result = retriever_batch_loss(run.model, cache, batch, exam, factors, draw);
    const double share = result.found.mean().item<double>();
    line["found_first"][kind] = share;
    const Tensor layers = result.found_by_layer.mean(-1).to(torch::kCPU, torch::kFloat64).contiguous();
    line["found_by_layer"][kind] = std::vector<double>(layers.const_data_ptr<double>(),
                                                       layers.const_data_ptr<double>() + layers.numel());
    shown += fmt::format("  {} {:.3f}", kind, share);
    if (!result.found_by_vector.defined()) continue;
    const double by_vector = result.found_by_vector.mean().item<double>();
    line["found_first_vector"][kind] = by_vector;
    shown += fmt::format(" ({:.3f} by one vector)", by_vector);
  }
  run.log.record(line);
  run.log.say(fmt::format("  found first among their kind, unseen:{}", shown));
}

// Sums since they were last told; on the device, so that adding waits for nothing.
class RetrieverReport {
 public:
  explicit RetrieverReport(const Stage& stage)
      : stage_(stage),
        loss_(torch::zeros({}, torch::TensorOptions(stage.run().model.device()))),
        found_(torch::zeros_like(loss_)),
        found_by_vector_(torch::zeros_like(loss_)) {}

  // part: of all questions of the step, those of this process.
  void count(const RetrieverLoss& result, double part) {
    loss_ += result.loss.detach();
    found_ += part * result.found.mean();
    if (result.found_by_vector.defined()) found_by_vector_ += part * result.found_by_vector.mean();
    ++steps_;
  }
  bool is_due(std::int64_t step) const {
    return (step + 1) % (4 * stage_.run().options.report_steps) == 0 || step + 1 == stage_.config().steps;
  }
  void tell(std::int64_t step);

 private:
  const Stage& stage_;
  Tensor loss_, found_, found_by_vector_;
  std::int64_t steps_ = 0;
  Clock::time_point since_ = Clock::now();
};

void RetrieverReport::tell(std::int64_t step) {
  const RunParts& run = stage_.run();
  const StageConfig& config = stage_.config();
  const auto mean = [&](const Tensor& sum) {
    return sum_over(run.processes, sum).item<double>() / static_cast<double>(steps_);
  };
  const double loss = mean(loss_), found = mean(found_);
  const double each = seconds_since(since_) / static_cast<double>(steps_);
  const double gigabytes = device_gigabytes(run.model.device());
  io::Json line = {{"stage", config.name}, {"step", step + 1}, {"seconds", run.clock.seconds()},
                   {"loss", loss},         {"found", found},   {"device_gigabytes", gigabytes}};
  std::string shown = fmt::format("found {:.3f}", found);
  if (config.retriever.vector > 0) {
    const double by_vector = mean(found_by_vector_);
    line["found_vector"] = by_vector;
    shown += fmt::format(" ({:.3f} by one vector)", by_vector);
  }
  run.log.record(line);
  run.log.say(fmt::format("{} {}/{}  {:.0f} ms a step, {:.1f} min left, {:.0f} GB  loss {:.3f}  {}",
                          config.name, step + 1, config.steps, 1e3 * each,
                          each * static_cast<double>(config.steps - step - 1) / 60, gigabytes, loss, shown));
  stage_.check_health();
  for (Tensor* sum : {&loss_, &found_, &found_by_vector_}) sum->zero_();
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
  prepare_vector(model, options, run.log);
  const RetrieverFactors factors(model, options);
  model.vote_weights = Tensor();  // made from the logarithms at the end
  AdamW optimizer = stage.optimizer(trained_beside(factors, options.vote_rate * config.rates.retriever));
  if (options.even_inputs && run.processes)
    fail(ErrorCode::invalid_argument, "even_inputs: a run of one process only");
  const std::int64_t rounds = std::max<std::int64_t>(1, options.rounds);
  const std::int64_t per_round = (config.steps + rounds - 1) / rounds;
  RetrieverCache cache;
  RetrieverReport report(stage);
  RunEnd end = RunEnd::finished;
  stage.start_clock();
  const auto make_round = [&](std::uint32_t round) {
    stage.seed_draws(-1 - static_cast<std::int64_t>(round));
    cache = {};  // before the next one asks for memory
    cache = make_retriever_cache(model, maker, config.lesson.streams, options, round, stage.seed());
  };
  if (options.even_inputs && stage.first_step() >= per_round) {
    make_round(0);
    prepare_heads(stage, cache, optimizer);
  }
  for (std::int64_t step = stage.first_step(); stage.progress(step) < 1; ++step) {
    if (stage.stops_before(step, optimizer)) {
      end = RunEnd::stopped;
      break;
    }
    if (step % per_round == 0 || step == stage.first_step()) {
      const auto round = static_cast<std::uint32_t>(step / per_round);
      make_round(round);
      run.log.say(fmt::format("{}: round {}, {} questions on {} chunks, {:.0f} s", config.name, round + 1,
                              cache.chunk.size(), cache.kind.size(), run.clock.seconds_here()));
      if (round == 0) prepare_heads(stage, cache, optimizer);
      examine(stage, cache, factors, step, round);
    }
    stage.begin_step(step);
    Random draw(stage.seed(), {.purpose = kStep, .update = static_cast<std::uint32_t>(step)});
    RetrieverBatch batch = draw_batch(cache, options, draw, std::nullopt);
    const double part = take_share(batch, stage.share());
    RetrieverLoss result = retriever_batch_loss(model, cache, batch, options, factors, draw);
    if (run.processes) result.loss = part * result.loss;
    result.loss.backward();
    stage.end_step(step, result.loss, optimizer);
    report.count(result, part);
    if (report.is_due(step)) report.tell(step);
  }
  // Also for the delta of a run that stops; its checkpoint has been written.
  const torch::NoGradGuard constant;
  model.vote_weights = (factors.layers - factors.layers.mean()).exp().detach();
  set_recall(model, options);
  return end;
}

void set_recall(Model& model, const RetrieverStageOptions& options) {
  model.memory.recall.vote_top = options.vote_top;
  model.memory.recall.rule = RecallRule::consensus;
}

}  // namespace mplus::train
