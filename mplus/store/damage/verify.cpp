#include "mplus/store/damage/verify.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/names.h"

namespace mplus::store {
namespace {

class Verification {
 public:
  Verification(Store& store, const SessionInfo& info)
      : store_(store), info_(info), journal_(store.database(), info.id) {}

  VerifyReport run() {
    if (!info_.damage.empty()) report_.problems.push_back(info_.damage);
    check_database();
    check_events();
    check_sources();
    check_states();
    check_mark();
    if (pages_sound()) check_words();  // a damaged database cannot be asked to check them
    if (!pages_sound())
      report_.problems.push_back(
          fmt::format("{}: {}", store_.database().file().string(), store_.database().damage_text()));
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

  bool pages_sound() const { return store_.database().damaged_pages().empty(); }

  void check_database() {
    const auto lines = [&](const char* pragma, const auto& said) {
      if (!attempt([&] {
            Statement row = store_.database().prepare(pragma);
            while (row.step())
              if (const std::string line = said(row); !line.empty()) {
                report_.problems.push_back(fmt::format("{}: {}", store_.database().file().string(), line));
                tables_sound_ = false;
              }
          }))
        tables_sound_ = false;
    };
    lines("PRAGMA integrity_check(20)",
          [](const Statement& row) { return row.text(0) == "ok" ? "" : row.text(0); });
    lines("PRAGMA foreign_key_check", [](const Statement& row) {
      return fmt::format("a row of {} refers to one of {} that is not there", row.text(0), row.text(2));
    });
  }

  void check_events() {
    if (!attempt([&] {
          for (const StoredEvent& event : journal_.events()) {
            ++report_.events;
            if (!event.damage.empty()) {
              report_.problems.push_back(event.damage);
              lost_.push_back(fmt::format("event {}", event.number));
              continue;
            }
            for (const auto& id : {event.source, event.answer})
              if (id) sources_.insert(*id);
          }
        }))
      tables_sound_ = false;
  }

  void check_sources() {
    for (std::int64_t id : sources_) {
      ++report_.sources;
      const StoredSource source = journal_.source(id);
      if (!source.lost()) continue;
      report_.problems.push_back(source.damage);
      lost_.push_back(
          fmt::format("the text of source #{}{}{}", id, source.name.empty() ? "" : " ", source.name));
    }
  }

  void check_mark() {
    const MarkFound mark = read_mark(store_.mark_path(info_.id));
    attempt([&] {
      behind_ = store_.behind_mark(info_.id, mark);
      if (!behind_.empty()) report_.problems.push_back(behind_);
      if (mark.mark && mark.damaged)
        report_.problems.push_back(
            fmt::format("{}: one of its two records is damaged; the next change renews it",
                        store_.mark_path(info_.id).string()));
    });
  }

  void check_states() {
    std::set<std::int64_t> seen;
    for (const StateRow& row : store_.states(info_.id)) {
      ++report_.states;
      const auto path = store_.state_path(row.file);
      attempt([&] {
        check_state_row(row, path);
        engine::verify_session_file(io::Safetensors::open(path));
        report_.bytes += row.size;
      });
      for (const SegmentRow& segment : store_.segments(row.id)) {
        if (!seen.insert(segment.id).second) continue;
        ++report_.segments;
        if (attempt([&] { verify_segment(store_.segment_path(segment.file.file), segment.file); })) {
          report_.bytes += segment.file.size;
        } else {
          damaged_.insert(segment.id);
        }
      }
    }
  }

  void check_words() {
    if (!TextIndex::exists(store_.database(), info_.id)) return;  // made when it is first written to
    attempt([&] { TextIndex(store_.database(), info_.id).check(); });
  }

  // What is lost, and what to do. Each advice leads on: nothing here advises what would advise this.
  std::string verdict() const {
    if (report_.problems.empty()) return "";
    const std::string salvage = fmt::format(
        "`mplus session export {} FILE --salvage` saves everything that is sound; `mplus session import` "
        "makes a "
        "session of it, in a new store if need be",
        io::shown(info_.name));
    if (!tables_sound_) return "the database itself is damaged: " + salvage;
    if (!info_.damage.empty()) return "the session's settings are damaged: " + salvage;
    std::string text;
    for (const std::string& lost : lost_) text += (text.empty() ? "lost: " : ", ") + lost;
    if (!lost_.empty())
      text += fmt::format(
          ". Everything else goes on; what the memory keeps of it stays until the memory is made again. "
          "`mplus session forget {} '#N'` removes what is left of a source",
          io::shown(info_.name));
    if (!behind_.empty()) text += (text.empty() ? "" : ". ") + behind_;
    if (!text.empty()) return text;
    if (!damaged_.empty())
      return "nothing is lost: `mplus session rebuild` makes the memory again from the journal";
    if (!pages_sound()) return "nothing is lost: the next change to the session writes the database anew";
    return "nothing is lost: the damaged file is passed over, and the journal has the rest";
  }

  Store& store_;
  SessionInfo info_;
  Journal journal_;
  VerifyReport report_;
  std::set<std::int64_t> sources_, damaged_;
  std::vector<std::string> lost_;
  std::string behind_;
  bool tables_sound_ = true;
};

std::string compare_rows(const memory::Layout& layout, const memory::RowsView& a, std::int64_t i,
                         const memory::RowsView& b, std::int64_t j, bool values) {
  if (a.birth[i] != b.birth[j]) return fmt::format("birth {} and {}", a.birth[i], b.birth[j]);
  if (!values) return "";
  const auto differ = [](const void* x, const void* y, std::size_t bytes) {
    return std::memcmp(x, y, bytes) != 0;
  };
  if (a.format != b.format)
    return fmt::format("birth {}: {} and {}", a.birth[i], row_format_name(a.format),
                       row_format_name(b.format));
  if (differ(a.k_row(layout, i), b.k_row(layout, j), layout.kv_bytes(a.format)))
    return fmt::format("key of birth {}", a.birth[i]);
  if (differ(a.v_row(layout, i), b.v_row(layout, j), layout.kv_bytes(a.format)))
    return fmt::format("value of birth {}", a.birth[i]);
  if (a.key && differ(a.key_row(layout, i), b.key_row(layout, j), layout.key_bytes(a.format)))
    return fmt::format("retriever key of birth {}", a.birth[i]);
  return "";
}

}  // namespace

VerifyReport verify_session(Store& store, const std::string& name) {
  return Verification(store, store.look_at(name)).run();
}

std::string first_difference(const engine::Session& a, const engine::Session& b, bool values) {
  const memory::Memory &x = a.memory(), &y = b.memory();
  const memory::Layout& layout = x.layout();
  if (x.updates() != y.updates()) return fmt::format("{} updates and {}", x.updates(), y.updates());
  if (x.tail_rows() != y.tail_rows())
    return fmt::format("tail of {} rows and {}", x.tail_rows(), y.tail_rows());
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    if (!layout.remembering.contains(l)) continue;
    const memory::RowsView slots = x.short_term(l), others = y.short_term(l);
    if (slots.n != others.n) return fmt::format("layer {}: {} slots and {}", l, slots.n, others.n);
    for (std::int64_t r = 0; r < slots.n; ++r)
      if (const auto d = compare_rows(layout, slots, r, others, r, values); !d.empty())
        return fmt::format("layer {}, slot {}: {}", l, r, d);
    for (const memory::Memory* memory : {&x, &y})
      for (const memory::SegmentUse& use : memory->long_term().segments())
        use.segment->touch(l, memory::SegmentPart::retriever_keys);
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
    if (!event.damage.empty()) continue;
    if (event.kind == EventKind::import) {
      report.replay = "not possible: it was imported without a journal";
      return;
    }
    const bool forgets = event.kind == EventKind::forget;
    const ForgetDetails forgot =
        forgets ? forget_details(event, fmt::format("session {}: event {}: ", io::shown(name), event.number))
                : ForgetDetails{};
    if (forgets && !forgot.exact && !forgot.rewritten) {
      report.replay =
          "not possible: an older version forgot something without --exact, and later rows may carry traces "
          "of it";
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
    if (!chunks.empty())
      report.verdict = "nothing is lost: the next change to the session indexes its words again";
  }
  const bool same_numerics = as_stored.info().settings.numerics_id == as_stored.session().numerics_id();
  std::string difference = first_difference(as_stored.session(), replayed.session(), same_numerics);
  if (difference.empty() && same_numerics)
    if (const auto wrong = as_stored.wrongly_rewritten(); !wrong.empty())
      difference = fmt::format(
          "chunk {}, written again when something was forgotten, is not what its text gives", wrong.front());
  if (!difference.empty()) {
    report.problems.push_back(
        fmt::format("session {}: stored and replayed differ: {}", io::shown(name), difference));
    report.replay = "differs";
    report.verdict = "the memory is not what the journal leads to: `mplus session rebuild` makes it again";
    return;
  }
  report.replay = same_numerics
                      ? "equal, bit for bit"
                      : "equal in structure; written under other arithmetic, so values are not compared";
  if (const std::int64_t event = as_stored.pinned_event(); event >= 0)
    report.replay += fmt::format(
        "; from event {} on, when something was forgotten: its text, which replay from the start needs, is "
        "gone",
        event);
}

}  // namespace mplus::store
