// A session that lasts: every change is in the journal before the call returns, and from journal and saved
// states the session can be opened again, by this process or another, on this day or a later one, however the
// last one ended.
//
//   store::Store sessions(engine::home_folder());
//   store::StoredSession session(sessions, engine, "notes", store::Access::write);
//   session.remember({.source = "notes.txt", .text = text});
//   session.session().ask("Where did I leave the key?").text;
#pragma once

#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/engine/run/runner.h"
#include "mplus/engine/session.h"
#include "mplus/store/segments/segment_merge.h"
#include "mplus/store/store.h"
#include "mplus/store/words/text_index.h"

namespace mplus::store {

struct StoredOptions {
  std::uint64_t seed = 0;         // of a session that is made now
  std::int64_t state_every = 16;  // updates between states: what a process that dies leaves to be replayed
  bool batch =
      false;  // leaves the last seconds to the operating system: they survive this process, not the machine
  bool without_states = false;  // made again from the journal, and what no journal leads to
  std::function<void(const std::string&)> warn = {};  // what was found damaged and left aside
  std::function<bool(std::int64_t done, std::int64_t total)> replay_progress = {};  // in events
  std::function<bool(std::int64_t writes)> rebuild_progress = {};  // after each write; false stops it
};

// What is known of a document by its name and content.
struct DocumentState {
  std::optional<std::int64_t> source = {};  // none: it is not known
  bool complete = false;
  std::int64_t token_end = 0;  // where to go on
};

struct ForgetReport {
  std::vector<std::string> sources;        // names
  engine::ForgetResult removed;            // without `exact`
  std::vector<std::string> written_again;  // without it: names of the others whose text stood beside theirs
  std::int64_t replayed_events = 0;        // with it
  std::vector<std::string> answers;        // given later, which had recalled the source: each one's question
  std::vector<std::string> holders;        // other sessions that still hold the text
  Store::Leftover left = {};               // of the text on disk, and why
};

class StoredSession {
 public:
  StoredSession(Store& store, engine::Engine& engine, const std::string& name, Access access,
                StoredOptions options = {});
  // The same in two parts: open_steps() must have been run to its end before it is used.
  struct InSteps {};
  StoredSession(Store& store, engine::Engine& engine, const std::string& name, Access access,
                StoredOptions options, InSteps);
  engine::Steps<> open_steps();
  ~StoredSession();  // saves a state if that spares the next one work; failures are left to the journal
  StoredSession(const StoredSession&) = delete;
  StoredSession& operator=(const StoredSession&) = delete;

  const SessionInfo& info() const { return info_; }
  // To be asked, and looked at. What changes it goes through the stored session, or the journal would not
  // know.
  const engine::Session& session() const { return *session_; }
  std::int64_t replayed_events() const { return replayed_events_; }  // when it was opened
  bool whole() const {
    return damaged_events_.empty() && !behind_;
  }  // no event was missing; texts may be lost

  DocumentState document(const engine::Document& document) const;
  // Continues a document of the same name and content that was not taken in to its end.
  engine::RememberResult remember(const engine::Document& document, const engine::Progress& progress = {});
  engine::Answer say(std::string_view message, const engine::GenerateOptions& options = {});
  void set_system_message(std::string_view text);
  std::int64_t flush();
  engine::Steps<std::int64_t> flush_steps();

  // The last n texts, turns and flushes are as if they had not been. A forgetting is passed over: what was
  // forgotten stays so. If one lies behind the first of them, the memory is made again from the journal.
  void undo(std::int64_t n);
  engine::Steps<> undo_steps(std::int64_t n);  // so that a Runner can do other sessions' work beside it
  // `source`: a name, or "#7", the number of one source. `exact`: the memory is made again without it.
  ForgetReport forget(const std::string& source, bool exact);
  engine::Steps<ForgetReport> forget_steps(std::string source, bool exact);
  ForgetReport forget_plan(const std::string& source, bool exact) const;  // what that would do

