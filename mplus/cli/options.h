// Options that several subcommands share. Each is also an environment variable: --memory is MPLUS_MEMORY.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mplus/engine/answer/answer.h"
#include "mplus/engine/engine.h"

namespace mplus::cli {

struct ModelOptions {
  std::string model;
  std::string delta;
  int threads = 0;
  std::string numerics = "fast";
  std::string device = "auto";
  std::string device_weights = "values";
  std::string device_memory = {}, host_memory = {};  // sizes; empty: no limit
};

struct MemoryOptions {
  std::string file;
  std::string session;  // of the store
  bool batch = false;   // writes of a session are left to the operating system
  std::string recall;   // empty: as the delta says
  std::string search = "auto";
  std::string recall_over;              // empty: as the delta says
  std::optional<double> recall_margin;  // unset: as the delta says
  std::string read_over;                // empty: as the delta says
  double words_weight = 1;
  std::string evidence;  // empty: as the delta says
  std::optional<std::int64_t> hops;
  std::string talk;  // empty: as the delta says
  std::vector<std::int64_t> recall_chunks;
  std::string dtype;         // a name of memory_type_of(); empty: as the file or session, else kNewMemory
  std::string ltm_capacity;  // empty: as the file, else as the delta says
  bool keep_hidden = false;
};

struct AnswerOptions {
  std::int64_t max_tokens = 256;
  engine::SamplingOptions sampling;  // the seed aside
  std::vector<std::string> stop;
};

// "--top-k" → "MPLUS_TOP_K": gives every option of a command its environment variable.
void name_environment(CLI::App& command);

// An option that takes one of a few words; others are wrong usage, with a message that lists these.
CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                        const std::string& help, std::vector<std::string> words);

CLI::Option* add_device_option(CLI::App& command, std::string& device);
void add_model_options(CLI::App& command, ModelOptions& options, const std::string& default_delta);
void add_memory_options(CLI::App& command, MemoryOptions& options, const std::string& file_help);
// What a memory is begun with unless something else is asked for (docs/results.md, "Small rows").
inline constexpr MemoryType kNewMemory{.dtype = DType::bf16, .long_term = RowFormat::int8};
// "bf16", "f32"; "int8" and "int4" are bf16 with dropped rows in as many bits; empty: kNewMemory.
MemoryType memory_type_of(const std::string& name);
CLI::Option* add_memory_type_option(CLI::App& command, std::string& name, const std::string& help);
void add_new_memory_options(CLI::App& command, MemoryOptions& options);  // what a memory is begun with
void add_answer_options(CLI::App& command, AnswerOptions& options);
void add_reread_option(CLI::App& command, std::int64_t& chunks);
void add_seed_option(CLI::App& command, std::uint64_t& seed);
void add_json_option(CLI::App& command, bool& json);

engine::GenerateOptions generate_options(const AnswerOptions& answer, const MemoryOptions& memory,
                                         std::uint64_t seed);

// "3, 17 42" → ids; "-" reads the list from standard input. Throws UsageError naming what is no id.
std::vector<io::TokenId> parse_ids(const std::string& list);

}  // namespace mplus::cli
