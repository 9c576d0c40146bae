// A trained delta end to end on the real base model: streams of writes with recorded drops, and questions
// asked in between under every rule of recall (tools/golden makes the cases).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "mplus/cli/golden/cases.h"
#include "mplus/cli/golden/question_reading.h"
#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::golden {
namespace {

class DeltaCase {
 public:
  DeltaCase(const CaseFolder& folder, const RealModel& files, Report& report)
      : folder_(folder),
        files_(files),
        report_(report),
        model_(
            {.model = files.model, .delta = files.delta},
            {.memory = {.dtype = files.memory_dtype}, .numerics = files.numerics, .device = files.device}) {}

  void run_stream(const Json& stream) {
    name_ = stream.at("name").get<std::string>();
    memory::Memory memory = model_.memory();
    std::int64_t written = 0;
    for (const Json& chunk : stream.at("chunks")) {
      const auto tokens = token_list(chunk);
      const std::string drops_name = fmt::format("drops.{}.{}", name_, written);
      memory::Drops drops;
      if (folder_.has(drops_name)) drops = slots_of_births(memory, births_of(drops_name));
      memory::Memory* const written_to[] = {&memory};
      model_.update(tokens, written_to, drops.empty() ? nullptr : &drops);
      ++written;
      for (const Json& state : stream.at("states"))
        if (state.at("after") == written) check_state(state, memory);
      for (const Json& question : stream.at("questions"))
        if (question.at("after") == written) check_question(question, memory);
    }
  }

 private:
  bool exact() const { return !files_.nll_tolerance; }

  // [rows] of births; the recorder filled short ones up with −1.
  std::vector<Births> births_of(const std::string& tensor) const {
    const io::Tensor& found = folder_.tensor(tensor);
    if (found.dtype != DType::i32 || found.shape.size() != 2)
      fail(ErrorCode::corrupt, "{}: not a table of I32", tensor);
    const auto* value = reinterpret_cast<const std::int32_t*>(found.bytes.data());
    std::vector<Births> births(static_cast<std::size_t>(found.shape[0]));
    for (Births& row : births)
      for (std::int64_t i = 0; i < found.shape[1]; ++i, ++value)
        if (*value >= 0) row.push_back(*value);
    return births;
  }

  // Recorded drops are births; the slots that hold them differ from layer to layer.
  memory::Drops slots_of_births(const memory::Memory& memory, const std::vector<Births>& births) const {
    memory::Drops drops;
    for (std::int64_t l = 0; l < memory.layout().layers; ++l) {
      const memory::RowsView slots = memory.short_term(l);
      auto& dropped = drops.emplace_back();
      for (const std::int64_t birth : births.at(static_cast<std::size_t>(l))) {
        const auto* at = std::find(slots.birth, slots.birth + slots.n, birth);
        if (at == slots.birth + slots.n)
          fail(ErrorCode::corrupt, "{}: recorded drop {}: no such birth in layer {}", name_, birth, l);
        dropped.push_back(at - slots.birth);
      }
      std::sort(dropped.begin(), dropped.end());
    }
    return drops;
  }

  void check_state(const Json& state, const memory::Memory& memory) {
    const std::string at = fmt::format("{}.{}", name_, state.at("after").get<std::int64_t>());
    const auto means = state.at("mean_abs").get<std::vector<double>>();
    std::vector<float> sample;
    for (std::size_t l = 0; l < means.size(); ++l) {
      const auto tail = memory.tail(static_cast<std::int64_t>(l));
      double sum = 0;
      for (const float h : tail) sum += std::abs(static_cast<double>(h));
      report_.close(fmt::format("{}: mean |h| of the newest tokens in layer {}", at, l),
                    sum / static_cast<double>(tail.size()), means[l],
                    exact() ? folder_.tolerance("mean_abs") : 0.01 * means[l]);
      append_sample(tail, memory.layout().hidden, sample);
    }
    if (exact())
      report_.close(at + ".tail", sample, folder_.expected("tail." + at), folder_.tolerance("state"));
    const auto layers = integer_list(folder_.json().at("checked_layers"));
    const auto slots = births_of("short_births." + at), stored = births_of("long_births." + at);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const memory::RowsView rows = memory.short_term(layers[i]);
      report_.equal(fmt::format("{}: births in layer {}'s slots", at, layers[i]),
                    Births(rows.birth, rows.birth + rows.n), slots.at(i));
      Births found;
      memory.long_term().for_each(layers[i],
                                  [&](memory::RowId, std::int64_t birth) { found.push_back(birth); });
      std::sort(found.begin(), found.end());
      Births expected = stored.at(i);
      std::sort(expected.begin(), expected.end());
      report_.equal(fmt::format("{}: births in layer {}'s store", at, layers[i]), found, expected);
    }
  }

