#include "mplus/train/run/run_config.h"

#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <set>
#include <string_view>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/text/question_prompt.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

// A table whose keys are taken one by one; what is left over when it closes was misspelt.
class Keys {
 public:
  Keys(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  template <class T>
  void take(std::string_view key, T& value) {
    const toml::node* node = find(key);
    if (!node) return;
    if constexpr (std::is_same_v<T, double>) {
      const auto found = node->value<double>();
      if (!found) wrong(key, "a number");
      value = *found;
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto found = node->value_exact<bool>();
      if (!found) wrong(key, "true or false");
      value = *found;
    } else if constexpr (std::is_same_v<T, std::string>) {
      const auto found = node->value_exact<std::string>();
      if (!found) wrong(key, "a text");
      value = *found;
    } else {
      const auto found = node->value_exact<std::int64_t>();
      if (!found || *found < 0) wrong(key, "a whole number");
      value = static_cast<T>(*found);
    }
  }
  template <class T>
  void take_list(std::string_view key, std::vector<T>& values) {
    const toml::node* node = find(key);
    if (!node) return;
    const toml::array* list = node->as_array();
    if (!list || list->empty()) wrong(key, "a list");
    values.clear();
    for (const toml::node& item : *list) {
      const auto found = item.value<T>();
      if (!found) wrong(key, "a list of numbers");
      values.push_back(*found);
    }
  }
  const toml::table* table(std::string_view key) {
    const toml::node* node = find(key);
    if (node && !node->is_table()) wrong(key, "a table");
    return node ? node->as_table() : nullptr;
  }
  const toml::array* tables(std::string_view key) {
    const toml::node* node = find(key);
    if (node && !node->is_array_of_tables()) wrong(key, "a list of tables");
    return node ? node->as_array() : nullptr;
  }
  const toml::array* pairs(std::string_view key) {
    const toml::node* node = find(key);
    if (node && !node->is_array()) wrong(key, "a list of pairs");
    return node ? node->as_array() : nullptr;
  }
  [[noreturn]] void wrong(std::string_view key, std::string_view expected) const {
    fail(ErrorCode::invalid_argument, "{}: {}: expected {}", where_, key, expected);
  }
  const std::string& where() const { return where_; }
  void close() const {
    for (const auto& [key, node] : table_)
      if (!taken_.contains(key.str()))
        fail(ErrorCode::invalid_argument, "{}: {}: there is no such setting", where_, key.str());
  }

 private:
  const toml::node* find(std::string_view key) {
    taken_.insert(std::string(key));
    return table_.get(key);
  }
  const toml::table& table_;
  std::string where_;
  std::set<std::string, std::less<>> taken_;
};

void read_rates(Keys keys, LearningRates& rates) {
  rates = {};
  keys.take("base", rates.base);
  keys.take("adapter", rates.adapter);
  keys.take("vectors", rates.vectors);
  keys.take("retriever", rates.retriever);
  keys.close();
}

void read_most_chunks(Keys& keys, LessonOptions& lesson) {
  const toml::array* list = keys.pairs("chunks");
  if (!list) return;
  lesson.chunks.clear();
  for (const toml::node& item : *list) {
    const toml::array* pair = item.as_array();
    const auto from = pair && pair->size() == 2 ? pair->at(0).value<double>() : std::nullopt;
    const auto most = pair && pair->size() == 2 ? pair->at(1).value<std::int64_t>() : std::nullopt;
    if (!from || !most || *most < 1) keys.wrong("chunks", "pairs [share of the stage, most chunks]");
    lesson.chunks.emplace_back(*from, *most);
  }
}

void read_lesson(Keys& keys, StageConfig& stage) {
  LessonOptions& lesson = stage.lesson;
  keys.take("streams", lesson.streams);
  keys.take("window", lesson.window);
  keys.take("reads", lesson.reads);
  keys.take("several", lesson.several);
  keys.take("older", lesson.older);
  keys.take("unknown", lesson.unknown);
  keys.take("changed", lesson.changed);
  keys.take("focus", lesson.focus);
  keys.take("astray", lesson.astray);
  keys.take("talk", lesson.talk);
  keys.take("reread", lesson.reread);
  keys.take("revisit", lesson.revisit);
  keys.take("repeat", lesson.repeat);
  keys.take("next", lesson.next);
  keys.take("pose", lesson.pose);
  keys.take("most_new", lesson.most_new);
  keys.take_list("lives", lesson.lives);
  keys.take("short_chunks", lesson.chunk.short_share);
  keys.take("document", lesson.chunk.document);
  keys.take("twice", lesson.chunk.twice);
  keys.take("chat_form", lesson.chunk.chat_form);
  keys.take("cloze", lesson.chunk.cloze);
  keys.take("mistaken", lesson.chunk.mistaken);
  keys.take("typed", lesson.chunk.typed);
  if (const toml::table* table = keys.table("steps_of")) {
    Keys shares(*table, fmt::format("{}.steps_of", keys.where()));
    lesson.plain = lesson.context = lesson.fresh = lesson.live = 0;
    shares.take("plain", lesson.plain);
    shares.take("context", lesson.context);
    shares.take("fresh", lesson.fresh);
    shares.take("live", lesson.live);
    shares.close();
  }
  if (const toml::table* table = keys.table("kinds")) {
    Keys shares(*table, fmt::format("{}.kinds", keys.where()));
    for (std::size_t i = 0; i < kKinds; ++i) {
      lesson.chunk.kinds[i] = 0;
      shares.take(kind_name(static_cast<ChunkKind>(i)), lesson.chunk.kinds[i]);
    }
    shares.close();
  }
  read_most_chunks(keys, lesson);
  keys.take("store", stage.step.store);
  keys.take("gradient", stage.step.gradient);
  keys.take("recall", stage.step.recall);
  keys.take("right", stage.step.right);
  keys.take("alone", stage.step.alone);
  keys.take("retriever_loss", stage.step.retriever_loss);
  // The retriever would be told that the wrong chunk is right.
  if (lesson.astray > 0 && stage.step.retriever_loss > 0)
    keys.wrong("astray", "0 where retriever_loss is not");
  if (lesson.chunk.mistaken > 0 && (stage.retriever_only || stage.step.retriever_loss > 0))
    keys.wrong("mistaken", "0 where the retriever is trained");
}

void read_retriever(Keys& keys, RetrieverStageOptions& options) {
  keys.take("rounds", options.rounds);
  keys.take("updates", options.updates);
  keys.take("questions", options.questions);
  keys.take("same_kind", options.same_kind);
  keys.take("asked_at_once", options.asked_at_once);
  keys.take("others", options.others);
  keys.take("rows", options.rows);
  keys.take("vote_top", options.vote_top);
  keys.take("each_layer", options.each_layer);
  keys.take("vote_rate", options.vote_rate);
  keys.take("even_inputs", options.even_inputs);
  keys.take("renew_below", options.renew_below);
  keys.take("vector", options.vector);
}

StageConfig read_stage(const toml::table& table, const std::string& file, std::size_t number) {
  StageConfig stage;
  stage.name = fmt::format("stage {}", number);
  const std::string where = fmt::format("{}: {}", file, stage.name);
  Keys keys(table, where);
  keys.take("name", stage.name);
  keys.take("steps", stage.steps);
  keys.take("minutes", stage.minutes);
  std::string kind = "lessons";
  keys.take("kind", kind);
  if (kind != "lessons" && kind != "retriever") keys.wrong("kind", "\"lessons\" or \"retriever\"");
  stage.retriever_only = kind == "retriever";
  read_lesson(keys, stage);
  if (stage.retriever_only) read_retriever(keys, stage.retriever);
  if (const toml::table* rates = keys.table("learning_rate"))
    read_rates(Keys(*rates, fmt::format("{}.learning_rate", where)), stage.rates);
  else if (stage.retriever_only) stage.rates = {.retriever = 2e-3};
  keys.take("beta1", stage.adamw.beta1);
  keys.take("beta2", stage.adamw.beta2);
  keys.take("weight_decay", stage.adamw.weight_decay);
  keys.take("warm_up", stage.warm_up);
  keys.take("least", stage.least);
  keys.take("clip", stage.clip);
  keys.close();
  if (stage.steps <= 0) keys.wrong("steps", "how many steps the stage takes");
  return stage;
}

// Which layers keep a memory: of a new delta, or of one to go on from.
void read_layers(Keys& keys, LayerSet& layers) {
  std::string text = layers.text();
  keys.take("layers", text);
  const auto parsed = LayerSet::parse(text);
  if (!parsed) keys.wrong("layers", "layers that keep a memory, such as \"4-11,20\"");
  layers = *parsed;
}

void read_memory(Keys keys, io::MemoryConfig& memory) {
  memory.K = 128;
  memory.N = 1024;
  memory.K0 = 256;
  memory.M = 153600;
  memory.C = 256;
  memory.W = 1024;
  memory.d_r = 64;
  memory.lora = {.rank = 32, .alpha = 64};
  memory.recall.rule = RecallRule::consensus;
  memory.prompt = io::kQuestionPrompt;
  memory.stop.assign(1, '\n');
  memory.chunk_form = "filled";
  keys.take("K", memory.K);
  keys.take("N", memory.N);
  keys.take("K0", memory.K0);
  keys.take("M", memory.M);
  keys.take("C", memory.C);
  keys.take("W", memory.W);
  keys.take("d_r", memory.d_r);
  keys.take("rank", memory.lora.rank);
  keys.take("alpha", memory.lora.alpha);
  keys.take("base", memory.base);
  read_layers(keys, memory.layers);
  keys.close();
}

std::vector<DataFile> read_files(Keys& keys, std::string_view key, const fs::path& folder) {
  std::vector<DataFile> files;
  const toml::array* list = keys.tables(key);
  if (!list) return files;
  for (const toml::node& item : *list) {
    Keys entry(*item.as_table(), fmt::format("{}.{}", keys.where(), key));
    std::string file;
    DataFile data;
    entry.take("file", file);
    entry.take("weight", data.weight);
    entry.close();
    if (file.empty()) entry.wrong("file", "a file");
    data.file = folder / file;
    files.push_back(data);
  }
  return files;
}

}  // namespace

