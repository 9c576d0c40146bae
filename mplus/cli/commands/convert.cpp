// mplus convert: between file formats.
#include <fmt/core.h>

#include <filesystem>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/cli/user_file.h"
#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/files/weights_id.h"
#include "mplus/engine/locate.h"
#include "mplus/io/text/text_side.h"
#include "mplus/model/files/save.h"
#include "mplus/store/store_folder.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string source, target, to, dtype, delta, memory, layers = "all";
  std::optional<std::int64_t> rows;
  bool force = false, json = false;
};

using Outcome = std::vector<std::pair<std::string, std::string>>;  // what was written, and where

std::optional<DType> dtype_of(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return name == "f32" ? DType::f32 : name == "bf16" ? DType::bf16 : name == "f16" ? DType::f16 : DType::i8;
}

void refuse_dtype(const ConvertOptions& options, std::initializer_list<std::string_view> refused) {
  for (std::string_view name : refused)
    if (options.dtype == name)
      throw UsageError(fmt::format("convert: --dtype {} cannot be used with --to {}", name, options.to));
}

void refuse_existing_folder(const fs::path& target) {
  store::refuse_store_file(target);
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(target, ignored)))
    fail(ErrorCode::invalid_argument, "{}: is there already; name a new folder (--force replaces files only)",
         target.string());
}

// A tokenizer is no tensor.
void write_text_side(const fs::path& from, const fs::path& to) {
  if (!io::write_text_side(from, to))
    note("note: {} brings no tokenizer; text needs a tokenizer.json beside the new weights\n",
         from.filename().string());
}

ModelOptions model_of(const ConvertOptions& options) {
  return {.model = options.source, .delta = options.delta.empty() ? "none" : options.delta, .threads = 0};
}

// Everything that came with the weights, as a session that kept its hidden states.
MemoryOptions whole_memory(const ConvertOptions& options) {
  MemoryOptions memory;
  memory.file = options.memory;
  if (options.memory.empty()) {
    memory.dtype = "f32";
    memory.keep_hidden = true;
  }
  return memory;
}

Outcome to_published(const ConvertOptions& options) {
  refuse_dtype(options, {"int8", "int4"});
  const MemoryOptions memory = whole_memory(options);
  const auto engine = open_engine(model_of(options), memory, false);
  const engine::Session session =
      memory.file.empty() ? engine::Session(*engine) : engine::load_session_file(*engine, memory.file);
  const bool with_memory = !options.memory.empty() || engine->weights().initial_memory.has_value();
  model::save_published(engine->weights(), with_memory ? &session.memory() : nullptr, options.target,
                        dtype_of(options.dtype));
  write_text_side(engine::locate_model(options.source, "none").model, options.target);
  if (!with_memory) note("note: without a memory; --memory FILE (begun with --keep-hidden) adds one\n");
  return {{"published", options.target}};
}

Outcome to_base(const ConvertOptions& options) {
  refuse_dtype(options, {"int8", "int4"});
  const model::ModelFiles files = engine::locate_model(options.source, "none");
  model::save_base(*model::load_weights(files), options.target, dtype_of(options.dtype));
  write_text_side(files.model, options.target);
  return {{"base", options.target}};
}

// The memory a checkpoint brought goes along if the weights are the same ones, bit for bit: its keys and
// values were made with them.
void save_initial_memory(const ConvertOptions& options, const model::ModelFiles& files, Outcome& outcome) {
  const auto engine = open_engine(model_of(options), whole_memory(options), false);
  if (!engine->weights().initial_memory) return;
  if (engine::hash_weights(*model::load_weights(files)) != engine::hash_weights(engine->weights())) {
    note("note: the checkpoint's own memory is left out, since its weights were rounded\n");
    return;
  }
  const fs::path file = fs::path(options.target) / "memory.safetensors";
  engine::save_session_file(engine::Session(*engine), file);
  outcome.emplace_back("memory", file.string());
}

Outcome to_base_and_delta(const ConvertOptions& options) {
  const model::ModelFiles from = engine::locate_model(options.source, "none");
  const auto weights = model::load_weights(from);
  if (!weights->memory)
    fail(ErrorCode::invalid_argument, "{}: a plain decoder; expected a published checkpoint with a memory",
         from.model.string());
  const fs::path base = fs::path(options.target) / "base";
  const fs::path delta = fs::path(options.target) / "delta.safetensors";
  fs::create_directories(options.target);
  // Integers are for the delta alone; a base keeps its own type then.
  const std::optional<DType> dtype = dtype_of(options.dtype);
  model::save_base(*weights, base, dtype == DType::i8 ? std::nullopt : dtype);
  write_text_side(from.model, base);
  model::save_delta(*weights, delta, dtype);
  Outcome outcome{{"base", base.string()}, {"delta", delta.string()}};
  save_initial_memory(options, {.model = base, .delta = delta}, outcome);
  return outcome;
}

