#include "mplus/store/copies/import_journal.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"

namespace mplus::store {
namespace {

using engine::Speaker;

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // of counts, places and births

class JournalReader {
 public:
  JournalReader(const io::Safetensors& file, const engine::Session& session)
      : file_(file),
        name_(fmt::format("{}: tensor \"journal\"", file.path().string())),
        session_(session),
        layout_(session.engine().layout()) {}

  ImportedJournal read() {
    texts_ = engine::read_bytes(file_, "journal.texts");
    const std::string text = engine::read_bytes(file_, "journal");
    const io::Json json = io::parse_json(text, name_, {.depth = 8, .size_bytes = text.size()});
    const io::JsonFields fields(json, name_);
    const auto version = fields.required_integer("version", 0, kMost);
    if (version != kJournalVersion)
      fail(ErrorCode::unsupported, "{}: a journal of version {}; this program reads version {}",
           file_.path().string(), version, kJournalVersion);
    for (const io::Json& source : list(fields, "sources")) add_source(source);
    where_.clear();
    for (const io::Json& event : list(fields, "events")) add_event(event);
    add_source_ids();
    return std::move(journal_);
  }

 private:
  template <class... Args>
  [[noreturn]] void senseless(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::corrupt, "{}: {}{}{}", name_, where_, where_.empty() ? "" : ": ",
         fmt::format(format, std::forward<Args>(args)...));
  }

  std::string here() const { return fmt::format("{}: {}: ", name_, where_); }

  const io::Json& list(const io::JsonFields& fields, const char* key) const {
    const io::Json* value = fields.find(key);
    if (value == nullptr || !value->is_array())
      senseless("{}: expected a list, found {}", key, value == nullptr ? "nothing" : value->type_name());
    return *value;
  }

  std::vector<std::int64_t> integers(const io::JsonFields& fields, const char* key, std::int64_t least,
                                     std::int64_t most) const {
    list(fields, key);
    return *fields.integers(key, least, most);
  }

  std::vector<io::TokenId> token_ids(const io::JsonFields& fields, const char* key) const {
    const auto ids = integers(fields, key, 0, session_.engine().weights().config.vocab - 1);
    return {ids.begin(), ids.end()};
  }

  std::pair<std::int64_t, std::int64_t> range(const io::JsonFields& fields, const char* key,
                                              std::int64_t size) const {
    const auto places = integers(fields, key, 0, std::numeric_limits<std::int64_t>::max());
    if (places.size() != 2 || places[0] > places[1] || places[1] > size)
      senseless("{}: expected a begin and an end within {}", key, size);
    return {places[0], places[1]};
  }

  void add_source(const io::Json& json) {
    where_ = fmt::format("source {}", journal_.sources.size() + 1);
    const io::JsonFields fields(json, name_, where_);
    const auto size = static_cast<std::int64_t>(texts_.size());
    const std::int64_t begin = fields.required_integer("begin", 0, size);
    const std::int64_t end = fields.required_integer("end", begin, size);
    const auto name = fields.string("name");
    if (!name) senseless("it has no name");
    StoredSource source;
    source.name = *name;
    source.speaker = static_cast<Speaker>(
        fields.required_integer("speaker", 0, static_cast<std::int64_t>(Speaker::assistant)));
    source.text = texts_.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    if (fields.has("ids")) source.ids = token_ids(fields, "ids");
    journal_.sources.push_back(std::move(source));
  }

  const StoredSource& source(std::int64_t place) const {
    return journal_.sources[static_cast<std::size_t>(place - 1)];
  }

  // The place of an event's source in the list; 0: none.
  std::int64_t place(const io::JsonFields& fields, const char* key, bool wanted) const {
    const std::int64_t place = fields.required_integer(key, 0, std::ssize(journal_.sources));
    if (wanted && place == 0) senseless("{}: expected the place of a source, found none", key);
    return wanted ? place : 0;
  }

  void check_speaker(std::int64_t place, std::initializer_list<Speaker> expected) const {
    const Speaker found = source(place).speaker;
    if (std::find(expected.begin(), expected.end(), found) == expected.end())
      senseless("source {} is of kind \"{}\", which does not fit", place, engine::speaker_name(found));
  }

  void add_event(const io::Json& json) {
    where_ = fmt::format("event {}", journal_.events.size() + 1);
    const io::JsonFields fields(json, name_, where_);
    StoredEvent event;
    event.kind = static_cast<EventKind>(fields.required_integer(
        "kind", static_cast<std::int64_t>(EventKind::text), static_cast<std::int64_t>(EventKind::import)));
    const bool text = event.kind == EventKind::text, turn = event.kind == EventKind::turn;
    if (const auto at = place(fields, "source", text || turn); at > 0) event.source = at;
    if (const auto at = place(fields, "answer", turn); at > 0) event.answer = at;
    event.complete = fields.boolean("complete").value_or(true);
    event.details = fields.string("details").value_or("{}");
    if (text) read_text(fields, event);
    if (turn) read_turn(fields, event);
    if (event.kind == EventKind::forget) forget_details(event, here());
    imported_ = imported_ || event.kind == EventKind::import;
    journal_.events.push_back(std::move(event));
  }

