#include "mplus/train/evaluation/plan.h"

#include <fmt/core.h>

#include "mplus/core/error.h"
#include "mplus/io/text/json_lines.h"

namespace mplus::train {
namespace {

constexpr const char* kSchema = "mplus-eval-plan";
constexpr int kPlanVersion = 1;

struct PlanReader {
  const io::Tokenizer& tokenizer;
  std::string mark, end;  // around a text that is read again

  Ids joined(Ids ids, const Ids& more) const {
    ids.insert(ids.end(), more.begin(), more.end());
    return ids;
  }

  PlannedQuestion question(const io::Json& json) const {
    PlannedQuestion question;
    question.id = json.at("id").get<std::string>();
    if (json.contains("gold")) question.gold = json.at("gold").get<std::vector<std::int64_t>>();
    const std::string context = json.value("context", "");
    const Ids passage = context.empty() ? Ids() : tokenizer.encode(context);
    if (json.contains("then")) {
      question.prompt = json.at("given").get<Ids>();
      question.asks_to = question.scored_from = question.prompt.size();
      question.prompt = joined(question.prompt, json.at("then").get<Ids>());
      question.context = joined(joined(passage, tokenizer.encode("\n")), question.prompt);
      return question;
    }
    if (json.contains("turn")) {
      question.prompt = json.at("turn").get<Ids>();
      question.asks_from = json.at("asks").at(0).get<std::size_t>();
      question.asks_to = json.at("asks").at(1).get<std::size_t>();
      if (question.asks_from >= question.asks_to || question.asks_to > question.prompt.size())
        fail(ErrorCode::corrupt, "question {}: tokens {} to {} of {} ask", question.id, question.asks_from,
             question.asks_to, question.prompt.size());
      if (json.contains("context")) question.context = joined(passage, question.prompt);
      return question;
    }
    const auto prompt = json.at("prompt").get<std::string>();
    question.prompt = tokenizer.encode(prompt);
    question.asks_to = question.prompt.size();
    if (json.contains("context"))
      question.context =
          context.empty() ? question.prompt : joined(passage, tokenizer.encode(fmt::format("\n{}", prompt)));
    return question;
  }

  static PlannedAsk ask(const io::Json& json) {
    PlannedAsk ask{.question = json.at("question").get<std::size_t>(),
                   .written = json.at("written").get<std::int64_t>(),
                   .updates = json.at("updates").get<std::int64_t>(),
                   .words = {}};
    const auto words = json.at("words").get<std::vector<double>>();
    for (std::size_t i = 0; i + 1 < words.size(); i += 2)
      ask.words.emplace_back(static_cast<std::int64_t>(words[i]), words[i + 1]);
    return ask;
  }

  PlannedMemory memory(const io::Json& json) const {
    PlannedMemory memory{.seed = json.at("seed").get<std::uint64_t>(),
                         .updates = {},
                         .again = {},
                         .questions = {},
                         .asks = {}};
    for (const io::Json& update : json.at("updates")) {
      const auto text = update.at("text").get<std::string>();
      memory.updates.push_back(update.contains("ids") ? update.at("ids").get<Ids>() : tokenizer.encode(text));
      const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
      memory.again.push_back(blank ? Ids() : tokenizer.encode(fmt::format("{}{}{}", mark, text, end)));
    }
    for (const io::Json& one : json.at("questions")) memory.questions.push_back(question(one));
    for (const io::Json& one : json.at("asks")) memory.asks.push_back(ask(one));
    return memory;
  }
};

void check(const PlannedMemory& memory, std::int64_t K, const std::string& where) {
  const auto updates = static_cast<std::int64_t>(memory.updates.size());
  if (updates == 0 || static_cast<std::int64_t>(memory.updates.front().size()) < K)
    fail(ErrorCode::unsupported,
         "{}: the first update must have {} tokens or more, so that all memories "
         "have as many rows",
         where, K);
  for (const PlannedAsk& ask : memory.asks)
    if (ask.question >= memory.questions.size() || ask.updates < 1 || ask.updates > updates)
      fail(ErrorCode::corrupt, "{}: question {} asked behind update {}; there are {} and {}", where,
           ask.question, ask.updates, memory.questions.size(), updates);
  for (const PlannedQuestion& question : memory.questions)
    for (const std::int64_t update : question.gold)
      if (update < 0 || update >= updates)
        fail(ErrorCode::corrupt, "{}: question {}: update {} of {}", where, question.id, update, updates);
}

void read_head(EvaluationPlan& plan, PlanReader& reader, const io::Json& json, const std::string& where) {
  if (json.value("schema", "") != kSchema)
    fail(ErrorCode::corrupt, "{}: expected a plan of `mplus eval --plan`, found something else", where);
  if (json.value("version", 0) != kPlanVersion)
    fail(ErrorCode::unsupported, "{}: a plan of version {}, this program knows {}", where,
         json.value("version", 0), kPlanVersion);
  const std::string own = fmt::format("{:016x}", reader.tokenizer.fingerprint());
  if (json.at("tokenizer") != own)
    fail(ErrorCode::model_mismatch, "{}: made for tokenizer {}, the model has {}", where,
         json.at("tokenizer").get<std::string>(), own);
  plan.name = json.at("name").get<std::string>();
  plan.K = json.at("K").get<std::int64_t>();
  plan.max_tokens = json.at("max_tokens").get<std::int64_t>();
  plan.window = json.at("window").get<std::int64_t>();
  plan.stop = json.at("stop").get<std::string>();
  plan.end = json.at("end").get<std::vector<io::TokenId>>();
  reader.mark = json.at("reread_mark").get<std::string>();
  reader.end = json.at("reread_end").get<std::string>();
}

}  // namespace

EvaluationPlan read_plan(const std::filesystem::path& file, const io::Tokenizer& tokenizer) {
  EvaluationPlan plan;
  PlanReader reader{.tokenizer = tokenizer, .mark = {}, .end = {}};
  io::JsonLines lines(file);
  io::Json line;
  for (bool head = true; lines.next(line); head = false) {
    try {
      if (head) {
        read_head(plan, reader, line, lines.where());
      } else {
        plan.memories.push_back(reader.memory(line));
        check(plan.memories.back(), plan.K, lines.where());
      }
    } catch (const io::Json::exception& e) {
      fail(ErrorCode::corrupt, "{}: {}", lines.where(), e.what());
    }
  }
  if (plan.memories.empty()) fail(ErrorCode::corrupt, "{}: a plan without memories", file.string());
  return plan;
}

}  // namespace mplus::train
