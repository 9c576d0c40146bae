// A session is one memory and the conversation around it: it remembers documents, answers questions, talks. A
// read (ask, generate, score) changes nothing; remember, say and flush do. Each is a Generation or an
// Ingestion that runs by itself to its end; who serves many sessions runs those side by side. Sessions of one
// engine share its weights and runner: one thread at a time per engine.
//
//   mplus::engine::Engine engine({.files = mplus::engine::locate_model("", "")});
//   mplus::engine::Session session(engine);
//   session.remember(text, "notes.txt");
//   std::cout << session.ask("Where did I leave the key?").text;
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mplus/engine/answer/answer.h"
#include "mplus/engine/answer/talk_rows.h"
#include "mplus/engine/engine.h"
#include "mplus/engine/event.h"
#include "mplus/engine/record.h"
#include "mplus/engine/run/steps.h"
#include "mplus/memory/window.h"

namespace mplus::engine {

// A token that is not in memory yet, and where it came from.
struct WindowToken {
  io::TokenId id = 0;
  std::int64_t source = 0;
  std::int64_t index = 0;                     // in its source
  std::int64_t byte_begin = 0, byte_end = 0;  // empty for a template's tokens
};

// Text to be remembered, as text or, without a tokenizer, as ids.
struct Document {
  std::string_view source = {};
  std::string_view text = {};
  std::span<const io::TokenId> ids = {};
  std::int64_t first_token = 0;  // where to go on in a document that was not taken in to its end
  const io::Tokenizer::Offsets* encoded = nullptr;  // what `text` becomes, where that is known already
};

struct RememberResult {
  std::int64_t tokens = 0;       // of the text
  std::int64_t token_begin = 0;  // of them, those taken in earlier
  std::int64_t token_end = 0;    // and by now
  std::int64_t updates = 0;      // written now; short text waits in the window
  bool complete = true;          // false: stopped on request, between two updates
};

// What forgetting takes, and what of other sources it writes again.
struct ForgetResult {
  std::int64_t updates = 0;        // whose rows go
  std::int64_t rows = 0;           // of them, over all layers
  std::int64_t segments = 0;       // of the long-term store, that held some of them
  std::int64_t window_tokens = 0;  // gone from the window
  // Text of others in these updates, which stays: by update, those without any left out.
  std::map<std::int64_t, std::vector<Span>> written_again = {};
};
// The ids of a source where its text does not tell them: of a document given as ids, of an answer. Empty: not
// known.
using IdsOfSource = std::function<std::vector<io::TokenId>(std::int64_t source)>;

// Called between updates with tokens done and to do; false stops.
using Progress = std::function<bool(std::int64_t done, std::int64_t total)>;

struct ScoreOptions {
  std::int64_t scouts_end = -1;  // tokens before it ask what to recall; −1: all
  GenerateOptions read;          // recall, prior, taps and why are used
};
struct Score {
  std::vector<double> nll;  // of tokens 1 … n−1, nats
  std::vector<io::TokenId> argmax;
  std::vector<WhyChunk> why;
};

// What a write does when it is asked to stop.
struct Stopping {
  OnStop how = OnStop::finish;
  StopFlag flag = nullptr;  // looked at in every layer
};

// All that a session is, apart from the engine it runs on: what a file keeps of it (files/session_file.h).
struct SessionState {
  // As a new session has it. `long_term`: how rows are kept once they are dropped, if not as the engine says.
  SessionState(Engine& engine, std::uint64_t seed, std::optional<RowFormat> long_term = {});

  memory::Memory memory;
  memory::WindowRows rows;          // of the window's first tokens, those read already
  std::vector<WindowToken> window;  // text not in memory: the conversation, and documents too short to write
  Record record;
  std::int64_t turns = 0;
};

class Session {
 public:
  explicit Session(Engine& engine, std::uint64_t seed = 0, std::optional<RowFormat> long_term = {});
  Session(Engine& engine, SessionState state);
  // A window alone, as long as the model's context: nothing is written, and its rows are kept as they are
  // computed. A model with a memory reads with its adapter over an empty one. It is not saved.
  static Session without_memory(Engine& engine);