  void require_template() const {
    if (!session_.engine().chat_template())
      senseless("a conversation, and this model's files name no chat template");
  }

  void read_text(const io::JsonFields& fields, StoredEvent& event) {
    const StoredSource& text = source(*event.source);
    // What a memory file without a journal brought is never replayed, whoever said it.
    std::int64_t tokens = kMost;
    if (!imported_) {
      check_speaker(*event.source, {Speaker::document, Speaker::system});
      if (text.speaker == Speaker::document) tokens = count_tokens(*event.source);
      if (text.speaker == Speaker::system) require_template();
      if (text.speaker == Speaker::system && turns_ > 0) senseless("a system message after the first turn");
    }
    std::tie(event.token_begin, event.token_end) = range(fields, "tokens", tokens);
    std::tie(event.byte_begin, event.byte_end) = range(fields, "bytes", std::ssize(text.text));
  }

  std::int64_t count_tokens(std::int64_t place) {
    const StoredSource& text = source(place);
    if (!text.ids.empty() || text.text.empty()) return std::ssize(text.ids);
    auto [at, fresh] = tokens_.try_emplace(place, 0);
    if (fresh) at->second = std::ssize(session_.engine().tokenizer().encode(text.text));
    return at->second;
  }

  void read_turn(const io::JsonFields& fields, StoredEvent& event) {
    require_template();
    check_speaker(*event.source, {Speaker::user});
    check_speaker(*event.answer, {Speaker::assistant});
    event.answer_ids = token_ids(fields, "answer_ids");
    read_births(fields, event);
    const TurnDetails details = turn_details(event, here());
    const std::int64_t updates = session_.memory().updates();
    for (const std::int64_t chunk : details.reread)
      if (chunk >= updates) senseless("details: chunk {} was read again, and there are {}", chunk, updates);
    if (!details.recall.empty() && details.recall != engine::kByBase &&
        !recall_rule_from_name(details.recall))
      senseless("details: no rule of recall is called {}", io::shown(details.recall));
    ++turns_;
  }

  // [L] or [2·L] lists (engine::TurnTaken), none longer than a read has room for: all slots, and 2 · K0 rows
  // that were recalled (kMostRecalled in engine/answer/reading.cpp).
  void read_births(const io::JsonFields& fields, StoredEvent& event) const {
    const io::Json& lists = list(fields, "recalled");
    const std::int64_t n = std::ssize(lists);
    if (n != layout_.layers && n != 2 * layout_.layers)
      senseless("recalled: expected {} or {} lists, found {}", layout_.layers, 2 * layout_.layers, n);
    const std::int64_t end = session_.memory().updates() * layout_.K;
    for (const io::Json& births : lists) {
      if (!births.is_array() || std::ssize(births) > layout_.N + 2 * layout_.K0)
        senseless("recalled: expected lists of at most {} births", layout_.N + 2 * layout_.K0);
      const io::Json object{{"recalled", births}};
      event.recalled_births.push_back(
          *io::JsonFields(object, name_, where_).integers("recalled", -kMost, end - 1));
    }
  }

  // A state of the store takes its texts from the journal: they must be those the memory was written with.
  void add_source_ids() {
    where_.clear();
    journal_.source_ids = engine::read_integers(file_, "source_ids");
    const engine::Record& record = session_.record();
    const std::int64_t n = std::ssize(journal_.source_ids);
    const auto wrong = [&](const std::string& what) {
      fail(ErrorCode::corrupt, "{}: tensor \"source_ids\": {}", file_.path().string(), what);
    };
    if (n != record.sources()) wrong(fmt::format("{} expected, {} found", record.sources(), n));
    for (std::int64_t s = 0; s < n; ++s) {
      const std::int64_t id = journal_.source_ids[static_cast<std::size_t>(s)];
      if (id < -1 || id > std::ssize(journal_.sources))
        wrong(fmt::format("source {}: there is no place {}", s, id));
      if (record.source(s).text != (id > 0 ? source(id).text : ""))
        wrong(fmt::format("source {}: the journal has another text than the memory", s));
    }
  }

  const io::Safetensors& file_;
  std::string name_;   // for messages
  std::string where_;  // "event 3"
  const engine::Session& session_;
  const memory::Layout& layout_;
  std::string texts_;
  std::map<std::int64_t, std::int64_t> tokens_;  // of texts that were counted, by place
  ImportedJournal journal_;
  std::int64_t turns_ = 0;
  bool imported_ = false;
};

}  // namespace

ImportedJournal read_imported_journal(const io::Safetensors& file, const engine::Session& session) {
  return JournalReader(file, session).read();
}

}  // namespace mplus::store