  void save_state();  // now; a later opening starts here
  void close();       // as the destructor does, but failures are thrown

  // The words of what was written take part in recall.
  void serve_words(engine::GenerateOptions& options);

  // Counts the sources an answer drew on; never fails.
  void note_recall(const engine::Answer& answer);
  std::int64_t source_id(std::int64_t record_source) const {
    return source_ids_[static_cast<std::size_t>(record_source)];
  }
  const std::vector<std::int64_t>& source_ids() const { return source_ids_; }
  const Journal& journal() const { return journal_; }

  // The event from which on the journal leads to the memory: an import or a forgetting left what was before.
  // −1: all of it does.
  std::int64_t pinned_event() const;
  // Updates that forgettings wrote again, and of these such as are not what their texts give, bit for bit.
  std::vector<std::int64_t> rewritten_updates() const;
  std::vector<std::int64_t> wrongly_rewritten() const;

 private:
  friend class StoredIngestion;
  friend class StoredTurn;
  friend void rebuild_session(Store&, engine::Engine&, const std::string&, StoredOptions,
                              std::optional<RowFormat>);
  friend void import_session(Store&, engine::Engine&, const std::filesystem::path&, const std::string&);
  struct NotLoaded {};
  StoredSession(Store& store, engine::Engine& engine, const SessionInfo& info, StoredOptions options,
                NotLoaded);

  // A session that was imported: `add_events` puts them in the journal and returns the sources' ids.
  void take_over(const std::function<std::vector<std::int64_t>()>& add_events, bool pinned);
  void check_model() const;
  void require_writer() const;
  Durability durability() const { return options_.batch ? Durability::process : Durability::machine; }
  void warn(const std::string& message) const;
  engine::EventSink journal_sink();  // who is told of every change

  // Which way a session is made again.
  struct Replay {
    std::int64_t states_before =
        std::numeric_limits<std::int64_t>::max();  // states of later events do not count
    std::int64_t recalled_before =
        std::numeric_limits<std::int64_t>::max();  // turns from here on recall anew
    std::vector<std::int64_t> without = {};        // sources that are left out
    std::vector<std::int64_t> undone = {};         // events that are left out
    bool from_pinned = false;                      // states that the journal leads to do not count
    bool cut_anew = false;   // other sizes: a document that was stopped is stopped at another place
    bool other_ids = false;  // another tokenizer: places are known by their bytes only
  };
  // The newest sound state, then the events behind it.
  void load() { load(Replay{}); }
  void load(Replay how);
  engine::Steps<> load_steps(Replay how);
  bool begin_loading(Replay& how, bool may_look_again);  // false: look again
  enum class Found { state, nothing, vanished };
  Found load_newest_state(const Replay& how, bool may_look_again);
  void load_state(const StateRow& row);
  engine::Steps<> replay_events(const std::vector<StoredEvent>& events, const Replay& how);
  engine::Steps<> replay_event(const StoredEvent& event, const Replay& how);
  void find_places(StoredEvent& event, const StoredSource& source, bool other_ids) const;
  engine::Steps<> replay_text(StoredEvent event, const Replay& how);
  engine::Steps<> replay_turn(StoredEvent event, const Replay& how);
  void say_what_is_damaged(const MarkFound& mark);
  // Of a rebuild (stored_rebuild.cpp).
  void take_up_rebuild(Settings target);
  Found load_rebuild();
  void take_passed();
  void pass(const StoredEvent& event);
  void keep_when_due();
  void keep_rebuild();
  engine::Steps<std::int64_t> flush_once();
  engine::Steps<> undo_once(std::int64_t n);
  engine::Steps<> undo_from_the_start(std::vector<std::int64_t> undone);
  engine::Steps<ForgetReport> forget_once(const std::string& source, bool exact);
  engine::Steps<ForgetReport> forget_here(ForgetReport report, const std::vector<std::int64_t>& ids,
                                          std::set<std::int64_t>& rewritten, bool& pinned);
  // The steps of one session alone.
  template <class T>
  T alone(engine::Steps<T> steps) {
    engine::StepsUnderWay<T> under_way(std::move(steps));
    engine::run_alone(engine_->runner(), under_way);
    return under_way.result();
  }
  // As `change`, for a change that takes steps: `once` begins it.
  template <class T, class Once>
  engine::Steps<T> changing(Once once);
  // Runs a change; if it fails half-way the session is read again from what is durable.
  template <class Change>
  auto change(Change&& change) {
    require_writer();
    try {
      return change();
    } catch (...) {
      recover(std::current_exception());
    }
    return change();  // it met damage that has been mended
  }
  // Throws the failure on, unless it was damage that has been mended.
  void recover(const std::exception_ptr& failure);
  void read_again();
  // Around an Ingestion: what is left to be taken in, and where the journal stood before.
  struct DocumentBegun {
    engine::Document rest;
    std::int64_t position = 0, token = 0;
  };
  DocumentBegun begin_document(const engine::Document& document);
  engine::RememberResult take_in(const engine::Document& rest, const engine::Progress& progress);
  void end_document(const DocumentBegun& begun, const engine::RememberResult& result);
  // Damage that was met while reading is put in order, so that writing can go on.
  void mend();