  // Writes a document. Text shorter than K tokens waits in the window until there is more of it or flush().
  // `told`: who is told of what changed, here and below.
  RememberResult remember(const Document& document, const Progress& progress = {}, const Until& until = {},
                          const EventSink& told = {});
  RememberResult remember(std::string_view text, std::string_view source, const Progress& progress = {});
  RememberResult remember_ids(std::span<const io::TokenId> ids, std::string_view source,
                              const Progress& progress = {});
  // One chunk into each of several sessions of one engine, in one pass; bit for bit what remember() writes.
  // Every document has K to C tokens, and no document waits in a window.
  static void remember_together(std::span<Session* const> sessions, std::span<const Document> documents);
  // Writes what waits in the window; returns the number of updates.
  std::int64_t flush(const EventSink& told = {});

  // Nothing of the session changes: they read on a copy. In the model's own prompt form; plain continuations.
  Answer ask(std::string_view question, const GenerateOptions& options = {}) const;
  Answer generate(std::string_view prompt, const GenerateOptions& options = {}) const;
  Answer generate_ids(std::span<const io::TokenId> prompt, const GenerateOptions& options = {}) const;
  Score score(std::span<const io::TokenId> ids, const ScoreOptions& options = {}) const;

  // For a session without memory: ids come behind the window and are read now, once for all that is asked
  // behind them. Returns the most likely token to follow.
  io::TokenId read(std::span<const io::TokenId> ids, const model::ReadTaps* taps = nullptr);
  // Of the window, which was read, these rows of each layer alone stay (memory::WindowRows::keep).
  void keep_read(std::span<const std::vector<std::int64_t>> rows);

  // A turn of conversation. One that fails, or is stopped before its answer begins, leaves nothing behind.
  Answer say(std::string_view message, const GenerateOptions& options = {}, const EventSink& told = {});
  void set_system_message(std::string_view text, const EventSink& told = {});  // before the first turn

  // What these sources (of record()) left leaves memory, tail and window; their texts leave the record. Other
  // text of the same updates is written again in place: its rows have the births of those they replace. Rows
  // written later may carry traces.
  ForgetResult forget(const std::vector<std::int64_t>& sources, const IdsOfSource& ids = {});
  Steps<ForgetResult> forget_steps(const std::vector<std::int64_t>& sources,
                                   const IdsOfSource& ids);                  // the same; both must outlive it
  ForgetResult forget_plan(const std::vector<std::int64_t>& sources) const;  // the same, but nothing changes
  // Whether an update's rows are what forgetting writes of its text, bit for bit.
  bool is_as_written_again(std::int64_t update, const IdsOfSource& ids = {}) const;

  Session(Session&&) = default;
  Session& operator=(Session&&) = default;
  Session fork() const;  // shares segments; goes its own way from here
  // Recorded drops for the next updates, in order (replaying a reference run); afterwards drops are random
  // again.
  void inject_drops(std::vector<memory::Drops> drops) { injected_drops_ = std::move(drops); }

  // The same long-term rows, kept elsewhere (memory::LongTermStore::replace).
  void replace_segments(std::size_t first, std::size_t count,
                        std::vector<memory::LongTermStore::Replacement> by) {
    memory_.replace_segments(first, count, std::move(by));
  }

  Engine& engine() const { return *engine_; }
  const memory::Memory& memory() const { return memory_; }
  const Record& record() const { return record_; }
  const std::vector<WindowToken>& window() const { return window_; }
  std::uint64_t seed() const { return memory_.seed(); }
  std::string numerics_id() const { return engine_->numerics_id(memory_.layout().long_term); }
  const memory::WindowRows& window_rows() const { return rows_; }
  std::int64_t turns() const { return turns_; }
  bool is_memoryless() const { return memoryless_; }              // made by without_memory()
  const TalkRows* talk_rows() const { return talk_rows_.get(); }  // null: none are kept

 private:
  friend class Answering;
  friend class Generation;
  friend class Ingestion;

  // While a Generation or an Ingestion changes the session nothing else may.
  class Change {
   public:
    explicit Change(Session& session);
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change();

   private:
    Session& session_;
  };

  // Back to how the session was, unless it is to be kept.
  class Undo {
   public:
    Undo(Session& session, bool wanted) : session_(session) {
      if (wanted) before_ = std::make_unique<Session>(session.fork());
    }
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;
    ~Undo() {
      if (before_) session_.become(std::move(*before_));
    }
    void keep() { before_.reset(); }

