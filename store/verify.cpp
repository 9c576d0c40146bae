#include "mplus/store/verify.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "mplus/core/error.h"
#include "mplus/engine/session_file.h"
#include "mplus/io/json.h"
#include "mplus/io/names.h"

namespace mplus::store {
namespace {

class Verification {
 public:
  Verification(Store& store, const SessionInfo& info)
      : store_(store), info_(info), journal_(store.database(), info.id) {}

  VerifyReport run() {
    check_database();
    check_events();
    check_sources();
    check_states();
    check_words();
    report_.verdict = verdict();
    return std::move(report_);
  }

 private:
  template <class F>
  bool attempt(F&& f) {
    try {
      f();
      return true;
    } catch (const Error& error) {
      report_.problems.emplace_back(error.what());
      return false;
    }
  }

  void check_database() {
    attempt([&] {
      Statement row = store_.database().prepare("PRAGMA integrity_check(20)");
      while (row.step())
        if (const std::string line = row.text(0); line != "ok") {
          report_.problems.push_back(fmt::format("{}: {}", store_.database().file().string(), line));
          database_sound_ = false;
        }
      Statement references = store_.database().prepare("PRAGMA foreign_key_check");
      while (references.step()) {
        report_.problems.push_back(fmt::format("{}: a row of {} refers to one of {} that is not there",
                                               store_.database().file().string(), references.text(0),
                                               references.text(2)));
        database_sound_ = false;
      }
    });
  }

  void check_events() {
    attempt([&] {
      std::int64_t expected = 0;
      for (std::int64_t number : journal_.numbers()) {
        if (number != expected) report_.problems.push_back(fmt::format("event {}: missing", expected));
        expected = number + 1;
        ++report_.events;
        const bool sound = attempt([&] {
          const StoredEvent event = journal_.event(number);
          for (const auto& id : {event.source, event.answer})
            if (id) sources_.insert(*id);
        });
        journal_sound_ = journal_sound_ && sound;
      }
    });
  }

  void check_sources() {
    for (std::int64_t id : sources_) {
      ++report_.sources;
      if (!attempt([&] { journal_.source(id); })) journal_sound_ = false;
    }
  }

  void check_states() {
    std::set<std::int64_t> seen;
    for (const StateRow& row : store_.states(info_.id)) {
      ++report_.states;
      const auto path = store_.state_path(row.file);
      bool sound = attempt([&] {
        const io::Safetensors file = io::Safetensors::open(path);
        const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
        if (size != row.size)
          fail(ErrorCode::corrupt, "{}: {} bytes expected, {} found", path.string(), row.size, size);
        engine::verify_session_file(file);
        report_.bytes += size;
      });
      for (const SegmentRow& segment : store_.segments(row.id)) {
        if (damaged_.count(segment.id) > 0) sound = false;
        if (!seen.insert(segment.id).second) continue;
        ++report_.segments;
        if (attempt([&] { verify_segment(store_.segment_path(segment.file.file), segment.file); })) {
          report_.bytes += segment.file.size;
        } else {
          damaged_.insert(segment.id);
          sound = false;
        }
      }
      if (sound && !sound_state_) sound_state_ = row;
    }
  }

  void check_words() {
    if (!TextIndex::exists(store_.database(), info_.id)) return;  // made when it is first written to
    attempt([&] { TextIndex(store_.database(), info_.id).check(); });
  }

  std::string verdict() const {
    if (report_.problems.empty()) return "";
    if (!database_sound_)
      return "the database itself is damaged: `mplus session export --salvage` keeps what can be read; "
             "import it into "
             "a new store";
    if (!journal_sound_ && !sound_state_)
      return "neither a state nor the whole journal is sound: `mplus session export --salvage` keeps what "
             "can be read";
    if (!journal_sound_)
      return fmt::format(
          "the memory is whole up to event {}; texts of the journal are lost: `mplus session export "
          "--salvage` keeps "
          "what is sound",
          sound_state_->event);
    if (!damaged_.empty())
      return "nothing is lost: `mplus session rebuild` makes the memory again from the journal";
    return "nothing is lost: the damaged state is passed over, and the journal has the rest";
  }

