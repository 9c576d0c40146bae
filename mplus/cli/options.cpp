#include "mplus/cli/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/documents.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/io/text/names.h"

namespace mplus::cli {
namespace {

std::string check_capacity(const std::string& text) {
  std::int64_t rows = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  const bool number = error == std::errc{} && end == text.data() + text.size() && rows > 0;
  if (number || text == "unlimited") return {};
  return fmt::format("expected a positive number or unlimited, found {}", io::shown(text));
}

std::vector<std::string> recall_names() {
  std::vector<std::string> names;
  for (const RecallRule rule : kRecallRules) names.emplace_back(recall_rule_name(rule));
  return names;
}

template <class T>
CLI::Validator at_least(T least) {
  return CLI::Range(least, std::numeric_limits<T>::max()).description("");
}

}  // namespace

void name_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const auto& names = option->get_lnames();
    if (names.empty() || names.front() == "help" || names.front() == "version") continue;
    std::string name = "MPLUS_" + names.front();
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    option->envname(name);
  }
}

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                        const std::string& help, std::vector<std::string> words) {
  std::string list;
  for (const std::string& word : words) list.append(list.empty() ? "" : "|").append(word);
  const auto check = [words = std::move(words), list](const std::string& text) {
    const bool known = std::find(words.begin(), words.end(), text) != words.end();
    return known ? std::string() : fmt::format("{} is not known here; known: {}", io::shown(text), list);
  };
  return command.add_option(name, value, help)->type_name(list)->check(check, "");
}

CLI::Option* add_device_option(CLI::App& command, std::string& device) {
  const auto check = [](const std::string& text) {
    return device_choice_from_name(text)
               ? std::string()
               : fmt::format("{} is no device; known: auto, cpu, cuda, cuda:N", io::shown(text));
  };
  return command
      .add_option("--device", device,
                  "what computes; auto: the first CUDA device that the model fits on, else the processor")
      ->type_name("auto|cpu|cuda[:N]")
      ->check(check, "")
      ->capture_default_str();
}

namespace {

void add_size_option(CLI::App& command, const std::string& name, std::string& size, const std::string& help) {
  const auto check = [](const std::string& text) {
    const std::optional<std::size_t> bytes = bytes_from_text(text);
    return bytes && *bytes > 0
               ? std::string()
               : fmt::format("{} is no size; expected something like 22GB or 500M", io::shown(text));
  };
  command.add_option(name, size, help)->type_name("SIZE")->check(check, "")->group("Model");
}

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& options, const std::string& default_delta) {
  const std::string group = "Model";
  command
      .add_option("-m,--model", options.model,
                  "a .gguf file, a model folder, or a name from `mplus model list`")
      ->group(group)
      ->type_name("MODEL");
  command.add_option("--delta", options.delta, "what gives the model its memory; default: " + default_delta)
      ->group(group)
      ->type_name("FILE|none");
  command.add_option("-t,--threads", options.threads, "default: all cores this process may use")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  add_choice(command, "--numerics", options.numerics, "exact: all arithmetic in 32-bit floats",
             {"fast", "exact"})
      ->group(group)
      ->capture_default_str();
  add_device_option(command, options.device)->group(group);
  add_choice(
      command, "--device-weights", options.device_weights,
      "on a CUDA device: weights of layers and head as values, or in one byte each, whole numbers or small "
      "floats; generation is faster then",
      {"values", "int8", "fp8"})
      ->group(group)
      ->capture_default_str();
  add_size_option(
      command, "--device-memory", options.device_memory,
      "the most to take of a CUDA device's memory; where that is little, the embedding and copies of a "
      "memory's rows stay on the host; default: all that is free");
  add_size_option(command, "--host-memory", options.host_memory,
                  "the most that rows of memories may take on the host, those in a session's files aside");
}

