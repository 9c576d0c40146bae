// Write and read passes over the memory a published checkpoint brings.
#include <algorithm>

#include "mplus/cli/golden/cases.h"
#include "mplus/core/error.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::golden {
namespace {

void check_inject(GoldenModel& model, const CaseFolder& folder, const std::string& prefix, Report& report) {
  memory::Memory memory = model.memory();
  for (const Json& chunk : folder.json().at("chunks")) {
    const std::string name = prefix + "delta." + chunk.at("name").get<std::string>();
    if (!folder.has(name)) continue;
    const auto tokens = token_list(chunk.at("tokens"));
    const model::WriteItem item{tokens, &memory};
    const auto written = model::write_pass(model.workspace(), {&item, 1});
    report.close(name, stacked(written[0]), folder.expected(name), folder.tolerance("state"));
  }
}

// The first `rows` long-term rows of every layer, as a store of their own.
memory::LongTermStore first_rows(const memory::Memory& memory, std::int64_t rows) {
  memory::LongTermStore store(memory.layout());
  for (const memory::SegmentUse& use : memory.long_term().segments()) {
    std::vector<std::int64_t> used = use.used;
    for (std::int64_t& n : used) n = std::min(n, rows);
    store.adopt(use.segment, used);
  }
  return store;
}

std::vector<std::vector<std::int64_t>> births_of_rows(const memory::Memory& memory,
                                                      const std::vector<std::vector<std::int64_t>>& rows) {
  std::vector<std::vector<std::int64_t>> births(rows.size());
  for (std::size_t l = 0; l < rows.size(); ++l)
    for (std::int64_t row : rows[l])
      births[l].push_back(
          memory.long_term().birth(static_cast<std::int64_t>(l), {0, static_cast<std::uint32_t>(row)}));
  return births;
}

void check_run(const CaseFolder& folder, const Json& read, const ReadRun& run, Report& report) {
  const auto name = read.at("name").get<std::string>();
  report.close(name + ".logits", run.logits, folder.expected(name + ".logits"), folder.tolerance("logits"));
  report.close(name + ".gen_logits", run.gen_logits, folder.expected(name + ".gen_logits"),
               folder.tolerance("logits"));
  report.equal(name + ".greedy", run.greedy, integer_list(read.at("greedy")));
  for (std::size_t l = 0; l < run.scores.size(); ++l) {
    const std::string scores = fmt::format("{}.scores.{}", name, l);
    if (folder.has(scores) && !run.scores[l].empty())
      report.close(scores, run.scores[l], folder.expected(scores), folder.tolerance("scores"));
  }
}

}  // namespace

void run_inject(const CaseFolder& folder, Report& report) {
  GoldenModel model({.model = folder.path() / "model", .delta = {}}, {.device = folder.device()});
  check_inject(model, folder, "", report);
  GoldenModel rounded({.model = folder.path() / "model", .delta = {}},
                      {.rope = {.bf16_frequencies = true}, .device = folder.device()});
  check_inject(rounded, folder, "bf16_inv_freq.", report);
  for (const char* form : {"model_sharded"}) {
    if (!std::filesystem::exists(folder.path() / form)) continue;
    GoldenModel sharded({.model = folder.path() / form, .delta = {}}, {.device = folder.device()});
    check_inject(sharded, folder, "", report);
  }
}

void run_reads(const CaseFolder& folder, Report& report) {
  const std::filesystem::path path = folder.path() / "model";
  GoldenModel plain({.model = path, .delta = {}}, {.device = folder.device()});
  GoldenModel rounded({.model = path, .delta = {}},
                      {.rope = {.bf16_frequencies = true}, .device = folder.device()});
  for (const Json& read : folder.json().at("reads")) {
    const auto name = read.at("name").get<std::string>();
    const bool bf16 = name.starts_with("bf16_inv_freq");
    GoldenModel& model = bf16 ? rounded : plain;
    memory::Memory memory = model.memory();
    memory.load_long_term(first_rows(memory, read.value("ltm_rows", memory.long_term().size(0))));
    const auto recorded =
        births_of_rows(memory, read.contains("retrieved") ? integer_lists(read.at("retrieved"))
                                                          : std::vector<std::vector<std::int64_t>>{});
    // Reads that do not follow the rules repeat rows: they are replayed as recorded.
    const bool replay = !bf16 && !read.value("spec_should_match", true);
    const auto recall =
        replay ? memory::recall_births(recorded) : memory::make_recall({RecallRule::per_layer});
    const ReadRun run = run_read(model, {.memory = &memory,
                                         .recall = recall.get(),
                                         .tokens = token_list(read.at("tokens")),
                                         .steps = static_cast<std::int64_t>(read.at("greedy").size())});
    check_run(folder, read, run, report);
    for (std::size_t l = 0; l < recorded.size(); ++l)
      report.equal(fmt::format("{}: rows recalled in layer {}", name, l), run.recalled_births[l],
                   recorded[l]);
  }
}

CaseFunction find_case(std::string_view kind) {
  if (kind == "delta") return run_delta;
  const auto tiny = [](void (*run)(const CaseFolder&, Report&)) -> CaseFunction {
    return [run](const CaseFolder& folder, const RealModel&, Report& report) { run(folder, report); };
  };
  if (kind == "mplus_inject") return tiny(run_inject);
  if (kind == "mplus_read") return tiny(run_reads);
  if (kind == "mplus_sequence" || kind == "memoryllm_read") return tiny(run_sequence);
  if (kind == "llama3_rope" || kind == "decoder") return tiny(run_decoder);
  if (kind == "retriever_loss") return tiny(run_retriever_loss);
  if (kind == "train_step") return tiny(run_train_step);
  if (kind == "consensus") return tiny(run_consensus);
  return {};
}

}  // namespace mplus::golden