  Store& store_;
  SessionInfo info_;
  Journal journal_;
  VerifyReport report_;
  std::set<std::int64_t> sources_, damaged_;
  bool database_sound_ = true, journal_sound_ = true;
  std::optional<StateRow> sound_state_;
};

std::string compare_rows(const memory::Layout& layout, const memory::RowsView& a, std::int64_t i,
                         const memory::RowsView& b, std::int64_t j, bool values) {
  if (a.birth[i] != b.birth[j]) return fmt::format("birth {} and {}", a.birth[i], b.birth[j]);
  if (!values) return "";
  const auto differ = [](const void* x, const void* y, std::size_t bytes) {
    return std::memcmp(x, y, bytes) != 0;
  };
  if (differ(a.k_row(layout, i), b.k_row(layout, j), layout.kv_bytes()))
    return fmt::format("key of birth {}", a.birth[i]);
  if (differ(a.v_row(layout, i), b.v_row(layout, j), layout.kv_bytes()))
    return fmt::format("value of birth {}", a.birth[i]);
  return "";
}

}  // namespace

VerifyReport verify_session(Store& store, const std::string& name) {
  return Verification(store, store.get(name)).run();
}

std::string first_difference(const engine::Session& a, const engine::Session& b, bool values) {
  const memory::Memory &x = a.memory(), &y = b.memory();
  const memory::Layout& layout = x.layout();
  if (x.updates() != y.updates()) return fmt::format("{} updates and {}", x.updates(), y.updates());
  if (x.tail_rows() != y.tail_rows())
    return fmt::format("tail of {} rows and {}", x.tail_rows(), y.tail_rows());
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView slots = x.short_term(l), others = y.short_term(l);
    if (slots.n != others.n) return fmt::format("layer {}: {} slots and {}", l, slots.n, others.n);
    for (std::int64_t r = 0; r < slots.n; ++r)
      if (const auto d = compare_rows(layout, slots, r, others, r, values); !d.empty())
        return fmt::format("layer {}, slot {}: {}", l, r, d);
    std::vector<memory::RowId> rows;
    y.long_term().for_each(l, [&](memory::RowId id, std::int64_t) { rows.push_back(id); });
    if (x.long_term().size(l) != static_cast<std::int64_t>(rows.size()))
      return fmt::format("layer {}: {} long-term rows and {}", l, x.long_term().size(l), rows.size());
    std::size_t at = 0;
    std::string difference;
    x.long_term().for_each(l, [&](memory::RowId id, std::int64_t) {
      const memory::RowId other = rows[at++];
      if (difference.empty())
        difference = compare_rows(layout, x.long_term().rows_of(l, id), id.row,
                                  y.long_term().rows_of(l, other), other.row, values);
    });
    if (!difference.empty()) return fmt::format("layer {}, long-term: {}", l, difference);
    const auto tail = x.tail(l), other_tail = y.tail(l);
    if (values && !std::equal(tail.begin(), tail.end(), other_tail.begin(), other_tail.end()))
      return fmt::format("layer {}: tail", l);
  }
  const auto same_token = [](const engine::WindowToken& s, const engine::WindowToken& t) {
    return s.id == t.id;
  };
  if (!std::equal(a.window().begin(), a.window().end(), b.window().begin(), b.window().end(), same_token))
    return "window";
  return "";
}

void verify_by_replay(Store& store, engine::Engine& engine, const std::string& name, VerifyReport& report) {
  Journal journal(store.database(), store.get(name).id);
  for (const StoredEvent& event : journal.events()) {
    if (event.kind == EventKind::import) {
      report.replay = "not possible: it was imported without a journal";
      return;
    }
    if (event.kind == EventKind::forget && !io::Json::parse(event.details).value("exact", true)) {
      report.replay =
          "not possible: something was forgotten without --exact, so later rows may carry traces of it";
      return;
    }
  }
  StoredSession as_stored(store, engine, name, Access::read);
  StoredSession replayed(store, engine, name, Access::read, {.without_states = true});
  if (const std::int64_t id = as_stored.info().id; TextIndex::exists(store.database(), id)) {
    const auto chunks = TextIndex(store.database(), id).differences(as_stored.session().record());
    if (!chunks.empty())
      report.problems.push_back(fmt::format(
          "session {}: the text index differs from what was written in {} chunks, the first being "
          "{}; writing to the session mends it",
          io::shown(name), chunks.size(), chunks.front()));
  }
  const bool same_numerics = as_stored.info().settings.numerics_id == engine.numerics_id();
  const std::string difference = first_difference(as_stored.session(), replayed.session(), same_numerics);
  if (!difference.empty()) {
    report.problems.push_back(
        fmt::format("session {}: stored and replayed differ: {}", io::shown(name), difference));
    report.replay = "differs";
  } else {
    report.replay = same_numerics
                        ? "equal, bit for bit"
                        : "equal in structure; written under other arithmetic, so values are not compared";
  }
}

}  // namespace mplus::store
