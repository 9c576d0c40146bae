// mplus-recall-study: is the right passage found again in a long stream, and answered from, by each rule of
// recall? Writes the stream, asks every question under every rule, prints a table and one JSON object a line.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

#include "mplus/cli/recall_study/stream.h"
#include "mplus/core/error.h"
#include "mplus/engine/locate.h"
#include "mplus/engine/session.h"
#include "mplus/eval/metric/answer_score.h"
#include "mplus/eval/metric/bootstrap.h"
#include "mplus/io/json.h"
#include "mplus/store/text_index.h"

namespace mplus::recall_study {
namespace {

struct Options {
  std::string model, delta, output, keep;
  std::string facts, squad, nq, books;
  std::vector<std::string> fillers;
  std::vector<std::string> rules{"per-layer", "consensus", "words",   "hybrid",
                                 "oracle",    "hybrid+1",  "hybrid+2"};
  std::int64_t chunks = 640, questions = 60;
  std::uint64_t seed = 1;
  int threads = 0;
};

// "hybrid+2": by hybrid, with the text of the two best passages read again.
struct Rule {
  std::string name;
  memory::RecallRule recall;
  std::int64_t reread = 0;
  bool ranks() const {  // chunks in an order of its own
    return recall == memory::RecallRule::consensus || recall == memory::RecallRule::words ||
           recall == memory::RecallRule::hybrid;
  }
};

Rule rule_of(const std::string& name) {
  const std::size_t plus = std::min(name.find('+'), name.size());
  const auto recall = memory::recall_rule_from_name(name.substr(0, plus));
  if (!recall)
    fail(ErrorCode::invalid_argument, "rule \"{}\": known are {}", name, memory::recall_rule_names());
  return {name, *recall, plus < name.size() ? std::stoll(name.substr(plus + 1)) : 0};
}

struct Result {
  eval::Values first, two, eight, recalled, exact, hit;
};
using Results = std::map<std::pair<std::string, std::string>, Result>;  // set, rule

class Study {
 public:
  Study(const Options& options, engine::Engine& engine, engine::Session& session)
      : options_(options), engine_(engine), session_(session) {
    if (!options.output.empty()) output_.open(options.output);
  }

  // Where each passage came to lie.
  void write(const std::vector<Passage>& stream, bool written) {
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (!written && session_.remember(stream[i].text, fmt::format("passage {}", i)).updates != 1)
        fail(ErrorCode::invalid_argument, "passage {}: expected one write", i);
      if (i % 20 == 0) fmt::print(stderr, "\rwritten {} of {}", i, stream.size());
    }
    fmt::print(stderr, "\n");
  }

  void ask(const std::vector<Passage>& stream) {
    std::size_t asked = 0;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (stream[i].set.empty()) continue;
      for (const std::string& name : options_.rules)
        ask_one(stream[i], static_cast<std::int64_t>(i), rule_of(name));
      fmt::print(stderr, "\rasked {}", ++asked);
    }
    fmt::print(stderr, "\n");
  }

  void print() const {
    fmt::print(
        "| set | rule | first | best two | best eight | recalled | exact | hit "
        "|\n|---|---|---|---|---|---|---|---|\n");
    for (const auto& [key, r] : results_) {
      const auto cell = [](const eval::Values& values) {
        const eval::Interval i = values.interval();
        return i.values == 0 ? std::string("–")
                             : fmt::format("{:.2f} ({:.2f}–{:.2f})", i.mean, i.low, i.high);
      };
      fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", key.first, key.second, cell(r.first),
                 cell(r.two), cell(r.eight), cell(r.recalled), cell(r.exact), cell(r.hit));
    }
  }

 private:
  void ask_one(const Passage& passage, std::int64_t chunk, const Rule& rule) {
    const bool answered = !passage.answers.empty();
    if (!answered && (!rule.ranks() || rule.reread > 0)) return;
    engine::GenerateOptions how;
    how.max_tokens = answered ? 12 : 1;
    how.recall = rule.recall;
    how.oracle_chunks = {chunk};
    how.reread = rule.reread;
    how.why = true;
    index_.serve(how, session_.record());
    const engine::Answer answer =
        answered ? session_.ask(passage.question, how) : session_.generate(passage.question, how);
    Result& r = results_[{passage.set, rule.name}];
    std::int64_t rank = 0, place = 0;
    double recalled = 0;
    for (const engine::WhyChunk& why : answer.why) {
      ++place;
      if (why.chunk != chunk) continue;
      rank = place;
      recalled = static_cast<double>(why.rows_recalled) /
                 static_cast<double>(engine_.layout().layers * engine_.layout().K);
    }
    if (rule.ranks()) {
      r.first.add(passage.id, rank == 1);
      r.two.add(passage.id, rank >= 1 && rank <= 2);
      r.eight.add(passage.id, rank >= 1 && rank <= 8);
    }
    r.recalled.add(passage.id, recalled);
    const eval::AnswerScore score = eval::score_answer(answer.text, passage.answers);
    if (answered) {
      r.exact.add(passage.id, score.exact);
      r.hit.add(passage.id, score.hit);
    }
    if (!output_.is_open()) return;
    output_ << nlohmann::ordered_json{{"set", passage.set},
                                      {"rule", rule.name},
                                      {"id", passage.id},
                                      {"chunk", chunk},
                                      {"rank", rank},
                                      {"recalled", recalled},
                                      {"exact", score.exact},
                                      {"hit", score.hit},
                                      {"question", passage.question},
                                      {"answer", answer.text},
                                      {"answers", passage.answers}}
                   .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
            << std::endl;
  }

  const Options& options_;
  engine::Engine& engine_;
  engine::Session& session_;
  store::TextIndex index_;
  Results results_;
  std::ofstream output_;
};

int run(const Options& options) {
  engine::EngineOptions engine_options;
  engine_options.files = engine::locate_model(options.model, options.delta);
  engine_options.threads = options.threads;
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
      kept ? engine::Session::load(engine, options.keep) : engine::Session(engine, options.seed);
  if (kept && session.memory().updates() != std::ssize(stream))
    fail(ErrorCode::model_mismatch, "{}: {} writes expected, found {}", options.keep, stream.size(),
         session.memory().updates());
  Study study(options, engine, session);
  study.write(stream, kept);
  if (!kept && !options.keep.empty()) session.save(options.keep);
  study.ask(stream);
  study.print();
  return 0;
}

}  // namespace
}  // namespace mplus::recall_study

int main(int argc, char** argv) {
  mplus::recall_study::Options options;
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
  program.add_option("--filler", options.fillers, "texts that stand between")->required();
  program.add_option("--chunks", options.chunks, "in the stream")->capture_default_str();
  program.add_option("--questions", options.questions, "of each set")->capture_default_str();
  program.add_option("--rules", options.rules, "rules of recall; hybrid+2 reads two passages again")
      ->delimiter(',')
      ->capture_default_str();
  program.add_option("--keep", options.keep, "a memory file: the stream is written once and kept there");
  program.add_option("--output", options.output, "every question's outcome, one JSON object a line");
  program.add_option("-m,--model", options.model);
  program.add_option("--delta", options.delta);
  program.add_option("-t,--threads", options.threads);
  program.add_option("-s,--seed", options.seed)->capture_default_str();
  CLI11_PARSE(program, argc, argv);
  try {
    return mplus::recall_study::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "mplus-recall-study: {}\n", error.what());
    return 1;
  }
}
