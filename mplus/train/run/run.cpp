#include "mplus/train/run/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/text_side.h"
#include "mplus/train/lessons/made_facts.h"
#include "mplus/train/model/device.h"
#include "mplus/train/model/files/load.h"
#include "mplus/train/model/files/new_delta.h"
#include "mplus/train/run/stages/lesson_stage.h"
#include "mplus/train/run/stages/retriever_stage.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Processes> join_processes(torch::Device device, const RunConfig& config,
                                          const RunOptions& options) {
  const ProcessPlace place = process_place();
  if (place.share.processes == 1) return nullptr;
  for (const StageConfig& stage : config.stages)
    if (stage.minutes > 0)
      fail(ErrorCode::unsupported, "stage {}: several processes cannot agree on `minutes`; give steps",
           stage.name);
  return std::make_unique<Processes>(place, device, options.process_timeout_seconds);
}

bool trains_chat(const RunConfig& config) {
  return std::any_of(config.stages.begin(), config.stages.end(), [](const StageConfig& stage) {
    return !stage.retriever_only && stage.lesson.chunk.kinds[static_cast<std::size_t>(ChunkKind::chat)] > 0;
  });
}

Model load(const RunConfig& config, torch::Device device, RunLog& log) {
  const bool begins = config.delta.empty();
  log.say(fmt::format("model {}, delta {}", config.model.string(), begins ? "begun" : config.delta.string()));
  Model model =
      load_model({.model = config.model, .delta = begins ? std::nullopt : std::optional(config.delta)}).model;
  if (begins) begin_delta(model, config.memory, config.seed);
  else if (!config.memory.layers.is_all()) keep_layers(model, config.memory.layers);
  if (!model.memory.layers.is_all())
    log.say(fmt::format("a memory in {} of {} layers: {}", model.memory_layers(), model.config.layers,
                        model.memory.layers.text()));
  for (const StageConfig& stage : config.stages)
    if (stage.lesson.unknown > 0) model.memory.recall.no_answer = unknown_answer();
  model.memory.chat_trained |= trains_chat(config);
  model.spare_memory = config.spare_memory;
  place(model, device, device.is_cuda() ? torch::kBFloat16 : torch::kFloat32);
  return model;
}

// A file's parts into those of the material; one without text is left out where it is held out.
template <class Set>
void add(Split<Material>& material, Split<Set>&& set, double weight, std::vector<Set> Material::*sets,
         std::vector<double> Material::*weights) {
  (material.trained.*sets).push_back(std::move(set.trained));
  (material.trained.*weights).push_back(weight);
  if (set.held_out.tokens.empty()) return;
  (material.held_out.*sets).push_back(std::move(set.held_out));
  (material.held_out.*weights).push_back(weight);
}

Split<Material> load_material(const RunConfig& config, const RunOptions& options, RunLog& log) {
  const std::optional<io::TextSide> text = io::read_text_side(config.model);
  if (!text) fail(ErrorCode::not_found, "{}: brings no tokenizer", config.model.string());
  const Material nothing{.tokenizer = text->tokenizer,
                         .chat = text->chat,
                         .texts = {},
                         .text_weights = {},
                         .questions = {},
                         .question_weights = {}};
  Split<Material> material{.trained = nothing, .held_out = nothing};
  const DataOptions data{.cache = options.cache,
                         .bad_lines = config.bad_lines,
                         .threads = 0,
                         .report = [&](const std::string& line) { log.say(line); }};
  for (const DataFile& file : config.texts)
    add(material, split(load_text(file.file, text->tokenizer, data)), file.weight, &Material::texts,
        &Material::text_weights);
  for (const DataFile& file : config.questions)
    add(material, split(load_questions(file.file, text->tokenizer, data)), file.weight, &Material::questions,
        &Material::question_weights);
  std::size_t documents = 0, questions = 0;
  for (const TextSet& set : material.held_out.texts) documents += set.hashes.size();
  for (const QuestionSet& set : material.held_out.questions) questions += set.questions.size();
  log.say(fmt::format("held out, never trained on: {} documents and {} questions", documents, questions));
  return material;
}