Outcome to_delta(const ConvertOptions& options) {
  refuse_dtype(options, {"int4"});
  UserFile target(options.target, options.force);
  std::error_code ignored;
  if (fs::is_directory(options.source, ignored)) {
    model::save_delta(*model::load_weights({.model = options.source, .delta = std::nullopt}), target.path(),
                      dtype_of(options.dtype));
  } else {
    const auto dtype = dtype_of(options.dtype);
    if (!dtype) throw UsageError("convert: --to delta: name a --dtype");
    const auto layers = LayerSet::parse(options.layers);
    if (!layers)
      throw UsageError(fmt::format("convert: --layers: expected layers such as 4-11,20, found {}",
                                   printable(options.layers)));
    model::convert_delta(options.source, target.path(), *dtype, *layers, options.rows);
  }
  target.commit();
  return {{"delta", options.target}};
}

Outcome to_memory(const ConvertOptions& options) {
  refuse_dtype(options, {"", "f16"});
  UserFile target(options.target, options.force);
  engine::convert_session_file(options.source, target.path(), memory_type_of(options.dtype));
  target.commit();
  return {{"memory", options.target}};
}

int convert(const ConvertOptions& options) {
  std::error_code ignored;
  if (options.layers != "all" && (options.to != "delta" || fs::is_directory(options.source, ignored)))
    throw UsageError("convert: --layers goes with --to delta and a delta file");
  if (options.rows && (options.to != "delta" || fs::is_directory(options.source, ignored)))
    throw UsageError("convert: --rows goes with --to delta and a delta file");
  if (options.to != "delta" && options.to != "memory") refuse_existing_folder(options.target);
  const Outcome outcome = options.to == "published"        ? to_published(options)
                          : options.to == "base"           ? to_base(options)
                          : options.to == "base-and-delta" ? to_base_and_delta(options)
                          : options.to == "delta"          ? to_delta(options)
                                                           : to_memory(options);
  Json json;
  for (const auto& [what, where] : outcome) {
    json[what] = where;
    if (!options.json) put(fmt::format("{:10} {}\n", what, printable(where)));
  }
  if (options.json) put_json(json);
  return kGood;
}

}  // namespace

void add_convert(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = program.add_subcommand(
      "convert",
      "Convert between file formats.\n"
      "published: a base model, a delta and a memory become a checkpoint in the layout M+ was released in.\n"
      "base-and-delta: such a checkpoint becomes a Hugging Face folder, a delta and a memory file. base: "
      "any\n"
      "model as a Hugging Face folder. delta, memory: the same in another element type; int8 and int4 of a\n"
      "memory are of its long-term rows. Where types allow it nothing is lost on the way. The target must "
      "not exist; --force replaces a file.");
  command->add_option("SOURCE", options->source, "a model, delta or memory file")->type_name("")->required();
  command->add_option("TARGET", options->target, "the file or folder to make")->type_name("")->required();
  add_choice(*command, "--to", options->to, "what to make",
             {"published", "base-and-delta", "base", "delta", "memory"})
      ->required();
  add_choice(*command, "--dtype", options->dtype, "default: the source's own, f32 for a quantised one",
             {"f32", "bf16", "f16", "int8", "int4"});
  command->add_option("--delta", options->delta, "with --to published: the delta of a plain base model")
      ->type_name("FILE");
  command->add_option("--memory", options->memory, "with --to published: a memory begun with --keep-hidden")
      ->type_name("FILE");
  command
      ->add_option("--layers", options->layers,
                   "with --to delta, of a delta: keep the memory of these layers only, such as 14-29")
      ->type_name("SET");
  command
      ->add_option("--rows", options->rows,
                   "with --to delta, of a delta: a write leaves this many rows in a layer, fewer than so far")
      ->type_name("K");
  add_force_option(*command, options->force);
  add_json_option(*command, options->json);
  command->footer(
      "Examples:\n"
      "  mplus convert mplus-8b/ mplus-8b-parts/ --to base-and-delta --dtype bf16\n"
      "  mplus convert delta.safetensors small.safetensors --to delta --dtype int8");
  command->callback([options, &chosen] { chosen = [options] { return convert(*options); }; });
}

}  // namespace mplus::cli
