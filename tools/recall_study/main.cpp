// mplus-recall-study: is the right passage found again in a long stream, and answered from, by each rule of
// recall? Writes the stream, asks every question under every rule, prints a table and one JSON object a line.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/locate.h"
#include "mplus/engine/session.h"
#include "mplus/eval/metric/answer_score.h"
#include "mplus/eval/metric/bootstrap.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/json_lines.h"
#include "mplus/store/words/text_index.h"
#include "tools/recall_study/search_study.h"
#include "tools/recall_study/stream.h"

namespace mplus::recall_study {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model, delta, output, keep;
  std::string facts, squad, nq, books;
  std::vector<std::string> fillers;
  std::vector<std::string> rules{"per-layer", "consensus", "words",   "hybrid",
                                 "oracle",    "hybrid+1",  "hybrid+2"};
  std::int64_t chunks = 640, questions = 60;
  std::uint64_t seed = 1;
  int threads = 0;
  bool table = false, places_only = false;
  std::vector<std::string> sets;
  SearchStudy searches;
  std::vector<std::string> more;
};

// "hybrid+2": by hybrid, with the text of the two best passages read again.
struct Rule {
  std::string name;
  RecallRule recall;
  std::int64_t reread = 0;
};

Rule rule_of(const std::string& name) {
  const std::size_t plus = std::min(name.find('+'), name.size());
  const auto recall = recall_rule_from_name(name.substr(0, plus));
  if (!recall) fail(ErrorCode::invalid_argument, "rule \"{}\": known are {}", name, recall_rule_names());
  return {name, *recall, plus < name.size() ? std::stoll(name.substr(plus + 1)) : 0};
}

struct Result {
  eval::Values first, two, eight, recalled, exact, hit;
};
using Results = std::map<std::pair<std::string, std::string>, Result>;  // set, rule

// Every question's outcome under every rule, kept in a file: a study goes on where it was stopped.
class Outcomes {
 public:
  explicit Outcomes(const std::string& file) {
    if (file.empty()) return;
    if (std::filesystem::exists(file)) {
      io::JsonLines lines(file);
      for (io::Json line; lines.next(line);) take(line);
    }
    output_.open(file, std::ios::app);
  }

  enum class OutcomeKind { place, answer };
  bool known(const Passage& passage, const std::string& rule, OutcomeKind kind) const {
    return known_.contains({passage.set, rule, passage.id, kind});
  }

  void add(const Json& outcome) {
    const std::string line = outcome.dump(-1, ' ', false, Json::error_handler_t::replace);
    take(io::Json::parse(line));
    if (output_.is_open()) output_ << line << std::endl;
  }

  void print() const {
    fmt::print(
        "| set | rule | asked | first | best two | best eight | answered | recalled | exact | hit |\n");
    fmt::print("|---|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& [key, r] : results_) {
      const auto cell = [](const eval::Values& values) {
        const eval::Interval i = values.interval();
        return i.values == 0 ? std::string("–")
                             : fmt::format("{:.2f} ({:.2f}–{:.2f})", i.mean, i.low, i.high);
      };
      const auto count = [](const eval::Values& values) {
        return values.empty() ? std::string("–") : fmt::format("{}", values.interval().questions);
      };
      fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", key.first, key.second,
                 count(r.first), cell(r.first), cell(r.two), cell(r.eight), count(r.exact), cell(r.recalled),
                 cell(r.exact), cell(r.hit));
    }
  }

 private:
  void take(const io::Json& outcome) {
    const auto text = [&](const char* field) { return outcome.at(field).get<std::string>(); };
    const std::string id = text("id");
    const OutcomeKind kind = outcome.contains("rank") ? OutcomeKind::place : OutcomeKind::answer;
    if (!known_.insert({text("set"), text("rule"), id, kind}).second) return;
    Result& r = results_[{text("set"), text("rule")}];
    if (kind == OutcomeKind::place) {
      const auto rank = outcome.at("rank").get<std::int64_t>();
      r.first.add(id, rank == 1);
      r.two.add(id, rank <= 2);
      r.eight.add(id, rank <= 8);
    } else {
      r.recalled.add(id, outcome.at("recalled").get<double>());
      r.exact.add(id, outcome.at("exact").get<bool>());
      r.hit.add(id, outcome.at("hit").get<bool>());
    }
  }

  std::set<std::tuple<std::string, std::string, std::string, OutcomeKind>> known_;  // set, rule, id
  Results results_;
  std::ofstream output_;
};

class Study {
 public:
  Study(const Options& options, engine::Engine& engine, engine::Session& session, Outcomes& outcomes)
      : options_(options), engine_(engine), session_(session), outcomes_(outcomes) {}