  // Four rows of the tail, every thirteenth value.
  static void append_sample(std::span<const float> tail, std::int64_t hidden, std::vector<float>& sample) {
    constexpr std::int64_t kRows = 4, kColumn = 13;
    const std::int64_t n = std::ssize(tail) / hidden, step = std::max<std::int64_t>(1, n / kRows);
    for (std::int64_t row = 0; row < n; row += step)
      for (std::int64_t column = 0; column < hidden; column += kColumn)
        sample.push_back(tail[static_cast<std::size_t>(row * hidden + column)]);
  }

  void check_question(const Json& json, const memory::Memory& memory) {
    const Question question{json.at("name").get<std::string>(), token_list(json.at("window")),
                            json.at("answer_starts").get<std::int64_t>()};
    const memory::Memory empty = model_.memory();
    const Json& reads = json.at("reads");
    for (const auto& [name, expected] : reads.items()) {
      const std::string what = fmt::format("{}.{}.{}", name_, question.name, name);
      const Way way = way_named(name, model_.weights());
      Given given{.rows = {}, .steps = expected.at("greedy").size()};
      if (exact() && way.policy.rule != RecallRule::none) given.rows = rows_of(what, way);
      const Reading found = read_question(model_, way.has_memory ? memory : empty, question, way, given);
      check_nll(what, expected, found);
      if (expected.contains("votes")) check_votes(what, expected, found.votes);
      if (!exact()) continue;
      check_logits(what, expected, found);
      if (!given.rows.empty()) check_rows(what, expected, found, given.rows);
      if (name.starts_with("turn_")) {
        report_.close(what + ": behind", found.behind, expected.at("behind").get<double>(),
                      folder_.tolerance("behind"));
        const bool another = reads.contains(fmt::format("turn_{}", way.attempt + 1));
        report_.equal(what + ": another attempt", {found.has_next}, {another});
      }
    }
  }