namespace {

constexpr const char* kMemoryGroup = "Memory";

// What long-term memory is searched for, and how.
void add_recall_options(CLI::App& command, MemoryOptions& options) {
  add_choice(command, "--recall", options.recall,
             "how long-term memory is searched; default: as the delta says, with the words of what was read "
             "where they are known",
             recall_names())
      ->group(kMemoryGroup);
  add_choice(
      command, "--recall-over", options.recall_over,
      "chunks that compete for recall: those of the long-term store, or everything that is kept, so that "
      "what is in short-term memory already leaves less to recall; default: as the delta says",
      {"long-term", "everything"})
      ->group(kMemoryGroup);
  command
      .add_option("--recall-margin", options.recall_margin,
                  "chunks so many standard deviations behind the best one are not recalled; default: as the "
                  "delta says, else none is too far")
      ->group(kMemoryGroup)
      ->type_name("X")
      ->check(CLI::Range(0.0, 1e9).description(""));
  add_choice(
      command, "--read-over", options.read_over,
      "what a question sees: all of short-term memory and what it recalled; only what it recalled, wherever "
      "that is kept; or that one passage at a time, the newest first, until one answers; default: as the "
      "delta says",
      {"everything", "recalled", "in-turn"})
      ->group(kMemoryGroup);
  add_choice(
      command, "--search", options.search,
      "exact: every long-term row is scored; two-level: chunks first, then the rows of the best; auto: "
      "two-level in stores so large that it pays",
      {"auto", "exact", "two-level"})
      ->group(kMemoryGroup)
      ->capture_default_str();
  command
      .add_option("--words-weight", options.words_weight,
                  "what words count beside the vote of the layers, with --recall hybrid")
      ->group(kMemoryGroup)
      ->type_name("X")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6).description(""));
}

// What becomes of what was found.
void add_checking_options(CLI::App& command, MemoryOptions& options) {
  add_choice(
      command, "--evidence", options.evidence,
      "names: an answer that stands in a passage about others than the question names is none; none: it "
      "is not looked at; default: as the delta says, else names",
      {"names", "none"})
      ->group(kMemoryGroup);
  command
      .add_option(
          "--hops", options.hops,
          "2: a name in the passage found may lead on to a second passage, and both are read together, "
          "where one alone does not answer; 1: it does not; default: as the delta says, else 2")
      ->group(kMemoryGroup)
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, kMostHops).description(""));
  add_choice(command, "--talk", options.talk,
             "base: small talk, tasks and what everybody knows are answered by the base model alone, where "
             "memory has nothing to say of it; memory: they are asked of memory like anything else; default: "
             "base, where the delta can tell them",
             {"base", "memory"})
      ->group(kMemoryGroup);
  command
      .add_option("--recall-chunks", options.recall_chunks,
                  "with --recall oracle: the writes to recall first, by number")
      ->group(kMemoryGroup)
      ->type_name("N,…")
      ->delimiter(',');
}

}  // namespace

void add_memory_options(CLI::App& command, MemoryOptions& options, const std::string& file_help) {
  command
      .add_option("--session", options.session,
                  file_help + ", in the store of sessions; none: it ends with the process")
      ->group(kMemoryGroup)
      ->type_name("NAME");
  command.add_option("--memory", options.file, "instead of a session: a memory in one file")
      ->group(kMemoryGroup)
      ->type_name("FILE");
  add_recall_options(command, options);
  add_checking_options(command, options);
}

MemoryType memory_type_of(const std::string& name) {
  if (name.empty()) return kNewMemory;
  if (name == "f32") return {.dtype = DType::f32};
  return {.long_term = row_format_from_name(name).value_or(RowFormat::plain)};
}

CLI::Option* add_memory_type_option(CLI::App& command, std::string& name, const std::string& help) {
  return add_choice(command, "--memory-dtype", name, help, {"bf16", "f32", "int8", "int4"});
}

