// Recall by consensus in isolation, and a trained delta end to end on the real base model.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "mplus/cli/golden/cases.h"
#include "mplus/core/error.h"
#include "mplus/core/file.h"
#include "mplus/engine/sampler.h"
#include "mplus/io/dequantise.h"
#include "mplus/memory/vote.h"
#include "mplus/model/write_pass.h"

namespace mplus::golden {
namespace {

struct Question {
  std::vector<io::TokenId> window;
  std::int64_t answer_starts = 0;
};

struct Reading {
  std::vector<double> answer_nll;
  std::vector<std::vector<std::int64_t>> births;
  memory::Votes votes;
};

Reading read_question(GoldenModel& model, const memory::Memory& memory, const Question& q,
                      memory::RecallRule rule) {
  model::Workspace& w = model.workspace();
  const auto recall = memory::make_recall(rule);
  model::AttentionCache cache(model.weights().config.layers, w.kv_shape());
  model::ReadItem item{.tokens = q.window,
                       .cache = &cache,
                       .memory = &memory,
                       .recall = recall.get(),
                       .scouts_end = q.answer_starts,
                       .logits_from = q.answer_starts - 1};
  Reading reading;
  if (recall->wants_scout()) {
    // The question alone scouts: the answer is not known when it is asked.
    model::ReadItem asking = item;
    asking.tokens = std::span(q.window).first(static_cast<std::size_t>(q.answer_starts));
    const model::ScoutStates scout = model::scout_pass(w, asking, model::Adapter::read);
    recall->plan(w.context(), memory, scout.layers, nullptr);
    reading.votes = *recall->votes();
  }
  model::read_pass(w, {&item, 1}, model::Adapter::read,
                   [&](std::size_t, std::int64_t t, std::span<const float> logits) {
                     const auto next = static_cast<std::size_t>(t + 1);
                     if (next < q.window.size())
                       reading.answer_nll.push_back(engine::negative_log_likelihood(logits, q.window[next]));
                   });
  for (const auto& rows : cache.recalled()) {
    auto& births = reading.births.emplace_back();
    for (const memory::RecalledRow& row : rows) births.push_back(row.birth);
  }
  return reading;
}

// Recorded drops are births; the slots that hold them differ from layer to layer.
memory::Drops slots_of_births(const memory::Memory& memory, const io::Tensor& tensor, std::int64_t update) {
  const memory::Layout& layout = memory.layout();
  const auto* births = reinterpret_cast<const std::int32_t*>(tensor.bytes.data());
  memory::Drops drops(static_cast<std::size_t>(layout.layers));
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView slots = memory.short_term(l);
    for (std::int64_t i = 0; i < layout.K; ++i) {
      const std::int64_t birth = births[(update * layout.layers + l) * layout.K + i];
      const auto* at = std::find(slots.birth, slots.birth + slots.n, birth);
      if (at == slots.birth + slots.n)
        fail(ErrorCode::corrupt, "recorded drop {}: no such birth in layer {}", birth, l);
      drops[static_cast<std::size_t>(l)].push_back(at - slots.birth);
    }
    std::sort(drops[static_cast<std::size_t>(l)].begin(), drops[static_cast<std::size_t>(l)].end());
  }
  return drops;
}

memory::Memory write_chunks(GoldenModel& model, const Json& c, const io::Safetensors& recorded) {
  memory::Memory memory = model.memory();
  const io::Tensor& births = recorded.at("dropped_births." + c.at("name").get<std::string>());
  std::int64_t dropping = 0;
  for (const Json& chunk : c.at("chunks")) {
    const auto tokens = token_list(chunk);
    memory::Drops drops;
    const bool drops_now = memory.drop_count(0, memory.layout().K) > 0;
    if (drops_now) drops = slots_of_births(memory, births, dropping++);
    const model::Injection injection{tokens, &memory, drops_now ? &drops : nullptr};
    model::inject(model.workspace(), {&injection, 1});
  }
  return memory;
}

void check_nll(const Json& expected, const Reading& found, const std::string& name, const RealModel& files,
               Report& report) {
  const auto nll = expected.at("answer_nll").get<std::vector<double>>();
  if (!files.exact()) {
    const double sum = std::accumulate(found.answer_nll.begin(), found.answer_nll.end(), 0.0);
    return report.close(name + ": mean nll of the answer", sum / static_cast<double>(nll.size()),
                        expected.at("mean").get<double>(), files.nll_tolerance);
  }
  for (std::size_t i = 0; i < nll.size(); ++i)
    report.close(fmt::format("{}: nll of answer token {}", name, i), found.answer_nll.at(i), nll[i],
                 files.nll_tolerance);
}

void check_recalled(const Json& births, const Reading& found, const std::string& name, Report& report) {
  for (const auto& [layer, expected] : births.items())
    report.equal(fmt::format("{}: births recalled in layer {}", name, layer),
                 found.births.at(static_cast<std::size_t>(std::stoll(layer))), integer_list(expected));
}

void check_votes(const Json& c, const Reading& found, const std::string& name, const RealModel& files,
                 Report& report) {
  const auto votes = c.at("votes").get<std::vector<double>>();
  for (std::size_t u = 0; files.exact() && u < votes.size(); ++u)
    report.close(fmt::format("{}: vote of chunk {}", name, u), found.votes[static_cast<std::int64_t>(u)],
                 votes[u], files.nll_tolerance);
  report.equal(name + ": best chunk", {found.votes.order().at(0)}, {integer_list(c.at("chunk_order")).at(0)});
}

void check_delta_case(GoldenModel& model, const Json& c, const io::Safetensors& recorded,
                      const RealModel& files, Report& report) {
  const auto name = c.at("name").get<std::string>();
  const memory::Memory memory = write_chunks(model, c, recorded);
  const memory::Memory empty = model.memory();
  const auto means = c.at("newest_tokens_layer_mean_abs").get<std::vector<double>>();
  for (std::size_t l = 0; l < means.size(); ++l) {
    double sum = 0;
    const auto tail = memory.tail(static_cast<std::int64_t>(l));
    for (float h : tail) sum += std::abs(static_cast<double>(h));
    report.close(fmt::format("{}: mean |h| of the newest tokens in layer {}", name, l),
                 sum / static_cast<double>(tail.size()), means[l],
                 files.exact() ? files.nll_tolerance : 0.01 * means[l]);
  }
  const Question q{token_list(c.at("window")), c.at("answer_starts").get<std::int64_t>()};
  const auto read = [&](const memory::Memory& m, memory::RecallRule rule) {
    return read_question(model, m, q, rule);
  };
  check_nll(c.at("no_memory"), read(empty, memory::RecallRule::none), name + ".no_memory", files, report);
  check_nll(c.at("short_term_only"), read(memory, memory::RecallRule::none), name + ".short_term_only", files,
            report);
  if (c.contains("per_layer_recall")) {
    const Reading found = read(memory, memory::RecallRule::per_layer);
    check_nll(c.at("per_layer_recall"), found, name + ".per_layer_recall", files, report);
    if (files.exact())
      check_recalled(c.at("per_layer_recalled_births"), found, name + ".per_layer_recall", report);
  }
  if (c.contains("consensus_recall")) {
    const Reading found = read(memory, memory::RecallRule::consensus);
    check_nll(c.at("consensus_recall"), found, name + ".consensus_recall", files, report);
    check_votes(c, found, name, files, report);
    if (files.exact())
      check_recalled(c.at("consensus_recalled_births"), found, name + ".consensus_recall", report);
  }
}

}  // namespace

