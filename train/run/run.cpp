#include "mplus/train/run/run.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <span>
#include <thread>
#include <tuple>

#include "mplus/core/error.h"
#include "mplus/io/gguf.h"
#include "mplus/io/hash.h"
#include "mplus/train/lessons/lesson_queue.h"
#include "mplus/train/model/load.h"
#include "mplus/train/model/new_delta.h"
#include "mplus/train/model/save_delta.h"
#include "mplus/train/processes/processes.h"
#include "mplus/train/run/checkpoint.h"
#include "mplus/train/run/profile.h"
#include "mplus/train/run/run_log.h"
#include "mplus/train/run/travel.h"

#ifdef MPLUS_TRAIN_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace mplus::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

torch::Device device_named(const std::string& name) {
  const bool cuda = torch::globalContext().hasCUDA();
  if (name == "cuda" && !cuda) fail(ErrorCode::unsupported, "no GPU that torch can use was found");
  if (name == "cpu" || !cuda) return torch::kCPU;
  const torch::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(process_place().on_machine));
#ifdef MPLUS_TRAIN_CUDA
  c10::cuda::set_device(device.index());
#endif
  return device;
}

double device_gigabytes(torch::Device device) {
#ifdef MPLUS_TRAIN_CUDA
  if (device.is_cuda()) {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
    return static_cast<double>(stats.reserved_bytes[0].peak) / 1e9;
  }
#endif
  static_cast<void>(device);
  return 0;
}

std::pair<io::Tokenizer, std::optional<io::ChatTemplate>> text_form(const fs::path& model) {
  if (fs::is_directory(model)) {
    const io::Tokenizer tokenizer = io::Tokenizer::from_file(model / "tokenizer.json");
    return {tokenizer, io::ChatTemplate::pick(tokenizer, io::read_chat_template(model))};
  }
  const io::Gguf file = io::Gguf::open(model);
  const io::Tokenizer tokenizer = io::Tokenizer::from_gguf(file);
  return {tokenizer,
          io::ChatTemplate::pick(tokenizer, file.get_string("tokenizer.chat_template").value_or(""))};
}

class Run {
 public:
  Run(const RunConfig& config, const RunOptions& options)
      : config_(config),
        options_(options),
        device_(device_named(options.device)),
        processes_(
            process_place().share.processes > 1
                ? std::make_unique<Processes>(process_place(), device_, options.process_timeout_seconds)
                : nullptr) {
    if (writes_files()) log_ = RunLog(options.out / "log.jsonl");
  }

  RunEnd run();

 private:
  void load();
  void load_material();
  void check_agreement(const Progress& from);
  Progress begin();
  bool material_trains_chat() const;
  RunEnd lessons(std::int64_t number, const StageConfig& stage, Progress from);
  RunEnd retriever(std::int64_t number, const StageConfig& stage, Progress from);
  void begin_step(std::int64_t stage, std::int64_t step) const;
  void end_step(AdamW& optimizer, const StageConfig& stage, std::int64_t step, Tensor& norm);
  bool writes_files() const { return !processes_ || processes_->is_first(); }
  Share share() const { return processes_ ? processes_->share() : Share{}; }
  double progress(const StageConfig& stage, std::int64_t step) const;
  bool must_stop() const;
  bool must_save() const;
  void save(AdamW& optimizer, Progress progress);
  void pack();
  void save_result(std::int64_t stages_done);
  fs::path checkpoint() const { return options_.out / "checkpoint.safetensors"; }
  void check_finite(double loss, double norm, std::int64_t step) const;
  void profile(std::int64_t steps_done, std::string_view stage);
  AdamW optimizer_for(const StageConfig& stage, std::vector<Trained> extra);

  const RunConfig& config_;
  const RunOptions& options_;
  torch::Device device_;
  std::unique_ptr<Processes> processes_;  // null: this process alone
  RunLog log_;
  Model model_;
  std::optional<Material> material_;
  io::StringMap record_;
  std::optional<Profile> profile_;
  Clock::time_point profile_start_;
  Clock::time_point stage_start_ = Clock::now();
  Clock::time_point start_ = Clock::now(), saved_ = Clock::now();
  double seconds_before_ = 0;
  std::int64_t warm_up_from_ = 0;  // of the stage that runs
  std::string recipe_, data_;      // hashes
};