  // Where each passage came to lie.
  void write(const std::vector<Passage>& stream, bool written) {
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (!written && session_.remember(stream[i].text, fmt::format("passage {}", i)).updates != 1)
        fail(ErrorCode::invalid_argument, "passage {}: expected one write", i);
      if (i % 20 == 0) fmt::print(stderr, "\rwritten {} of {}", i, stream.size());
    }
    fmt::print(stderr, "\n");
  }

  // The right chunk's place among all, by vote, by words and by both: one scout pass a question.
  void place(const std::vector<Passage>& stream) {
    for_questions(stream, "placed", [&](const Passage& passage, std::int64_t chunk) {
      if (outcomes_.known(passage, "hybrid", Outcomes::OutcomeKind::place)) return;
      const memory::Votes votes = votes_on(passage);
      index_.follow(session_.record());
      const auto scores = index_.query(passage.question);
      const memory::Prior words = [&](std::int64_t c) { return scores.contains(c) ? scores.at(c) : 0.0; };
      memory::Votes nothing = votes;
      std::fill(nothing.votes.begin(), nothing.votes.end(), 0.0);
      const std::map<std::string, memory::Votes> orders{{"consensus", votes},
                                                        {"words", memory::with_prior(nothing, words, 1)},
                                                        {"hybrid", memory::with_prior(votes, words, 1)}};
      for (const auto& [rule, order] : orders) {
        const std::vector<std::int64_t> chunks = order.order();
        outcomes_.add({{"set", passage.set},
                       {"rule", rule},
                       {"id", passage.id},
                       {"chunk", chunk},
                       {"rank", std::find(chunks.begin(), chunks.end(), chunk) - chunks.begin() + 1}});
      }
    });
  }

  void answer(const std::vector<Passage>& stream) {
    for_questions(stream, "answered", [&](const Passage& passage, std::int64_t chunk) {
      if (passage.answers.empty()) return;
      for (const std::string& name : options_.rules) answer_one(passage, chunk, rule_of(name));
    });
  }

  // Exact search and search in two levels, with every question.
  void search(const std::vector<Passage>& stream) {
    std::vector<Queries> questions;
    for_questions(stream, "scouted", [&](const Passage& passage, std::int64_t) {
      model::ScoutStates scout = scout_for(passage);
      Queries& queries = questions.emplace_back();
      for (std::size_t l = 0; l < scout.layers.size(); ++l) {
        const auto& values =
            queries.values.emplace_back(scout.retriever[l].begin(), scout.retriever[l].end());
        queries.layers.push_back({.T = scout.layers[l].T, .retriever = values.data()});
      }
    });
    std::vector<engine::Session> others;
    for (const std::string& file : options_.more) others.push_back(engine::load_session_file(engine_, file));
    std::vector<const memory::Memory*> real{&session_.memory()};
    for (const engine::Session& other : others) real.push_back(&other.memory());
    compare_searches(engine_, real, questions, options_.searches, options_.seed);
  }

 private:
  template <class F>
  void for_questions(const std::vector<Passage>& stream, const char* what, F&& f) {
    std::size_t done = 0;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (stream[i].set.empty()) continue;
      if (!options_.sets.empty() &&
          std::find(options_.sets.begin(), options_.sets.end(), stream[i].set) == options_.sets.end())
        continue;
      f(stream[i], static_cast<std::int64_t>(i));
      fmt::print(stderr, "\r{} {}", what, ++done);
    }
    fmt::print(stderr, "\n");
  }

  model::ScoutStates scout_for(const Passage& passage) {
    std::string prompt = passage.question;
    if (!passage.answers.empty() && !engine_.weights().memory->prompt.empty()) {
      prompt = engine_.weights().memory->prompt;
      if (const auto at = prompt.find("{q}"); at != std::string::npos)
        prompt.replace(at, 3, passage.question);
    }
    const std::vector<io::TokenId> tokens = engine_.tokenizer().encode(prompt);
    model::AttentionCache cache(engine_.weights().config.layers, engine_.workspace().kv_shape());
    const model::ReadItem item{
        .tokens = tokens, .cache = &cache, .memory = &session_.memory(), .scouts_end = std::ssize(tokens)};
    return model::scout_pass(engine_.workspace(), item, model::Adapter::read);
  }

  memory::Votes votes_on(const Passage& passage) {
    return memory::vote_over_everything(engine_.queue(), session_.memory(), scout_for(passage).layers,
                                        engine_.vote_options());
  }

  void answer_one(const Passage& passage, std::int64_t chunk, const Rule& rule) {
    if (outcomes_.known(passage, rule.name, Outcomes::OutcomeKind::answer)) return;
    engine::GenerateOptions how;
    how.max_tokens = 12;
    how.recall.rule = rule.recall;
    how.oracle_chunks = {chunk};
    how.reread = rule.reread;
    index_.serve(how, session_.record());
    const engine::Answer answer = session_.ask(passage.question, how);
    double recalled = 0;
    for (const auto& layer : answer.recalled_births)
      for (const std::int64_t birth : layer) recalled += memory::chunk_of(birth, engine_.layout().K) == chunk;
    const eval::AnswerScore score = eval::score_answer(answer.text, passage.answers);
    outcomes_.add({{"set", passage.set},
                   {"rule", rule.name},
                   {"id", passage.id},
                   {"chunk", chunk},
                   {"recalled", recalled / static_cast<double>(engine_.layout().remembering_layers() *
                                                               engine_.layout().K)},
                   {"exact", score.exact},
                   {"hit", score.hit},
                   {"question", passage.question},
                   {"answer", answer.text},
                   {"answers", passage.answers}});
  }

  const Options& options_;
  engine::Engine& engine_;
  engine::Session& session_;
  store::TextIndex index_;
  Outcomes& outcomes_;
};