  TextIndex::Place position() const { return {position_, position_token_}; }
  void index_words();
  void serve_own_words(engine::GenerateOptions& options);

  void warn_of(const StoredSource& source, std::string_view what_follows);
  std::shared_ptr<const engine::Source> record_source(const StoredSource& stored, std::int64_t bytes);

  // Into the journal. The session tells of an event in the middle of its work, so that nothing of it changes
  // here: a state that is due is saved behind the step.
  void take(const engine::Event& event);
  void save_due_state();
  // A change of this session alone, to its end.
  template <class Task>
  void run(Task& task) {
    while (engine::Work* work = task.next_work()) {
      engine::WorkItem item{work};
      engine_->runner().step({&item, 1});
      task.take(std::move(item.result));
      save_due_state();
    }
    save_due_state();
  }
  void take_text(const engine::TextTaken& text);
  void take_turn(const engine::TurnTaken& turn);
  void note_sources(std::initializer_list<std::int64_t> ids);

  // Holds on to them: another segment must not come to lie at the same address.
  using SavedSegments = std::map<std::shared_ptr<const memory::Segment>, SegmentRow>;

  // A state whose files are written, but which no row names yet.
  struct NewState {
    std::string file;
    std::int64_t size = 0;
    struct Use {
      std::shared_ptr<const memory::Segment> segment;
      SegmentRow row;  // id 0: new
    };
    std::string header;  // checksum of the file's header
    std::vector<Use> segments;
    std::vector<std::filesystem::path> before;  // files of the states so far
  };
  NewState write_state_files(const io::StringMap& more_metadata = {});
  std::vector<NewState::Use> write_segments();
  // Small segments are merged beside what the session does, and used from the next state on.
  void look_for_merges();
  void begin_merging();
  SavedSegments take_merged();
  std::size_t saved_segments() const;
  void insert_state(NewState& fresh, std::int64_t session, bool pinned);  // inside a transaction
  void finish_state(const NewState& fresh);
  void drop_old_states();
  // A memory that was made another way than by adding an event.
  struct Remade {
    StoredEvent event;
    std::vector<std::int64_t> forgotten = {};  // sources
    std::vector<std::int64_t> undone = {};     // events
    bool pinned = false;                       // the journal does not lead to it
  };
  void commit_remade(Remade remade);  // no state from before counts any more
  std::optional<StateRow> pinned_state() const;
  bool was_imported() const;  // without a journal
  DocumentState document_of(std::string_view name, const std::string& hash) const;
  // A rebuild under way. What it has written is kept from time to time, in a session of its own that nobody
  // sees, so that it goes on there when this process has died.
  struct Rebuild {
    Settings target = {};
    std::int64_t id = 0;                   // of that session; 0: nothing is kept yet
    std::int64_t taken = -1;               // the last event that it has read to its end
    std::vector<StoredEvent> passed = {};  // events since it was kept, as they are to be
    bool inside = false;  // a document, of which more was told in this step: what is due is kept behind it
  };