void Run::load() {
  log_.say(fmt::format("model {}, delta {}", config_.model.string(),
                       config_.delta.empty() ? "begun" : config_.delta.string()));
  const bool begins = config_.delta.empty();
  model_ = load_model({.model = config_.model, .delta = begins ? std::nullopt : std::optional(config_.delta)})
               .model;
  if (begins) begin_delta(model_, config_.memory, config_.seed);
  model_.memory.chat_trained |= material_trains_chat();
  place(model_, device_, device_.is_cuda() ? torch::kBFloat16 : torch::kFloat32);
  // Of the processes of a machine the first one fills the cache and the others find it filled.
  const bool waits = processes_ && process_place().on_machine > 0;
  if (waits) processes_->wait_for_all();
  load_material();
  if (processes_ && !waits) processes_->wait_for_all();
  record_["training"] = config_.text;
  record_["training_seed"] = fmt::format("{}", config_.seed);
  record_["training_commit"] = options_.commit;
  std::string hashes;
  for (const TextSet& set : material_->texts) hashes += fmt::format("{} {}\n", set.name, set.sha256);
  for (const QuestionSet& set : material_->questions) hashes += fmt::format("{} {}\n", set.name, set.sha256);
  record_["training_data"] = hashes;
  recipe_ = io::sha256_hex(std::as_bytes(std::span(config_.text)));
  data_ = io::sha256_hex(std::as_bytes(std::span(hashes)));
}

bool Run::material_trains_chat() const {
  return std::any_of(config_.stages.begin(), config_.stages.end(), [](const StageConfig& stage) {
    return !stage.retriever_only && stage.lesson.chunk.kinds[static_cast<std::size_t>(Kind::chat)] > 0;
  });
}

void Run::load_material() {
  auto [tokenizer, chat] = text_form(config_.model);
  Material material{.tokenizer = tokenizer,
                    .chat = chat,
                    .texts = {},
                    .text_weights = {},
                    .questions = {},
                    .question_weights = {}};
  const DataOptions data{.cache = options_.cache,
                         .bad_lines = config_.bad_lines,
                         .threads = 0,
                         .report = [&](const std::string& line) { log_.say(line); }};
  for (const DataFile& file : config_.texts) {
    material.texts.push_back(load_text(file.file, tokenizer, data));
    material.text_weights.push_back(file.weight);
  }
  for (const DataFile& file : config_.questions) {
    material.questions.push_back(load_questions(file.file, tokenizer, data));
    material.question_weights.push_back(file.weight);
  }
  material_ = std::move(material);
}

// Whatever a step draws on the device is a function of its number.
void Run::begin_step(std::int64_t stage, std::int64_t step) const {
  torch::manual_seed(config_.seed * 1'000'003 + static_cast<std::uint64_t>(stage) * 100'000'007 +
                     static_cast<std::uint64_t>(step));
}

void Run::end_step(AdamW& optimizer, const StageConfig& stage, std::int64_t step, Tensor& norm) {
  optimizer.sum_gradients();
  norm = optimizer.clip(stage.clip);
  optimizer.step(schedule_factor(step - warm_up_from_, stage.warm_up, std::min(1.0, progress(stage, step)),
                                 stage.least));
}

// Of a stage, from 0 to 1. By the clock where the stage says how long it takes: then a run is not repeated
// bit for bit.
double Run::progress(const StageConfig& stage, std::int64_t step) const {
  const double by_steps = static_cast<double>(step) / static_cast<double>(stage.steps);
  return stage.minutes > 0 ? std::max(by_steps, seconds_since(stage_start_) / (60 * stage.minutes))
                           : by_steps;
}

// Whoever is asked to stop stops all; whose clock is ahead does, too.
bool Run::must_stop() const {
  const bool stop = (options_.stop && *options_.stop) ||
                    (options_.minutes > 0 && seconds_since(start_) > 60 * options_.minutes);
  return processes_ ? processes_->any(stop) : stop;
}

