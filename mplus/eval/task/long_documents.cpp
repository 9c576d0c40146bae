// Task 5: questions on documents longer than any window (docs/evaluation.md, "Long documents").
#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/eval/data/long_documents.h"
#include "mplus/eval/metric/words.h"
#include "mplus/eval/task/script.h"

namespace mplus::eval {
namespace {

class LongDocuments final : public ScriptTask {
 protected:
  const char* name() const override { return "longbench"; }
  std::vector<std::string> default_columns() const override {
    return {"closed-book", "window", "stm", "mplus"};
  }
  std::int64_t default_max_tokens() const override { return 32; }

  void build(engine::Engine& engine, Json& fields) override {
    documents_ = read_long_documents(options_.data);
    if (options_.samples > 0 && options_.samples < static_cast<std::int64_t>(documents_.size()))
      documents_.resize(static_cast<std::size_t>(options_.samples));
    fields["documents"] = documents_.size();
    const Chunker chunker(engine.tokenizer(), engine.chunk_tokens());
    for (const LongDocument& document : documents_) {
      Script script;
      for (const std::string& text : document.texts) write_text(chunker, text, document.id, script);
      script.points = {static_cast<std::int64_t>(script.writes.size())};
      for (const LongQuestion& q : document.questions) {
        ScriptAsk ask{.question = q.question};
        ask.question.id = fmt::format("{}/{}", document.id, q.question.id);
        ask.options = q.options;
        ask.right = q.right;
        if (q.category > 0) ask.extra["category"] = q.category;
        script.asks.push_back(std::move(ask));
      }
      scripts_.push_back(std::move(script));
    }
  }

  void check_prompt(const ScriptAsk&, const std::string&) const override {
  }  // public sets have yes-or-no questions

  void judge(Json& sample, const Asked& asked, const ScriptAsk& ask) const override {
    if (!asked.applicable) {
      sample["applicable"] = false;
      return;
    }
    put_time(sample, asked);
    if (!ask.options.empty()) {
      const auto best =
          std::min_element(asked.option_nll.begin(), asked.option_nll.end()) - asked.option_nll.begin();
      sample["option_nll"] = asked.option_nll;
      sample["chosen"] = best;
      sample["right"] = static_cast<std::size_t>(best) == ask.right;
      return;
    }
    const std::string line = first_line(asked.output);
    sample["output"] = asked.output;
    const int category = ask.extra.value("category", 0);
    if (category == 0) {
      sample["f1"] = f1(line, ask.question.answers);
      sample["f1_whole"] = f1(asked.output, ask.question.answers);
    } else {
      sample["stemmed_f1"] = locomo_score(line, ask.question.answers, category);
    }
  }

 private:
  static void write_text(const Chunker& chunker, std::string_view text, const std::string& origin,
                         Script& script) {
    while (!text.empty()) {
      const Chunker::Beginning piece = chunker.first(text);
      if (piece.bytes == 0) break;
      script.writes.push_back({std::string(text.substr(0, piece.bytes)), {}, origin});
      text.remove_prefix(piece.bytes);
    }
    // A last piece too short to be written goes with the one before it.
    if (script.writes.size() > 1 && chunker.count(script.writes.back().text) < kLeast) {
      const std::string rest = script.writes.back().text;
      script.writes.pop_back();
      script.writes.back().text += rest;
    }
  }

  // As LoCoMo's own scorer: 1 has several parts, 3 takes the answer before a semicolon, 5 must not be
  // answered.
  static double locomo_score(const std::string& line, Golds golds, int category) {
    if (category == 5) {
      const std::string said = lower_case(line);
      return said.find("no information available") != std::string::npos ||
                     said.find("not mentioned") != std::string::npos
                 ? 1
                 : 0;
    }
    if (golds.empty()) return 0;
    if (category == 3) golds.front() = golds.front().substr(0, golds.front().find(';'));
    return category == 1 ? stemmed_f1_of_parts(line, golds.front()) : stemmed_f1(line, {golds.front()});
  }

  static constexpr std::int64_t kLeast = 16;
  std::vector<LongDocument> documents_;
};

}  // namespace

std::unique_ptr<Task> make_long_documents() { return std::make_unique<LongDocuments>(); }

}  // namespace mplus::eval
