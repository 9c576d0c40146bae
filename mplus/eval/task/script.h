// Tasks of one shape: write a list of texts and conversations into a memory, and at given points ask
// questions about some of them. A task of this kind only says what is written and how an answer is judged.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mplus/eval/data/fillers.h"
#include "mplus/eval/data/samples.h"
#include "mplus/eval/run/asker.h"
#include "mplus/eval/task/sample.h"
#include "mplus/eval/task/task.h"

namespace mplus::eval {

struct ScriptWrite {
  std::string text;
  std::vector<Turn> turns;  // a conversation instead of a text
  std::string origin;
};

struct ScriptAsk {
  Question question;       // its text is what recall by words looks for
  std::int64_t gold = -1;  // the write that answers it; −1: none does
  Form form = Form::prompt;
  Json extra = Json::object();            // goes into every sample of this question
  std::vector<std::string> options = {};  // to choose from by likelihood, instead of an answer
  std::size_t right = 0;                  // of them
  std::vector<std::int64_t> points = {};  // where it is asked; empty: wherever all are
  // Text to go on with instead of a question: how likely is `then` after `given`?
  std::vector<io::TokenId> given = {}, then = {};

  bool due(std::int64_t point) const;
};

struct Script {  // of one memory
  std::vector<ScriptWrite> writes;
  std::vector<ScriptAsk> asks;
  std::vector<std::int64_t> points;  // so many writes done: everything written so far is asked; ascending
};

// All that a run writes and asks.
struct Planned {
  std::vector<Script> scripts;
  std::int64_t max_tokens = 0;
  std::uint64_t seed = 0;  // of the first memory; the next has the next
};

class ScriptTask : public Task {
 public:
  RunIdentity prepare(TaskRun& run) final;
  bool work(TaskRun& run, RunLog& log) final;
  Planned planned() const final { return {scripts_, options_.max_tokens, options_.seed}; }

 protected:
  // What is to be done, by options_; adds the task's own settings to `fields`.
  virtual void build(engine::Engine& engine, Json& fields) = 0;
  virtual const char* name() const = 0;
  virtual std::vector<std::string> default_columns() const { return {"closed-book", "stm", "mplus"}; }
  virtual std::int64_t default_max_tokens() const { return 12; }
  virtual void check_prompt(const ScriptAsk& ask,
                            const std::string& prompt) const;  // throws corrupt on a leak
  virtual void judge(Json& sample, const Asked& asked, const ScriptAsk& ask) const {
    put_answer(sample, asked, ask.question.answers);
  }

  TaskOptions options_;
  std::vector<Script> scripts_;

 private:
  void check() const;
  std::string key(std::size_t m, const ScriptAsk& ask, const Column& column, std::int64_t point) const;
  bool run_script(std::size_t m);
  bool ask(std::size_t m, const ScriptAsk& ask, const Column& column, const Scene& scene, std::int64_t point);
  void add_sample(std::size_t m, const ScriptAsk& ask, const Column& column, std::int64_t point,
                  const Asked& asked, const std::optional<Presence::Share>& share);
  void take(const RecordedAnswers& answers);
  void write(const ScriptWrite& write, engine::Session& session, WrittenText& text) const;
  std::int64_t last_needed(std::size_t m) const;
  std::int64_t count_work() const;

  std::vector<Column> columns_;
  std::optional<Asker> asker_;
  std::optional<Steps> steps_;
  RunLog* log_ = nullptr;
  engine::Engine* engine_ = nullptr;
};

std::unique_ptr<Task> make_chains();          // questions over two facts told apart
std::unique_ptr<Task> make_chat();            // facts told in conversations
std::unique_ptr<Task> make_long_documents();  // public sets of questions on long texts
std::unique_ptr<Task> make_mixed();           // passages of several sets in one stream
std::unique_ptr<Task> make_needle();          // one made-up sentence in a long text
std::unique_ptr<Task> make_twice();           // a fact told twice: the newer must win
std::unique_ptr<Task> make_unknown();         // what was never written must not be known

}  // namespace mplus::eval