bool Run::must_save() const {
  const bool due = seconds_since(saved_) > 60 * options_.checkpoint_minutes;
  return processes_ ? processes_->any(due) : due;
}

void Run::save(AdamW& optimizer, Progress progress) {
  progress.warm_up_from = warm_up_from_;
  progress.recipe = recipe_;
  progress.data = data_;
  save_checkpoint(checkpoint(), model_, optimizer, progress);
  if (!options_.travel.empty() && writes_files()) pack();
  saved_ = Clock::now();
}

void Run::pack() {
  const auto limit = static_cast<std::int64_t>(options_.travel_mebibytes * (1 << 20));
  const TravelSize size = pack_checkpoint(checkpoint(), options_.travel, {.all_bytes = limit});
  log_.say(fmt::format("{}: {:.1f} MiB in {} pieces, moments {}", options_.travel.string(),
                       static_cast<double>(size.bytes) / (1 << 20), size.pieces,
                       size.moment_bits > 0
                           ? fmt::format("in {} bits", size.moment_bits)
                           : "left out: they do not fit, the learning rate will warm up again"));
}

void Run::save_result(std::int64_t stages_done) {
  if (!writes_files()) return;
  record_["training_stages_done"] = fmt::format("{} of {}", stages_done, config_.stages.size());
  save_delta(model_, options_.out / "delta.safetensors", record_);
}

void Run::check_finite(double loss, double norm, std::int64_t step) const {
  if (std::isfinite(loss) && std::isfinite(norm)) return;
  fail(ErrorCode::cancelled,
       "step {}: the loss is {}, the norm of the gradients {}. The last good state is {}", step, loss, norm,
       fs::exists(checkpoint()) ? checkpoint().string() : "where the run began");
}

// Called before every step of a stage with the number of steps done since it began or was resumed.
void Run::profile(std::int64_t steps_done, std::string_view stage) {
  constexpr std::int64_t kFirst = 8;  // memory is asked for and matrix products are tried out in these
  const std::int64_t steps = options_.profile_steps;
  if (steps <= 0) return;
  if (steps_done == kFirst) {
    profile_.emplace(device_);
    profile_->start();
    profile_start_ = Clock::now();
  }
  if (steps_done != kFirst + steps || !profile_) return;
  const std::vector<Profile::Cost> costs = profile_->stop();
  const double passed = 1e3 * seconds_since(profile_start_);
  profile_.reset();
  double busy = 0;
  for (const Profile::Cost& cost : costs) busy += cost.milliseconds;
  log_.say(fmt::format("{}: {} steps took {:.0f} ms, {:.0f} ms of them busy on {}", stage, steps, passed,
                       busy, device_.str()));
  constexpr std::size_t kShown = 40;
  io::Json shown;
  for (std::size_t i = 0; i < std::min(kShown, costs.size()); ++i) {
    log_.say(fmt::format("  {:5.1f} %  {:9.2f} ms  {:6} calls  {}", 100 * costs[i].milliseconds / busy,
                         costs[i].milliseconds, costs[i].calls, costs[i].name.substr(0, 150)));
    shown.push_back({{"name", costs[i].name}, {"ms", costs[i].milliseconds}, {"calls", costs[i].calls}});
  }
  log_.record({{"stage", stage}, {"profile", shown}, {"steps", steps}, {"ms", passed}});
}

AdamW Run::optimizer_for(const StageConfig& stage, std::vector<Trained> extra) {
  std::vector<Trained> trained = trained_tensors(model_, stage.rates);
  trained.insert(trained.end(), extra.begin(), extra.end());
  return AdamW(std::move(trained), stage.adamw, processes_.get());
}

