#include "mplus/eval/data/long_documents.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/text/json_lines.h"

namespace mplus::eval {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void wrong(const std::string& where, std::string_view field, std::string_view expected,
                        const io::Json* found) {
  fail(ErrorCode::corrupt, "{}: {}: expected {}, found {}", where, field, expected,
       found ? found->type_name() : "nothing");
}

const io::Json* find(const io::Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto at = object.find(key); at != object.end() && !at->is_null()) return &*at;
  return nullptr;
}

std::string text_of(const io::Json& object, std::initializer_list<const char*> keys,
                    const std::string& where) {
  const io::Json* value = find(object, keys);
  if (!value || !value->is_string()) wrong(where, *keys.begin(), "a text", value);
  return value->get<std::string>();
}

std::string plain(const io::Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}  // LoCoMo has years as numbers

std::vector<std::string> list_of(const io::Json& object, std::initializer_list<const char*> keys,
                                 const std::string& where) {
  const io::Json* value = find(object, keys);
  if (!value) wrong(where, *keys.begin(), "a list of texts", value);
  if (!value->is_array()) return {plain(*value)};
  std::vector<std::string> texts;
  for (const io::Json& item : *value) texts.push_back(plain(item));
  return texts;
}

LongQuestion question_of(const io::Json& line, const std::string& where, std::int64_t number,
                         const fs::path& file) {
  LongQuestion q;
  q.question.line = number;
  const io::Json* id = find(line, {"_id", "id"});
  q.question.id = id ? plain(*id) : fmt::format("{}-{}", file.stem().string(), number);
  q.question.question = text_of(line, {"input", "question"}, where);
  q.question.answers = list_of(line, {"answers", "answer"}, where);
  if (const io::Json* options = find(line, {"options", "choices"});
      options && options->is_array() && !options->empty()) {
    for (const io::Json& option : *options) q.options.push_back(plain(option));
    const auto at = std::find(q.options.begin(), q.options.end(),
                              q.question.answers.empty() ? "" : q.question.answers.front());
    if (at == q.options.end())
      fail(ErrorCode::corrupt, "{}: answer: expected one of the {} options, found another", where,
           q.options.size());
    q.right = static_cast<std::size_t>(at - q.options.begin());
  }
  return q;
}

std::vector<LongDocument> read_lines(const fs::path& file) {
  io::JsonLines lines(file);
  std::vector<LongDocument> documents;
  io::Json line;
  while (lines.next(line)) {
    const std::string context = text_of(line, {"context"}, lines.where());
    if (documents.empty() || documents.back().texts.front() != context)
      documents.push_back({fmt::format("{}-{}", file.stem().string(), lines.line()), {context}, {}});
    documents.back().questions.push_back(question_of(line, lines.where(), lines.line(), file));
  }
  return documents;
}

// A session of a conversation as text, its date first.
std::string session_text(const io::Json& turns, const std::string& date, const std::string& where) {
  if (!turns.is_array()) wrong(where, "conversation", "lists of turns", &turns);
  std::string text = date.empty() ? "" : date + "\n";
  for (const io::Json& turn : turns) {
    if (!turn.is_object()) wrong(where, "turn", "an object", &turn);
    text += fmt::format("{}: {}\n", text_of(turn, {"speaker"}, where),
                        text_of(turn, {"text", "clean_text"}, where));
  }
  return text;
}

LongDocument conversation_of(const io::Json& sample, const std::string& where, std::size_t number) {
  LongDocument document;
  const io::Json* id = find(sample, {"sample_id"});
  document.id = id ? plain(*id) : fmt::format("conversation-{}", number);
  const io::Json* conversation = find(sample, {"conversation"});
  if (!conversation || !conversation->is_object()) wrong(where, "conversation", "an object", conversation);
  for (int session = 1; conversation->contains(fmt::format("session_{}", session)); ++session) {
    const std::string date = fmt::format("session_{}_date_time", session);
    document.texts.push_back(session_text(conversation->at(fmt::format("session_{}", session)),
                                          conversation->contains(date) ? plain(conversation->at(date)) : "",
                                          where));
  }
  if (document.texts.empty())
    fail(ErrorCode::corrupt, "{}: conversation: expected session_1, session_2, …, found none", where);
  const io::Json* questions = find(sample, {"qa"});
  if (!questions || !questions->is_array()) wrong(where, "qa", "a list of questions", questions);
  for (const io::Json& qa : *questions) {
    LongQuestion q;
    q.question.id = fmt::format("{}-{}", document.id, document.questions.size());
    q.question.question = text_of(qa, {"question"}, where);
    if (const io::Json* category = find(qa, {"category"}); category && category->is_number_integer())
      q.category = category->get<int>();
    if (const io::Json* answer = find(qa, {"answer"})) q.question.answers = {plain(*answer)};
    document.questions.push_back(std::move(q));
  }
  return document;
}

}  // namespace

std::vector<LongDocument> read_long_documents(const fs::path& file) {
  std::vector<LongDocument> documents;
  if (file.extension() == ".json") {
    const io::Json all = io::parse_json(read_text_file(file), file.string());
    if (!all.is_array()) wrong(file.string(), "file", "a list of conversations", &all);
    for (const io::Json& sample : all)
      documents.push_back(conversation_of(
          sample, fmt::format("{}: sample {}", file.string(), documents.size()), documents.size()));
  } else {
    documents = read_lines(file);
  }
  if (documents.empty())
    fail(ErrorCode::corrupt, "{}: expected documents with questions, found none", file.string());
  return documents;
}

}  // namespace mplus::eval
