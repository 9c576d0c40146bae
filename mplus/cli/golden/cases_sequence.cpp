// Sequences of updates with recorded drops, then reads: M+ with its long-term store, and MemoryLLM without.
#include <algorithm>

#include "mplus/cli/golden/cases.h"
#include "mplus/core/error.h"
#include "mplus/kernels/rows/convert.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::golden {
namespace {

// Reference files number births from 1 for the first row written, this program from 0.
std::vector<std::int64_t> from_reference(std::vector<std::int64_t> births) {
  for (std::int64_t& b : births) --b;
  return births;
}

std::vector<float> short_term_hidden(const memory::Memory& memory) {
  std::vector<float> all;
  for (std::int64_t l = 0; l < memory.layout().layers; ++l) {
    const std::vector<float> layer = slot_states(memory, l);
    all.insert(all.end(), layer.begin(), layer.end());
  }
  return all;
}

std::vector<float> tails(const memory::Memory& memory) {
  std::vector<float> all;
  for (std::int64_t l = 0; l < memory.layout().layers; ++l)
    all.insert(all.end(), memory.tail(l).begin(), memory.tail(l).end());
  return all;
}

std::vector<std::int64_t> store_births(const memory::Memory& memory, std::int64_t layer) {
  std::vector<std::int64_t> births;
  memory.long_term().for_each(layer, [&](memory::RowId, std::int64_t birth) { births.push_back(birth); });
  std::sort(births.begin(), births.end());
  return births;
}

// Retriever keys of the slots that will be dropped, in the order of the record.
std::vector<float> keys_of(const memory::Memory& memory, const memory::Drops& drops) {
  const std::int64_t d_r = memory.layout().retriever;
  std::vector<float> keys;
  for (std::size_t l = 0; l < drops.size(); ++l) {
    const memory::RowsView rows = memory.short_term(static_cast<std::int64_t>(l));
    for (std::int64_t row : drops[l]) {
      const auto* key = reinterpret_cast<const float*>(rows.key_row(memory.layout(), row));
      keys.insert(keys.end(), key, key + d_r);
    }
  }
  return keys;
}

// An update that was applied to two memories, one of them with a small store.
struct Applied {
  const memory::Memory &memory, &small;
  const memory::Drops& drops;
  const std::vector<std::vector<std::int64_t>>& before;  // births of the slots
};

void check_births(const Json& spec, const Applied& update, const std::string& name, Report& report) {
  const auto& [memory, small, drops, before] = update;
  for (std::size_t l = 0; l < drops.size(); ++l) {
    const memory::RowsView slots = memory.short_term(static_cast<std::int64_t>(l));
    report.equal(fmt::format("{}: births of layer {}'s slots", name, l), {slots.birth, slots.birth + slots.n},
                 from_reference(integer_list(spec.at("stm_births").at(l))));
    std::vector<std::int64_t> dropped;
    for (std::int64_t slot : drops[l]) dropped.push_back(before[l][static_cast<std::size_t>(slot)]);
    report.equal(fmt::format("{}: births dropped in layer {}", name, l), dropped,
                 from_reference(integer_list(spec.at("dropped_births").at(l))));
    report.equal(fmt::format("{}: births in layer {}'s full store", name, l),
                 store_births(small, static_cast<std::int64_t>(l)),
                 from_reference(integer_list(spec.at("ltm_births_M_small").at(l))));
  }
}

std::vector<std::vector<std::int64_t>> slot_births(const memory::Memory& memory) {
  std::vector<std::vector<std::int64_t>> births;
  for (std::int64_t l = 0; l < memory.layout().layers; ++l) {
    const memory::RowsView slots = memory.short_term(l);
    births.emplace_back(slots.birth, slots.birth + slots.n);
  }
  return births;
}

void apply_updates(GoldenModel& model, const CaseFolder& folder, memory::Memory& memory,
                   memory::Memory& small, Report& report) {
  std::size_t u = 0;
  for (const Json& update : folder.json().at("updates")) {
    const std::string name = fmt::format("u{}", u++);
    const auto tokens = token_list(update.at("tokens"));
    const memory::Drops drops = integer_lists(update.at("dropped"));
    if (folder.has(name + ".dropped_keys"))
      report.close(name + ".dropped_keys", keys_of(memory, drops), folder.expected(name + ".dropped_keys"),
                   folder.tolerance("state"));
    const auto before = slot_births(memory);
    memory::Memory* const both[] = {&memory, &small};
    model.update(tokens, both, &drops);
    report.close(name + ".delta", tails(memory), folder.expected(name + ".delta"), folder.tolerance("state"));
    report.close(name + ".stm", short_term_hidden(memory), folder.expected(name + ".stm"),
                 folder.tolerance("state"));
    if (update.contains("spec"))
      check_births(update.at("spec"), {memory, small, drops, before}, name, report);
  }
}

void check_store(const CaseFolder& folder, const memory::Memory& memory, const std::string& name,
                 Report& report) {
  const memory::Layout& layout = memory.layout();
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const std::string hidden_name = fmt::format("{}.ltm.{}", name, l);
    if (!folder.has(hidden_name)) return;
    std::vector<std::pair<std::int64_t, memory::RowId>> rows;
    memory.long_term().for_each(l,
                                [&](memory::RowId id, std::int64_t birth) { rows.emplace_back(birth, id); });
    std::sort(rows.begin(), rows.end());
    std::vector<float> hidden, keys;
    for (const auto& [birth, id] : rows) {
      const memory::RowsView view = memory.long_term().rows_of(l, id);
      const float* h = view.hidden + id.row * layout.hidden;
      const float* key = reinterpret_cast<const float*>(view.key) + id.row * layout.retriever;
      hidden.insert(hidden.end(), h, h + layout.hidden);
      keys.insert(keys.end(), key, key + layout.retriever);
    }
    report.close(hidden_name, hidden, folder.expected(hidden_name), folder.tolerance("state"));
    report.close(fmt::format("{}.ltm_keys.{}", name, l), keys,
                 folder.expected(fmt::format("{}.ltm_keys.{}", name, l)), folder.tolerance("state"));
  }
}