RunEnd Run::lessons(std::int64_t number, const StageConfig& configured, Progress from) {
  StageConfig stage = configured;
  stage.lesson.chunk.length = model_.memory.C;
  const LessonMaker maker(*material_, stage.lesson, config_.seed + static_cast<std::uint64_t>(number),
                          stage.steps, share());
  AdamW optimizer = optimizer_for(stage, {});
  if (from.step > 0) load_checkpoint(checkpoint(), model_, optimizer);
  const auto threads = static_cast<std::int64_t>(std::max(2u, std::thread::hardware_concurrency()));
  LessonQueue queue(maker, from.step, stage.steps, threads);
  std::optional<StreamMemory> live;
  Tally tally(device_), without(device_);
  double written = 0, read = 0;
  Clock::time_point reported = Clock::now();
  std::int64_t steps_reported = 0;
  stage_start_ = Clock::now();
  for (std::int64_t step = from.step; progress(stage, step) < 1; ++step) {
    const double seconds = seconds_before_ + seconds_since(start_);
    if (maker.between_lives(step)) {
      if (must_stop()) {
        save(optimizer, {.stage = number, .step = step, .seconds = seconds});
        return RunEnd::stopped;
      }
      if (must_save()) save(optimizer, {.stage = number, .step = step, .seconds = seconds});
    }
    profile(step - from.step, stage.name);
    const Lesson lesson = queue.next();
    begin_step(number, step);
    const bool reports =
        step + 1 == stage.steps || (step + 1) % options_.report_steps == 0 || step == from.step;
    Tensor norm;
    const Tensor loss = lesson_loss(model_, lesson, stage.step, live, tally, processes_.get());
    loss.backward();
    end_step(optimizer, stage, step, norm);
    for (const auto& tokens : lesson.writes) written += static_cast<double>(tokens.size());
    for (const Read& r : lesson.reads) read += static_cast<double>(r.tokens.size());
    ++steps_reported;
    if (!reports) continue;
    if (lesson.memory != MemoryUse::none) tally_without_memory(model_, lesson, without);
    const double passed = seconds_since(reported), each = passed / static_cast<double>(steps_reported);
    const Tensor sums =
        sum_over(processes_.get(), torch::tensor({loss.item<double>(), written, read}, torch::kFloat64));
    const double last_loss = sums[0].item<double>(), last_norm = norm.item<double>();
    written = sums[1].item<double>(), read = sums[2].item<double>();
    io::Json by_task, without_memory;
    std::string shown;
    for (const Tally::Line& line : tally.take(processes_.get())) {
      by_task[line.task] = line.nll;
      shown += fmt::format("  {} {:.3f}", line.task, line.nll);
    }
    for (const Tally::Line& line : without.take(processes_.get())) without_memory[line.task] = line.nll;
    log_.record({{"stage", stage.name},
                 {"step", step + 1},
                 {"seconds", seconds_before_ + seconds_since(start_)},
                 {"loss", last_loss},
                 {"gradient_norm", last_norm},
                 {"nll", by_task},
                 {"nll_without_memory", without_memory},
                 {"written_per_second", written / passed},
                 {"read_per_second", read / passed},
                 {"device_gigabytes", device_gigabytes(device_)}});
    log_.say(fmt::format(
        "{} {}/{}  {:.0f} ms a step, {:.0f} min left, {:.1f}k written/s {:.1f}k read/s {:.0f} GB {}",
        stage.name, step + 1, stage.steps, 1e3 * each,
        each * static_cast<double>(stage.steps - step - 1) / 60, written / passed / 1e3, read / passed / 1e3,
        device_gigabytes(device_), shown));
    check_finite(last_loss, last_norm, step);
    written = read = 0;
    steps_reported = 0;
    reported = Clock::now();
  }
  return RunEnd::finished;
}