void add_new_memory_options(CLI::App& command, MemoryOptions& options) {
  const std::string group = "New memory (an existing file keeps what it was begun with)";
  add_memory_type_option(
      command, options.dtype,
      "element type of a new memory; int8, int4: of its long-term rows, the rest is bf16; default: int8")
      ->group(group);
  command
      .add_option("--ltm-capacity", options.ltm_capacity,
                  "rows a layer keeps for the long term (M); default: as the delta says")
      ->group(group)
      ->type_name("N|unlimited")
      ->check(check_capacity, "");
  command
      .add_flag("--keep-hidden", options.keep_hidden,
                "keep hidden states too, for export to the published layout")
      ->group(group);
}

void add_answer_options(CLI::App& command, AnswerOptions& options) {
  const std::string group = "Sampling";
  const auto add = [&](const std::string& name, auto& value, const std::string& help,
                       const std::string& type) {
    return command.add_option(name, value, help)->group(group)->type_name(type)->capture_default_str();
  };
  add("-n,--max-tokens", options.max_tokens, "longest answer, in tokens", "N")
      ->check(at_least<std::int64_t>(0));
  add("--temp", options.sampling.temperature, "0: always the likeliest token", "T")
      ->check(CLI::Range(0.0, 100.0).description(""));
  add("--top-k", options.sampling.top_k, "only the k likeliest tokens; 0: all", "K")
      ->check(at_least<std::int64_t>(0));
  add("--top-p", options.sampling.top_p, "only the likeliest tokens that make up this much", "P")
      ->check(CLI::Range(0.0, 1.0).description(""));
  add("--min-p", options.sampling.min_p, "no token below this share of the likeliest one's", "P")
      ->check(CLI::Range(0.0, 1.0).description(""));
  add("--repeat-penalty", options.sampling.repetition_penalty, "above 1: makes repetition less likely", "X")
      ->check(CLI::Range(0.01, 100.0).description(""));
  command.add_option("--stop", options.stop, "end before this text; may be given several times")
      ->group(group)
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
}

void add_reread_option(CLI::App& command, std::int64_t& chunks) {
  command
      .add_option(
          "--reread", chunks,
          "put the text of the N passages that fit best in front of the question, as far as the window "
          "has room")
      ->group(kMemoryGroup)
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000).description(""));
}

void add_seed_option(CLI::App& command, std::uint64_t& seed) {
  command.add_option("-s,--seed", seed, "of everything random: sampling, and what a new memory drops")
      ->type_name("N")
      ->capture_default_str();
}

void add_json_option(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "report in JSON, one object a line");
}

engine::GenerateOptions generate_options(const AnswerOptions& answer, const MemoryOptions& memory,
                                         std::uint64_t seed) {
  engine::GenerateOptions options;
  options.max_tokens = answer.max_tokens;
  options.sampling = answer.sampling;
  options.sampling.seed = seed;
  options.stop = answer.stop;
  options.recall.rule = recall_rule_from_name(memory.recall);
  if (!memory.recall_over.empty()) options.recall.over_everything = memory.recall_over == "everything";
  options.recall.margin = memory.recall_margin;
  options.recall.read_over = read_over_from_name(memory.read_over);
  options.recall.search = search_from_name(memory.search);
  options.recall.evidence = evidence_from_name(memory.evidence);
  options.recall.hops = memory.hops;
  options.recall.talk = talk_from_name(memory.talk);
  options.recall.words_weight = memory.words_weight;
  options.oracle_chunks = memory.recall_chunks;
  options.recall_seed = seed;
  return options;
}

std::vector<io::TokenId> parse_ids(const std::string& list) {
  const std::string text = list == "-" ? read_standard_input() : list;
  std::vector<io::TokenId> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  const auto separates = [](char c) { return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  for (;;) {
    while (at != end && separates(*at)) ++at;
    if (at == end) return ids;
    io::TokenId id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc{} || (next != end && !separates(*next))) {
      const char* word_end = std::find_if(at, end, separates);
      throw UsageError(fmt::format("--ids: expected token ids, found {}", io::shown({at, word_end})));
    }
    ids.push_back(id);
    at = next;
  }
}

}  // namespace mplus::cli
