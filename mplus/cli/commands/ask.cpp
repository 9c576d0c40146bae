// mplus ask: questions about what a memory holds.
#include <fmt/core.h>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/documents.h"
#include "mplus/cli/interrupt.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/answer_output.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/why_output.h"
#include "mplus/core/text.h"

namespace mplus::cli {
namespace {

struct AskOptions {
  ModelOptions model;
  MemoryOptions memory;
  AnswerOptions answer;
  std::uint64_t seed = 0;
  std::vector<std::string> questions;
  std::string questions_file;
  bool why = false;
  bool heat = false;
  std::int64_t reread = 0;
  bool json = false;
};

// One question a line; empty lines are passed over.
void add_lines(std::vector<std::string>& questions, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos) questions.push_back(std::move(line));
    at = end + 1;
  }
}

std::vector<std::string> all_questions(const AskOptions& options) {
  std::vector<std::string> questions;
  for (const std::string& question : options.questions) {
    if (question == "-") {
      add_lines(questions, read_text("-").text);
    } else {
      questions.push_back(question);
    }
  }
  if (!options.questions_file.empty()) add_lines(questions, read_text(options.questions_file).text);
  if (questions.empty()) throw UsageError("ask: there is no question");
  for (const std::string& question : questions)
    if (question.find_first_not_of(" \t\r\n") == std::string::npos)
      throw UsageError("ask: a question is empty");
  return questions;
}

engine::Answer ask_one(const AskOptions& options, OpenMemory& memory, const std::string& question,
                       const Interrupt& interrupt) {
  engine::GenerateOptions generate = generate_options(options.answer, options.memory, options.seed);
  generate.cancel = &interrupt.flag();
  generate.why = options.why || options.heat || memory.stored();  // a session counts what was recalled
  generate.reread = options.reread;
  memory.serve_words(generate);
  AnswerStream stream(!options.json, true);
  generate.on_text = [&](std::string_view piece) { return stream.write(piece); };
  const engine::Session& session = memory.session();
  engine::Answer answer = session.ask(question, generate);
  memory.note_recall(answer);
  stream.end();
  if (options.json) {
    Json json;
    json["question"] = question;
    json["answer"] = trim(answer.text);
    json.update(answer_json(answer, session.record(), options.why || options.heat));
    put_json(json);
    return answer;
  }
  std::string aside = reread_text(answer.reread, session.record(), standard_output());
  if (options.why || options.heat) aside += why_text(answer, session.record(), standard_output());
  if (options.heat) aside += heat_text(answer);
  put(aside);
  return answer;
}

int ask(AskOptions options) {
  choose_memory(options.memory, Fallback::existing_session);
  const std::vector<std::string> questions = all_questions(options);
  const auto engine = open_engine(options.model, options.memory, true);
  if (!engine->has_memory() && options.memory.session == kDefaultSession) options.memory.session.clear();
  OpenMemory memory(*engine, options.memory, options.seed, store::Access::read);
  const Interrupt interrupt;
  for (const std::string& question : questions) {
    if (questions.size() > 1 && !options.json)
      put(fmt::format("> {}\n", one_line(question, standard_output().width)));
    if (ask_one(options, memory, question, interrupt).reason == engine::StopReason::cancelled) return kFailed;
  }
  return kGood;
}

}  // namespace

void add_ask(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<AskOptions>();
  options->answer.max_tokens = 64;
  CLI::App* command = program.add_subcommand(
      "ask",
      "Answer a question from a memory.\n"
      "Puts the question in the form the delta was trained with and answers from what the memory holds; the\n"
      "documents themselves are read again only with --reread. The memory is not changed. Where none is "
      "named it is the "
      "session\n"
      "`default`, if there is one; without any memory the model answers from what it knows by itself.");
  command->add_option("QUESTION", options->questions, "one or more questions; - reads them, one a line")
      ->type_name("");
  command->add_option("--questions", options->questions_file, "a file of questions, one a line")
      ->type_name("FILE");
  command->add_flag("--why", options->why, "show the passages that were recalled");
  command->add_flag("--heat", options->heat, "the same, and how each layer scores each of them");
  add_reread_option(*command, options->reread);
  add_seed_option(*command, options->seed);
  add_json_option(*command, options->json);
  add_memory_options(*command, options->memory, "the memory to answer from");
  add_answer_options(*command, options->answer);
  add_model_options(*command, options->model, "the default model's own");
  command->footer(
      "Examples:\n"
      "  mplus ask \"Where did I leave the key?\" --why\n"
      "  mplus ask --questions questions.txt --session work --json");
  command->callback([options, &chosen] { chosen = [options] { return ask(*options); }; });
}

}  // namespace mplus::cli