RunEnd Run::retriever(std::int64_t number, const StageConfig& stage, Progress from) {
  ChunkOptions chunk = stage.lesson.chunk;
  chunk.length = model_.memory.C;
  chunk.short_share = chunk.twice = 0;  // every chunk writes K rows, and one chunk alone answers
  const std::uint64_t seed = config_.seed + static_cast<std::uint64_t>(number);
  const ChunkMaker maker(*material_, chunk, seed);
  const auto options = torch::TensorOptions(device_);
  const std::int64_t L = model_.config.layers;
  const auto trained = [&](const Tensor& tensor) { return tensor.clone().requires_grad_(); };
  const Tensor log_weights = trained(model_.vote_weights.defined() ? model_.vote_weights.clamp_min(1e-3).log()
                                                                   : torch::zeros({L}, options));
  const Tensor temperature =
      trained(torch::full({1 + L}, std::log(4.0), options));  // of the vote and of each layer
  model_.vote_weights = torch::Tensor();                      // made from the logarithms at the end
  AdamW optimizer = optimizer_for(stage, {{"vote_log_weights", log_weights, stage.rates.retriever},
                                          {"vote_temperature", temperature, stage.rates.retriever}});
  if (from.step > 0) load_checkpoint(checkpoint(), model_, optimizer);
  const std::int64_t rounds = std::max<std::int64_t>(1, stage.retriever.rounds);
  const std::int64_t per_round = (stage.steps + rounds - 1) / rounds;
  RetrieverCache cache;
  Tensor losses = torch::zeros({}, options), hits = torch::zeros({}, options);
  Clock::time_point reported = Clock::now();
  std::int64_t since = 0;
  stage_start_ = Clock::now();
  for (std::int64_t step = from.step; progress(stage, step) < 1; ++step) {
    const double seconds = seconds_before_ + seconds_since(start_);
    if (must_stop()) {
      save(optimizer, {.stage = number, .step = step, .seconds = seconds});
      return RunEnd::stopped;
    }
    const Tensor weights = log_weights.exp();
    if (step % per_round == 0 || step == from.step) {
      const auto round = static_cast<std::uint32_t>(step / per_round);
      begin_step(number, -1 - static_cast<std::int64_t>(round));
      cache = {};
      cache = make_retriever_cache(model_, maker, stage.lesson.streams, stage.retriever, round, seed);
      log_.say(fmt::format("{}: round {}, {} questions on {} chunks, {:.0f} s", stage.name, round + 1,
                           cache.chunk.size(), cache.kind.size(), seconds_since(start_)));
      // Questions nobody has trained on yet, against candidates of their own kind.
      const torch::NoGradGuard constant;
      io::Json shares;
      std::string shown;
      for (std::size_t k = 0; k < kKinds; ++k) {
        Random draw(seed, {.purpose = 120, .life = round, .stream = static_cast<std::uint32_t>(k)});
        RetrieverStageOptions exam = stage.retriever;
        exam.same_kind = 1;
        const RetrieverBatch batch = draw_batch(cache, exam, draw, static_cast<Kind>(k));
        if (batch.questions.empty()) continue;
        const RetrieverLoss result =
            retriever_batch_loss(model_, cache, batch, exam, weights, temperature, draw);
        const double share = result.found.mean().item<double>();
        shares[std::string(kind_name(static_cast<Kind>(k)))] = share;
        shown += fmt::format("  {} {:.3f}", kind_name(static_cast<Kind>(k)), share);
      }
      log_.record({{"stage", stage.name}, {"step", step}, {"found_first", shares}});
      log_.say("  found first among their kind, unseen:" + shown);
    }
    profile(step - from.step, stage.name);
    begin_step(number, step);
    Random draw(seed, {.purpose = 121, .update = static_cast<std::uint32_t>(step)});
    RetrieverBatch batch = draw_batch(cache, stage.retriever, draw, std::nullopt);
    const double part = take_share(batch, share());
    RetrieverLoss result =
        retriever_batch_loss(model_, cache, batch, stage.retriever, weights, temperature, draw);
    if (processes_) result.loss = part * result.loss;
    result.loss.backward();
    Tensor norm;
    end_step(optimizer, stage, step, norm);
    losses += result.loss.detach();
    hits += part * result.found.mean();
    ++since;
    if ((step + 1) % (4 * options_.report_steps) != 0 && step + 1 != stage.steps) continue;
    const double mean = sum_over(processes_.get(), losses).item<double>() / static_cast<double>(since);
    const double found = sum_over(processes_.get(), hits).item<double>() / static_cast<double>(since);
    const double each = seconds_since(reported) / static_cast<double>(since);
    log_.record({{"stage", stage.name},
                 {"step", step + 1},
                 {"seconds", seconds_before_ + seconds_since(start_)},
                 {"loss", mean},
                 {"found", found},
                 {"device_gigabytes", device_gigabytes(device_)}});
    log_.say(fmt::format("{} {}/{}  {:.0f} ms a step, {:.1f} min left, {:.0f} GB  loss {:.3f}  found {:.3f}",
                         stage.name, step + 1, stage.steps, 1e3 * each,
                         each * static_cast<double>(stage.steps - step - 1) / 60, device_gigabytes(device_),
                         mean, found));
    check_finite(mean, norm.item<double>(), step);
    losses.zero_();
    hits.zero_();
    since = 0;
    reported = Clock::now();
  }
  const torch::NoGradGuard constant;
  model_.vote_weights = (log_weights - log_weights.mean()).exp().detach();
  model_.memory.vote_top = stage.retriever.vote_top;
  model_.memory.recall = "consensus";
  return RunEnd::finished;
}