RunConfig load_run_config(const fs::path& file) {
  RunConfig run;
  run.text = read_text_file(file);
  toml::table table;
  try {
    table = toml::parse(run.text);
  } catch (const toml::parse_error& error) {
    fail(ErrorCode::invalid_argument, "{}:{}: {}", file.string(), error.source().begin.line,
         error.description());
  }
  Keys keys(table, file.string());
  keys.take("seed", run.seed);
  keys.take("bad_lines", run.bad_lines);
  keys.take("spare_memory", run.spare_memory);
  std::string model, delta;
  keys.take("model", model);
  keys.take("delta", delta);
  const fs::path folder = file.parent_path();
  if (!model.empty()) run.model = folder / model;
  if (!delta.empty()) run.delta = folder / delta;
  if (const toml::table* memory = keys.table("memory")) {
    Keys sizes(*memory, fmt::format("{}: memory", file.string()));
    if (run.delta.empty()) {
      read_memory(std::move(sizes), run.memory);
    } else {  // which says the sizes
      read_layers(sizes, run.memory.layers);
      sizes.close();
    }
  } else if (run.delta.empty()) {
    keys.wrong("delta", "a delta to go on from, or a table [memory] with the sizes of a new one");
  }
  run.texts = read_files(keys, "text", folder);
  run.questions = read_files(keys, "questions", folder);
  if (const toml::array* stages = keys.tables("stage"))
    for (const toml::node& stage : *stages)
      run.stages.push_back(read_stage(*stage.as_table(), file.string(), run.stages.size() + 1));
  keys.close();
  if (run.stages.empty()) keys.wrong("stage", "at least one stage");
  if (run.texts.empty()) keys.wrong("text", "at least one file of text");
  return run;
}

}  // namespace mplus::train