// Scores are listed by row; births say which row is which.
void check_scores(const CaseFolder& folder, const Json& read, const memory::Memory& memory,
                  const ReadRun& run, Report& report) {
  const auto name = read.at("name").get<std::string>();
  for (std::size_t l = 0; l < run.scores.size(); ++l) {
    const std::string tensor = fmt::format("{}.scores.{}", name, l);
    if (!folder.has(tensor)) continue;
    std::vector<std::pair<std::int64_t, float>> found;
    std::size_t i = 0;
    memory.long_term().for_each(static_cast<std::int64_t>(l), [&](memory::RowId, std::int64_t birth) {
      found.emplace_back(birth, run.scores[l][i++]);
    });
    const auto births = from_reference(integer_list(read.at("row_births").at(l)));
    const auto expected = folder.expected(tensor);
    std::vector<float> found_in_order;
    for (std::int64_t birth : births) {
      const auto at =
          std::find_if(found.begin(), found.end(), [&](const auto& f) { return f.first == birth; });
      if (at != found.end()) found_in_order.push_back(at->second);
    }
    report.close(tensor, found_in_order, expected, folder.tolerance("scores"));
  }
}

void check_read(GoldenModel& model, const CaseFolder& folder, const Json& read, const memory::Memory& memory,
                Report& report) {
  const auto name = read.at("name").get<std::string>();
  std::vector<std::vector<std::int64_t>> recorded;
  if (read.contains("retrieved_births"))
    for (const Json& layer : read.at("retrieved_births"))
      recorded.push_back(from_reference(integer_list(layer)));
  const bool replay = !read.value("spec_should_match", true);
  const auto recall = replay ? memory::recall_births(recorded) : memory::make_recall({RecallRule::per_layer});
  const ReadRun run = run_read(model, {.memory = &memory,
                                       .recall = recall.get(),
                                       .tokens = token_list(read.at("tokens")),
                                       .steps = static_cast<std::int64_t>(read.at("greedy").size())});
  report.close(name + ".logits", run.logits, folder.expected(name + ".logits"), folder.tolerance("logits"));
  report.close(name + ".gen_logits", run.gen_logits, folder.expected(name + ".gen_logits"),
               folder.tolerance("logits"));
  report.equal(name + ".greedy", run.greedy, integer_list(read.at("greedy")));
  for (std::size_t l = 0; l < recorded.size(); ++l)
    report.equal(fmt::format("{}: births recalled in layer {}", name, l), run.recalled_births[l],
                 recorded[l]);
  if (read.contains("row_births")) check_scores(folder, read, memory, run, report);
}

}  // namespace

void run_sequence(const CaseFolder& folder, Report& report) {
  GoldenModel model({.model = folder.path() / "model", .delta = {}}, {.device = folder.device()});
  memory::Memory memory = model.memory();
  memory::Memory small = model.memory(folder.json().value("M_small", memory::kUnlimited));
  apply_updates(model, folder, memory, small, report);
  check_store(folder, memory, "spec_unlimited", report);
  for (const Json& read : folder.json().at("reads")) {
    const bool limited = read.at("name").get<std::string>() == "spec_M_small";
    check_read(model, folder, read, limited ? small : memory, report);
  }
}

}  // namespace mplus::golden