   private:
    Session& session_;
    std::unique_ptr<Session> before_;
  };

  Session(const Session&) = default;
  void become(Session&& other);  // its state

  bool has_memory() const { return engine_->has_memory() && !memoryless_; }
  std::int64_t window_tokens() const;  // at most
  void require_memory(const char* what) const;
  void check_ids(std::span<const io::TokenId> ids) const;
  std::int64_t window_size() const { return static_cast<std::int64_t>(window_.size()); }

  // Tokens of a text of source number `source`; ids alone have no place in a text.
  std::vector<WindowToken> tokens_of(std::string_view text, std::int64_t source) const;
  static std::vector<WindowToken> tokens_of(const io::Tokenizer::Offsets& encoded, std::int64_t source);
  static std::vector<WindowToken> tokens_of(std::span<const io::TokenId> ids, std::int64_t source);
  std::vector<WindowToken> tokens_of(const Document& document) const;

  // The source a document belongs to: a new one, or the one it goes on in.
  std::int64_t source_of(const Document& document);
  static std::vector<Span> spans_of(std::span<const WindowToken> tokens);  // neighbours of a source make one
  std::vector<Span> told_in_window(std::int64_t end) const;                // by its first tokens
  std::vector<WindowToken> waiting_documents() const;  // too short to be written, in order
  void drop_waiting_documents();                       // out of the window
  // An update of the memory; the record is the caller's. False: stopped before it was written. The tokens
  // must stay until then.
  Steps<bool> write_rows(std::span<const WindowToken> tokens, Stopping stopping);
  // The window's first tokens become one update.
  Steps<bool> write_front(std::int64_t count, Stopping stopping = {});
  Steps<std::int64_t> write_window();  // all of it; the number of updates

  // Puts tokens that will be read behind the window, writing what no longer fits.
  Steps<> append_prompt(std::vector<WindowToken> tokens, Stopping stopping = {});
  std::vector<WindowToken> message_tokens(const io::ChatTemplate::MessageIds& part, Speaker speaker,
                                          std::string_view text);  // of a new source

  // Updates that forgetting changes, with the text that stays in each.
  using TextLeft = std::map<std::int64_t, std::vector<Span>>;
  TextLeft text_left(const std::vector<std::int64_t>& sources) const;
  ForgetResult forget_plan(const std::vector<std::int64_t>& sources, const TextLeft& left) const;
  Steps<memory::Rewriting> write_again(const TextLeft& left, const IdsOfSource& ids) const;

  GenerateOptions asking(const GenerateOptions& options, std::string_view question) const;
  // A turn; with `replayed` its answer is taken from there. All arguments must outlive it.
  Steps<Answer> turn(std::string_view message, const GenerateOptions& options, const TurnTaken* replayed);
  Steps<> begin_conversation();
  Steps<> close_answer(const Answer& answer, std::int64_t source, std::int64_t opening);
  Steps<io::TokenId> read_steps(std::span<const io::TokenId> ids, const model::ReadTaps* taps);
  Steps<Score> score_steps(std::span<const io::TokenId> ids, const ScoreOptions& options) const;
  // Puts the text of remembered chunks into the window in front of place `at`, for one read.
  std::vector<std::int64_t> insert_reread(std::int64_t at, std::span<const std::int64_t> best_first,
                                          std::int64_t n, std::int64_t answer_tokens);
  void drop_reread();  // out of the window again; at an overflow, else when the answer ends

  Engine* engine_;
  memory::Memory memory_;
  memory::WindowRows rows_;
  std::vector<WindowToken> window_;
  Record record_;
  std::int64_t turns_ = 0;
  struct {
    std::int64_t begin = 0, count = 0;
  } reread_;  // window tokens that are there for one read only; all zero where there are none
  std::vector<memory::Drops> injected_drops_;
  bool changing_ = false;
  bool memoryless_ = false;  // though the model may have one
  std::shared_ptr<const TalkRows> talk_rows_;
  // Of a copy in which the base model answers by itself (answer/answering_talk.cpp).
  struct {
    bool as_long = false;    // its prompt is read so that rows of it can be kept
    std::int64_t start = 0;  // rows of the template's start
    std::int64_t kept = 0;   // rows behind them from an earlier answer, which count as read for this one
  } talk_;
};

}  // namespace mplus::engine
