#include "mplus/eval/task/plan_file.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/answer/reread.h"
#include "mplus/eval/run/planned_updates.h"
#include "mplus/store/words/text_index.h"

namespace mplus::eval {
namespace {

// Words that stand in most chunks weigh next to nothing, and would fill the file.
constexpr double kLeastScore = 1e-4;

std::vector<io::TokenId> end_tokens(const engine::Engine& engine) {
  std::vector<io::TokenId> ends;
  for (io::TokenId id = 0; id < engine.tokenizer().size(); ++id)
    if (engine.is_end(id)) ends.push_back(id);
  return ends;
}

Json head_of(engine::Engine& engine, const RunIdentity& identity, const Planned& plan, const Asker& asker) {
  const memory::Layout& layout = engine.layout();
  return {{"schema", kPlanSchema},
          {"version", kPlanVersion},
          {"name", identity.name},
          {"run", identity.fields},
          {"memories", plan.scripts.size()},
          {"tokenizer", fmt::format("{:016x}", engine.tokenizer().fingerprint())},
          {"K", layout.K},
          {"max_tokens", plan.max_tokens},
          {"stop", asker.stop()},
          {"end", end_tokens(engine)},
          {"window", engine.window_tokens()},
          {"reread_mark", engine::kRereadMark},
          {"reread_end", engine::kRereadEnd}};
}

// [update, score, update, score, …], by update.
Json words_of(const store::TextIndex& index, const std::string& question) {
  const auto scores = index.query(question);
  std::vector<std::pair<std::int64_t, double>> found(scores.begin(), scores.end());
  std::erase_if(found, [](const auto& f) { return f.second < kLeastScore; });
  std::sort(found.begin(), found.end());
  Json words = Json::array();
  for (const auto& [update, score] : found) {
    words.push_back(update);
    words.push_back(std::stod(fmt::format("{:.6g}", score)));
  }
  return words;
}

class MemoryWriter {
 public:
  MemoryWriter(engine::Engine& engine, const Asker& asker) : engine_(engine), asker_(asker) {}

  Json memory(const Script& script, std::uint64_t seed) {
    Json updates = Json::array(), questions = Json::array(), asks = Json::array();
    for (const ScriptWrite& write : script.writes) cut(write, updates);
    for (const ScriptAsk& ask : script.asks) questions.push_back(question(script, ask));
    store::TextIndex index;
    std::size_t indexed = 0;
    for (const std::int64_t point : script.points) {
      const std::size_t written = ends_.at(static_cast<std::size_t>(point));
      for (; indexed < written; ++indexed)
        index.add(static_cast<std::int64_t>(indexed), updates[indexed]["text"].get<std::string>());
      for (std::size_t q = 0; q < script.asks.size(); ++q)
        if (script.asks[q].due(point))
          asks.push_back({{"question", q},
                          {"written", point},
                          {"updates", written},
                          {"words", words_of(index, script.asks[q].question.question)}});
    }
    return {{"seed", seed},
            {"updates", std::move(updates)},
            {"questions", std::move(questions)},
            {"asks", std::move(asks)}};
  }

 private:
  void cut(const ScriptWrite& write, Json& updates) {
    const bool talk = !write.turns.empty();
    for (PlannedUpdate& update : talk ? updates_of_conversation(engine_, write.turns, !talked_)
                                      : updates_of_text(engine_, write.text)) {
      Json json{{"text", std::move(update.text)}};
      if (!update.plain) json["ids"] = std::move(update.ids);
      updates.push_back(std::move(json));
    }
    talked_ = talked_ || talk;
    ends_.push_back(updates.size());
  }

  Json question(const Script& script, const ScriptAsk& ask) const {
    if (!ask.options.empty())
      fail(ErrorCode::unsupported, "question {}: a choice between options cannot be planned",
           ask.question.id);
    Json json{{"id", ask.question.id}};
    if (ask.form == Form::turn) {
      const Asker::TurnIds turn = asker_.turn(ask.question.question);
      json["turn"] = turn.ids;
      json["asks"] = {turn.asks_from, turn.asks_to};
    } else if (ask.then.empty()) {
      json["prompt"] = asker_.prompt(ask.question.question);
    } else {
      json["given"] = ask.given;
      json["then"] = ask.then;
    }
    if (ask.gold < 0) return json;
    const auto gold = static_cast<std::size_t>(ask.gold);
    json["context"] = script.writes[gold].text;
    json["gold"] = Json::array();
    for (std::size_t u = ends_[gold]; u < ends_[gold + 1]; ++u) json["gold"].push_back(u);
    return json;
  }

  engine::Engine& engine_;
  const Asker& asker_;
  bool talked_ = false;                  // a conversation was written before
  std::vector<std::size_t> ends_ = {0};  // updates behind the first 0, 1, … writes
};

}  // namespace

void write_plan(const std::filesystem::path& file, engine::Engine& engine, const RunIdentity& identity,
                const Planned& plan) {
  const Asker asker(engine, nullptr, plan.max_tokens);
  AtomicFile out(file, Readers::by_umask);
  const auto put = [&](const Json& json) {
    const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    out.write(line.data(), line.size());
  };
  put(head_of(engine, identity, plan, asker));
  for (std::size_t m = 0; m < plan.scripts.size(); ++m)
    put(MemoryWriter(engine, asker).memory(plan.scripts[m], plan.seed + m));
  out.commit();
}

}  // namespace mplus::eval