  void check_nll(const std::string& what, const Json& expected, const Reading& found) {
    const auto nll = expected.at("answer_nll").get<std::vector<double>>();
    if (exact()) {
      for (std::size_t i = 0; i < nll.size(); ++i)
        report_.close(fmt::format("{}: nll of answer token {}", what, i), found.answer_nll.at(i), nll[i],
                      folder_.tolerance("nll"));
      return;
    }
    const auto mean = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    };
    report_.close(what + ": mean nll of the answer", mean(found.answer_nll), mean(nll),
                  *files_.nll_tolerance);
  }

  void check_logits(const std::string& what, const Json& expected, const Reading& found) {
    const auto ids = integer_list(expected.at("logit_ids"));
    std::vector<float> logits;
    logits.reserve(ids.size());
    for (const std::int64_t id : ids) logits.push_back(found.logits.at(static_cast<std::size_t>(id)));
    report_.close(what + ": logits", logits, expected.at("logits").get<std::vector<float>>(),
                  folder_.tolerance("logits"));
    // Up to the first near-tie.
    const auto gaps = expected.at("greedy_gap").get<std::vector<double>>();
    const auto near = std::find_if(gaps.begin(), gaps.end(),
                                   [&](double gap) { return gap < 2 * folder_.tolerance("logits"); });
    const auto sure = near - gaps.begin();
    Births greedy = integer_list(expected.at("greedy"));
    greedy.resize(static_cast<std::size_t>(sure));
    report_.equal(what + ": greedy", {found.greedy.begin(), found.greedy.begin() + sure}, greedy);
  }

  // Chunks in order as far as votes tell them apart; without exact arithmetic the best one alone.
  void check_votes(const std::string& what, const Json& expected, const memory::Votes& found) {
    const auto votes = expected.at("votes").get<std::vector<double>>();
    const auto order = integer_list(expected.at("order"));
    for (std::size_t u = 0; exact() && u < votes.size(); ++u)
      report_.close(fmt::format("{}: vote of chunk {}", what, u), found[static_cast<std::int64_t>(u)],
                    votes[u], folder_.tolerance("votes"));
    const double needed = exact() ? 2 * folder_.tolerance("votes") : kClearLead;
    const auto vote = [&](std::size_t place) { return votes.at(static_cast<std::size_t>(order.at(place))); };
    std::size_t sure = 0;
    while (sure + 1 < order.size() && vote(sure) - vote(sure + 1) > needed && (exact() || sure == 0)) ++sure;
    Births held = found.order();
    std::erase_if(held,
                  [&](std::int64_t u) { return std::find(order.begin(), order.end(), u) == order.end(); });
    held.resize(std::min(held.size(), sure));
    report_.equal(what + ": chunks in order", held,
                  {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(sure)});
  }

  // As the reference recalled them: [L], or [2·L] with those of short-term memory.
  std::vector<Births> rows_of(const std::string& what, const Way& way) const {
    const auto layers = model_.weights().layers.size();
    const auto recorded = [&](const char* kind) {
      const std::string tensor = fmt::format("{}.{}", kind, what);
      return folder_.has(tensor) ? births_of(tensor) : std::vector<Births>(layers);
    };
    std::vector<Births> rows = recorded("recalled");
    if (way.policy.read_over == ReadOver::everything) return rows;
    const auto seen = recorded("short");
    rows.insert(rows.end(), seen.begin(), seen.end());
    return rows;
  }

  // Rows whose scores are all but equal at the cut are contested: either may be there.
  void check_rows(const std::string& what, const Json& expected, const Reading& found,
                  const std::vector<Births>& wanted) {
    const std::size_t layers = found.recalled.size();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t l = i % layers;
      const Json contested = expected.at("contested").value(std::to_string(l), Json::array());
      const auto sure = [&](Births births) {
        std::erase_if(births, [&](std::int64_t birth) {
          return std::find(contested.begin(), contested.end(), birth) != contested.end();
        });
        return births;
      };
      const Births& rows = i < layers ? found.recalled[l] : found.seen[l];
      report_.equal(
          fmt::format("{}: births of {} rows in layer {}", what, i < layers ? "long-term" : "short-term", l),
          sure(rows), sure(wanted[i]));
    }
  }

  static constexpr double kClearLead = 0.1;  // of votes, in rounded arithmetic

  const CaseFolder& folder_;
  const RealModel& files_;
  Report& report_;
  GoldenModel model_;
  std::string name_;
};

}  // namespace

void run_delta(const CaseFolder& folder, const RealModel& files, Report& report) {
  if (files.delta.empty())
    fail(ErrorCode::not_found,
         "needs the default model and its delta; scripts/fetch_model.sh fetches the model");
  const auto made_for = folder.json().at("delta_sha256").get<std::string>();
  const std::string sha256 = io::sha256_hex(files.delta);
  if (sha256 != made_for)
    fail(ErrorCode::model_mismatch,
         "{}: the cases were made for a delta with SHA-256 {}, this one has {}; tools/golden/make_cases.py "
         "makes them anew",
         files.delta.string(), made_for, sha256);
  DeltaCase delta(folder, files, report);
  for (const Json& stream : folder.json().at("streams")) delta.run_stream(stream);
}

}  // namespace mplus::golden