void run_delta(const std::filesystem::path& folder, const RealModel& files, Report& report) {
  const Json json = Json::parse(read_text_file(folder / "golden.json"));
  const io::Safetensors recorded = io::Safetensors::open(folder / "golden_drops.safetensors");
  GoldenModel model({.model = files.model, .delta = files.delta}, {}, {.dtype = files.memory_dtype},
                    files.numerics);
  for (const Json& c : json.at("cases")) {
    const auto name = c.at("name").get<std::string>();
    const bool wanted =
        files.cases.empty() || std::find(files.cases.begin(), files.cases.end(), name) != files.cases.end();
    if (wanted) check_delta_case(model, c, recorded, files, report);
  }
}

void run_consensus(const CaseFolder& folder, Report& report) {
  std::size_t number = 0;
  for (const Json& c : folder.json().at("cases")) {
    const std::string name = fmt::format("case {}", number++);
    const auto K = c.at("K").get<std::int64_t>();
    std::vector<std::vector<std::int64_t>> births;
    std::vector<std::vector<float>> scores;
    std::vector<memory::LayerScores> layers;
    for (const Json& layer : c.at("layers")) {
      births.push_back(integer_list(layer.at("births")));
      scores.push_back(layer.at("scores").get<std::vector<float>>());
    }
    for (std::size_t l = 0; l < births.size(); ++l) layers.emplace_back(births[l], scores[l]);
    const auto order = integer_list(c.at("chunk_order"));
    const memory::Votes votes = memory::vote(layers, K, *std::max_element(order.begin(), order.end()));
    for (const auto& [chunk, expected] : c.at("votes").items())
      report.close(fmt::format("{}: vote of chunk {}", name, chunk), votes[std::stoll(chunk)],
                   expected.get<double>(), 1e-6);
    report.equal(name + ": order", votes.order(), order);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      std::vector<std::int64_t> found;
      for (std::int64_t row :
           memory::take_by_chunk(layers[l], votes.order(), K, c.at("K0").get<std::int64_t>()))
        found.push_back(births[l][static_cast<std::size_t>(row)]);
      report.equal(fmt::format("{}: births recalled in layer {}", name, l), found,
                   integer_list(c.at("recalled").at(l)));
    }
  }
}

}  // namespace mplus::golden