// Of the processes of a machine the first one fills the cache and the others find it filled.
Split<Material> load_material_in_turn(const RunConfig& config, const RunOptions& options, RunLog& log,
                                      Processes* processes) {
  const bool waits = processes && process_place().on_machine > 0;
  if (waits) processes->wait_for_all();
  Split<Material> material = load_material(config, options, log);
  if (processes && !waits) processes->wait_for_all();
  return material;
}

RunOrigin origin_of(const RunConfig& config, const RunOptions& options, const Material& material) {
  std::string hashes;
  for (const TextSet& set : material.texts) hashes += fmt::format("{} {}\n", set.name, set.sha256);
  for (const QuestionSet& set : material.questions) hashes += fmt::format("{} {}\n", set.name, set.sha256);
  return {.model = config.model,
          .record = {{"training", config.text},
                     {"training_seed", fmt::format("{}", config.seed)},
                     {"training_commit", options.commit},
                     {"training_data", hashes}},
          .recipe = io::sha256_hex(std::as_bytes(std::span(config.text))),
          .data = io::sha256_hex(std::as_bytes(std::span(hashes)))};
}

// Where the run begins or goes on. Between two stages the checkpoint's weights are the model's; within one,
// the stage takes them with the moments of its optimizer.
Progress begin(RunFolder& folder, Model& model, const std::vector<StageConfig>& stages, RunClock& clock,
               RunLog& log) {
  const std::optional<Progress> found = folder.find_checkpoint();
  if (!found) return {};
  match_parts(folder.checkpoint(), model);
  if (found->step == 0 && found->stage < static_cast<std::int64_t>(stages.size())) {
    AdamW none{{}};
    load_checkpoint(folder.checkpoint(), model, none);
  }
  for (std::size_t s = 0; s < std::min(stages.size(), static_cast<std::size_t>(found->stage)); ++s)
    if (stages[s].retriever_only) set_recall(model, stages[s].retriever);  // no tensor says it
  clock.seconds_before = found->seconds;
  log.say(fmt::format("resumed at stage {}, step {}", found->stage + 1, found->step));
  return *found;
}

}  // namespace

RunEnd run(const RunConfig& config, const RunOptions& options) {
  RunClock clock;
  fs::create_directories(options.out);
  const torch::Device device = device_named(options.device, process_place().on_machine);
  const std::unique_ptr<Processes> processes = join_processes(device, config, options);
  RunLog log;
  if (!processes || processes->is_first()) log = RunLog(options.out / "log.jsonl");
  Model model = load(config, device, log);
  const Split<Material> material = load_material_in_turn(config, options, log, processes.get());
  const RunOrigin origin = origin_of(config, options, material.trained);
  RunFolder folder(options, origin, log, processes.get());
  const RunParts parts{.options = options,
                       .seed = config.seed,
                       .model = model,
                       .material = material.trained,
                       .held_out = material.held_out,
                       .log = log,
                       .folder = folder,
                       .clock = clock,
                       .processes = processes.get()};
  Progress from = begin(folder, model, config.stages, clock, log);
  while (from.stage < static_cast<std::int64_t>(config.stages.size())) {
    Stage stage(parts, config.stages[static_cast<std::size_t>(from.stage)], from);
    const RunEnd end = stage.config().retriever_only ? run_retriever(stage) : run_lessons(stage);
    stage.check_health();
    const std::int64_t done = from.stage + (end == RunEnd::finished ? 1 : 0);
    folder.save_result(model, done, config.stages.size());
    if (end == RunEnd::stopped) return end;
    from = {.stage = done, .step = 0, .seconds = clock.seconds()};
    AdamW none({}, {}, processes.get());
    folder.save(model, none, from);
  }
  return RunEnd::finished;
}

}  // namespace mplus::train
