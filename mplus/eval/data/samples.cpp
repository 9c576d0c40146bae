#include "mplus/eval/data/samples.h"

#include <unordered_set>

#include "mplus/core/error.h"
#include "mplus/io/text/json_lines.h"

namespace mplus::eval {
namespace {

namespace fs = std::filesystem;

// One line's fields, with the place it stands in for messages.
class Line {
 public:
  Line(const io::Json& json, const io::JsonLines& from)
      : json_(json), where_(from.where()), number_(from.line()), fields_(json_, where_) {}

  std::string required(std::string_view key) const {
    const auto text = fields_.string(key);
    if (!text || text->find_first_not_of(" \t\r\n") == std::string::npos)
      fail(ErrorCode::corrupt, "{}: {}: expected a text, found {}", where_, key,
           text ? "an empty one" : "nothing");
    return *text;
  }
  std::string optional(std::string_view key) const { return fields_.string(key).value_or(""); }
  std::vector<std::string> texts(std::string_view key) const {
    const io::Json* list = fields_.find(key);
    if (!list) fail(ErrorCode::corrupt, "{}: {}: expected a list of texts, found nothing", where_, key);
    if (list->is_string()) return {list->get<std::string>()};
    if (!list->is_array())
      fail(ErrorCode::corrupt, "{}: {}: expected a list of texts, found {}", where_, key, list->type_name());
    std::vector<std::string> result;
    for (const io::Json& item : *list) {
      if (!item.is_string())
        fail(ErrorCode::corrupt, "{}: {}: expected texts in the list, found {}", where_, key,
             item.type_name());
      result.push_back(item.get<std::string>());
    }
    return result;
  }
  const io::Json* find(std::string_view key) const { return fields_.find(key); }
  const std::string& where() const { return where_; }
  std::int64_t number() const { return number_; }

 private:
  const io::Json& json_;
  std::string where_;
  std::int64_t number_;
  io::JsonFields fields_;
};

std::string stem(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find('.'));
}

Question question_of(const Line& line, const fs::path& file) {
  Question q;
  q.line = line.number();
  q.id = line.optional("id");
  if (q.id.empty()) q.id = fmt::format("{}-{}", stem(file), q.line);
  q.article = line.optional("title");
  q.question = line.required("question");
  q.answers = line.texts("answers");
  return q;
}

template <class Item, class Make>
std::vector<Item> read(const fs::path& file, const char* kind, const Make& make) {
  io::JsonLines lines(file);
  std::vector<Item> items;
  io::Json json;
  while (lines.next(json)) make(Line(json, lines), items);
  if (items.empty())
    fail(ErrorCode::corrupt, "{}: expected {}, one JSON object a line; found none", file.string(), kind);
  return items;
}

std::vector<Turn> turns_of(const Line& line) {
  const io::Json* list = line.find("turns");
  if (!list || !list->is_array() || list->empty())
    fail(ErrorCode::corrupt, "{}: turns: expected a list of turns, found {}", line.where(),
         list ? list->type_name() : "nothing");
  std::vector<Turn> turns;
  for (const io::Json& item : *list) {
    if (!item.is_object())
      fail(ErrorCode::corrupt, "{}: turns: expected objects, found {}", line.where(), item.type_name());
    const io::JsonFields fields(item, line.where(), "turns");
    const std::string role = fields.string("role").value_or("");
    Turn turn;
    if (role == "assistant") turn.role = io::Role::assistant;
    else if (role == "system") turn.role = io::Role::system;
    else if (role != "user")
      fail(ErrorCode::corrupt, "{}: turns.role: expected user, assistant or system, found \"{}\"",
           line.where(), role);
    turn.content = fields.string("content").value_or("");
    turns.push_back(std::move(turn));
  }
  return turns;
}

// Two texts, of which one may be null.
std::array<std::string, 2> told_of(const Line& line) {
  const io::Json* list = line.find("told");
  const bool two = list && list->is_array() && list->size() == 2;
  std::array<std::string, 2> told;
  for (std::size_t i = 0; two && i < 2; ++i) {
    const io::Json& text = (*list)[i];
    if (!text.is_string() && !text.is_null())
      fail(ErrorCode::corrupt, "{}: told: expected texts or null, found {}", line.where(), text.type_name());
    if (text.is_string()) told[i] = text.get<std::string>();
  }
  if (!two || (told[0].empty() && told[1].empty()))
    fail(ErrorCode::corrupt, "{}: told: expected a list of two texts, of which one may be null; found {}",
         line.where(),
         !list ? "nothing"
         : two ? "none"
               : "something else");
  return told;
}

}  // namespace

std::vector<Question> read_questions(const fs::path& file, PassageNeed need) {
  return read<Question>(file, "questions", [&](const Line& line, std::vector<Question>& items) {
    Question q = question_of(line, file);
    q.passage = need == PassageNeed::required ? line.required("context") : line.optional("context");
    items.push_back(std::move(q));
  });
}

std::vector<Text> read_texts(const fs::path& file) {
  return read<Text>(file, "texts", [](const Line& line, std::vector<Text>& items) {
    items.push_back({line.optional("title"), line.required("text"), line.number()});
  });
}

std::vector<Conversation> read_conversations(const fs::path& file) {
  return read<Conversation>(file, "conversations", [&](const Line& line, std::vector<Conversation>& items) {
    items.push_back({question_of(line, file), turns_of(line)});
  });
}

std::vector<TwiceTold> read_twice_told(const fs::path& file) {
  return read<TwiceTold>(file, "facts told twice", [&](const Line& line, std::vector<TwiceTold>& items) {
    items.push_back(
        {question_of(line, file), line.required("first"), line.required("second"), line.texts("old")});
  });
}

std::vector<Chain> read_chains(const fs::path& file) {
  return read<Chain>(file, "questions over two facts", [&](const Line& line, std::vector<Chain>& items) {
    items.push_back({question_of(line, file), told_of(line)});
  });
}

std::vector<Text> read_fillers(const fs::path& file) {
  std::unordered_set<std::string> seen;  // several questions share a passage
  return read<Text>(file, "texts or passages", [&](const Line& line, std::vector<Text>& items) {
    const bool passage = !line.find("text");
    Text text{line.optional("title"), line.required(passage ? "context" : "text"), line.number()};
    if (passage && !seen.insert(text.text).second) return;
    items.push_back(std::move(text));
  });
}

}  // namespace mplus::eval