// What would make a run another one without anybody noticing.
void Run::check_agreement(const Progress& from) {
  if (processes_ && !processes_->all_equal(recipe_ + data_))
    fail(ErrorCode::invalid_argument, "the processes have different recipes or data");
  if (processes_ && !processes_->all_equal(fmt::format("{} {}", from.stage, from.step)))
    fail(ErrorCode::invalid_argument,
         "{}: the processes see different checkpoints; they need a folder in common", checkpoint().string());
  if (options_.changed_recipe) return;
  for (const auto& [what, made_with, now] :
       {std::tuple("recipe", from.recipe, recipe_), std::tuple("data", from.data, data_)})
    if (!made_with.empty() && made_with != now)
      fail(ErrorCode::invalid_argument,
           "{}: was made with another {} (SHA-256 {:.12}…, now {:.12}…). Take another folder to begin anew; "
           "--changed-recipe goes on all the same",
           checkpoint().string(), what, made_with, now);
}

Progress Run::begin() {
  const bool packed = !options_.travel.empty() && holds_packed_checkpoint(options_.travel);
  if (packed && writes_files() && !fs::exists(checkpoint())) unpack_checkpoint(options_.travel, checkpoint());
  if (processes_) processes_->wait_for_all();
  Progress from;
  const bool resumes = fs::exists(checkpoint());
  if (resumes) from = checkpoint_progress(checkpoint());
  check_agreement(from);
  if (!resumes) return from;
  if (from.step == 0 && from.stage < static_cast<std::int64_t>(config_.stages.size())) {
    AdamW none{{}};
    load_checkpoint(checkpoint(), model_, none);
  }
  seconds_before_ = from.seconds;
  warm_up_from_ = from.warm_up_from;
  log_.say(fmt::format("resumed at stage {}, step {}", from.stage + 1, from.step));
  return from;
}

RunEnd Run::run() {
  load();
  Progress from = begin();
  if (processes_)
    for (const StageConfig& stage : config_.stages)
      if (stage.minutes > 0)
        fail(ErrorCode::unsupported, "stage {}: several processes cannot agree on `minutes`; give steps",
             stage.name);
  for (std::int64_t s = from.stage; s < static_cast<std::int64_t>(config_.stages.size()); ++s) {
    const StageConfig& stage = config_.stages[static_cast<std::size_t>(s)];
    const RunEnd end = stage.retriever_only ? retriever(s, stage, from) : lessons(s, stage, from);
    save_result(end == RunEnd::finished ? s + 1 : s);
    if (end == RunEnd::stopped) return end;
    warm_up_from_ = 0;
    from = {.stage = s + 1, .step = 0, .seconds = seconds_before_ + seconds_since(start_)};
    AdamW none({}, {}, processes_.get());
    save(none, from);
  }
  return RunEnd::finished;
}

}  // namespace

RunEnd run(const RunConfig& config, const RunOptions& options) {
  fs::create_directories(options.out);
  return Run(config, options).run();
}

}  // namespace mplus::train