  std::vector<std::int64_t> sources_named(const std::string& source) const;
  std::vector<std::string> answers_that_recalled(const std::vector<std::int64_t>& sources) const;
  ForgetReport report_of(const std::vector<std::int64_t>& ids) const;
  std::int64_t first_event_of(const std::vector<std::int64_t>& ids) const;  // throws where an import was
  std::vector<std::int64_t> record_sources(const std::vector<std::int64_t>& ids) const;
  void name_written_again(ForgetReport& report) const;
  engine::IdsOfSource ids_of_sources() const;

  Store* store_;
  engine::Engine* engine_;
  StoredOptions options_;
  SessionInfo info_;
  std::optional<FileLock> lock_;
  Journal journal_;
  std::unique_ptr<engine::Session> session_;
  std::vector<std::int64_t> source_ids_;       // of the record's sources; 0: none, −1: forgotten
  SavedSegments saved_;                        // segments that stand in files
  std::int64_t position_ = -1;                 // the last event in the session
  std::int64_t position_token_ = 0;            // of its text, the tokens in it
  std::optional<std::int64_t> open_document_;  // the event of the document that is being taken in
  std::optional<std::int64_t> continued_;      // the source of the document that goes on
  std::string document_hash_;                  // of the one that is being taken in
  std::int64_t state_position_ = -1, state_updates_ = 0, turns_since_state_ = 0;  // of the newest state
  bool state_is_due_ = false;
  bool merge_is_due_ = false;            // of segments in files
  std::unique_ptr<SegmentMerge> merge_;  // under way
  std::int64_t replayed_events_ = 0;
  std::unique_ptr<TextIndex> words_;      // in the store: events keep it in step
  std::unique_ptr<TextIndex> own_words_;  // in this process: of a reader that the store's has left behind
  std::optional<Rebuild> rebuild_;
  std::vector<StoredEvent> renewed_;  // turns that recalled anew, texts whose tokens were found anew
  std::set<std::int64_t> damaged_events_, lost_sources_;  // met since it was opened, and not put in order yet
  mutable std::set<std::string> said_;                    // warnings: each is said once
  bool behind_ = false;  // the database has lost events that were acknowledged
  bool broken_ = true;   // not, or no longer, what the store holds: nothing of it is saved
};

template <class T, class Once>
engine::Steps<T> StoredSession::changing(Once once) {
  require_writer();
  std::exception_ptr failure;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await once();
      co_return;
    } else {
      T result = co_await once();
      co_return result;
    }
  } catch (...) {
    failure = std::current_exception();
  }
  recover(failure);  // it met damage that has been mended, or does not get here
  if constexpr (std::is_void_v<T>) {
    co_await once();
  } else {
    T result = co_await once();
    co_return result;
  }
}

// What writing a session's texts again would take. Throws invalid_argument where a rebuild for something else
// was stopped.
struct RebuildCost {
  std::int64_t tokens = 0, writes = 0;
  std::int64_t written = 0;  // of the writes: by a rebuild that was stopped and goes on
};
RebuildCost rebuild_cost(Store& store, engine::Engine& engine, const std::string& name,
                         std::optional<RowFormat> long_term = {});

// Writes a session's texts again, under the engine's weights (another delta, model or tokenizer), and with
// `long_term` rows, if they are to be kept in another way. The session stays as it is until all of it is
// written. Stopped or killed, it goes on where it is called again for the same; otherwise it throws
// invalid_argument.
void rebuild_session(Store& store, engine::Engine& engine, const std::string& name,
                     StoredOptions options = {}, std::optional<RowFormat> long_term = {});

}  // namespace mplus::store