int run(const Options& options) {
  Outcomes outcomes(options.output);
  if (options.table) {
    outcomes.print();
    return 0;
  }
  engine::EngineOptions engine_options;
  engine_options.files = engine::locate_model(options.model, options.delta);
  engine_options.threads = options.threads;
  engine_options.memory.long_term_capacity = memory::kUnlimited;  // the stream stays whole
  engine::Engine engine(engine_options);
  StreamFiles files;
  for (const auto& [set, file] :
       {std::pair{"facts", options.facts}, {"squad", options.squad}, {"nq", options.nq}})
    if (!file.empty()) files.questions.emplace_back(set, file);
  files.books = options.books;
  for (const std::string& file : options.fillers) files.fillers.emplace_back(file);
  const std::vector<Passage> stream =
      make_stream(engine, files, options.chunks, options.questions, options.seed);
  const bool kept = !options.keep.empty() && std::filesystem::exists(options.keep);
  engine::Session session =
      kept ? engine::load_session_file(engine, options.keep) : engine::Session(engine, options.seed);
  if (kept && session.memory().updates() != std::ssize(stream))
    fail(ErrorCode::model_mismatch, "{}: {} writes expected, found {}", options.keep, stream.size(),
         session.memory().updates());
  Study study(options, engine, session, outcomes);
  study.write(stream, kept);
  if (!kept && !options.keep.empty()) save_session_file(session, options.keep);
  if (!options.searches.sizes.empty()) {
    study.search(stream);
    return 0;
  }
  study.place(stream);
  if (!options.places_only) study.answer(stream);
  outcomes.print();
  return 0;
}

int run_program(int argc, char** argv) {
  Options options;
  CLI::App program(
      "Writes one long stream of passages into a memory, then asks about them under every rule of recall.\n"
      "Prints, with 95 % intervals: how often the right passage came first, among the best two and eight, "
      "which "
      "share\n"
      "of its tokens was recalled, and how often the answer was right. Data: JSON lines, plain or xz.");
  program.add_option("--facts", options.facts, "questions with the passage that answers them");
  program.add_option("--squad", options.squad, "the same");
  program.add_option("--nq", options.nq, "the same");
  program.add_option("--books", options.books, "texts, to be found by 24 tokens of a passage");
  program.add_option("--filler", options.fillers, "texts that stand between");
  program.add_option("--chunks", options.chunks, "in the stream")->capture_default_str();
  program.add_option("--questions", options.questions, "of each set")->capture_default_str();
  program.add_option("--rules", options.rules, "rules of recall; hybrid+2 reads two passages again")
      ->delimiter(',')
      ->capture_default_str();
  program.add_option("--keep", options.keep, "a memory file: the stream is written once and kept there");
  program.add_option(
      "--output", options.output,
      "every question's outcome, one JSON object a line; those that are there are not asked again");
  program.add_option("--sets", options.sets, "ask these alone; the stream stays the same")->delimiter(',');
  program.add_flag("--places", options.places_only, "only where the right passage comes, no answers");
  program
      .add_option("--search-sizes", options.searches.sizes,
                  "instead: search in two levels beside exact search, in stores of so many tokens of text, "
                  "made of the stream's chunks and of mixtures of them")
      ->delimiter(',');
  program.add_option("--search-more", options.more, "with it: memory files whose chunks are used as well");
  program
      .add_option(
          "--search-timed", options.searches.timed,
          "questions for which exact search is run as it is; for all others its outcome is worked out from "
          "scores of the real tokens")
      ->capture_default_str();
  program
      .add_option("--search-keep", options.searches.search.keep, "chunks scored exactly for their estimate")
      ->capture_default_str();
  program.add_option("--search-finish", options.searches.search.finish, "of them, scored in every layer")
      ->capture_default_str();
  program
      .add_option("--search-sample", options.searches.search.sample, "chunks scored exactly to learn from")
      ->capture_default_str();
  program
      .add_option("--search-sharpen", options.searches.search.sharpen,
                  "chunks a layer, on average, scored to know the layers' spreads better")
      ->capture_default_str();
  program.add_option("--search-every", options.searches.every, "only every n-th question is searched for")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  program.add_flag("--table", options.table, "only print the table of what --output holds");
  program.add_option("-m,--model", options.model);
  program.add_option("--delta", options.delta);
  program.add_option("-t,--threads", options.threads);
  program.add_option("-s,--seed", options.seed)->capture_default_str();
  CLI11_PARSE(program, argc, argv);
  return run(options);
}

}  // namespace
}  // namespace mplus::recall_study

int main(int argc, char** argv) {
  try {
    return mplus::recall_study::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mplus-recall-study: %s\n", error.what());
    return 1;
  }
}
