// A document or a turn on its way into a stored session, in steps, so that a Runner can do the work of many
// sessions side by side (engine/run/runner.h). What StoredSession::remember and say do by themselves. Each
// event is in the journal before next_work() or take() returns. What fails leaves the session as the journal
// has it. The session must outlive them, and nothing else may change it meanwhile.
#pragma once

#include <optional>
#include <string>

#include "mplus/engine/generation.h"
#include "mplus/engine/ingestion.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {

class StoredIngestion {
 public:
  // Continues a document of the same name and content that was not taken in to its end.
  StoredIngestion(StoredSession& session, std::string name, std::string text, engine::Progress progress = {},
                  engine::Until until = {});
  StoredIngestion(const StoredIngestion&) = delete;
  StoredIngestion& operator=(const StoredIngestion&) = delete;
  ~StoredIngestion();  // as if stopped, where it has not ended

  engine::Work* next_work();  // null: it has ended
  void take(engine::WorkResult result);
  const engine::RememberResult& result() const { return result_; }  // when it has ended

 private:
  template <class Doing>
  auto guarded(Doing&& doing);
  void end();

  StoredSession& session_;
  std::string name_, text_;
  StoredSession::DocumentBegun begun_;
  std::optional<engine::Ingestion> ingestion_;  // until it has ended
  engine::RememberResult result_;
};

class StoredTurn {
 public:
  StoredTurn(StoredSession& session, std::string_view message, engine::GenerateOptions options);
  StoredTurn(const StoredTurn&) = delete;
  StoredTurn& operator=(const StoredTurn&) = delete;

  engine::Work* next_work();  // null: the answer has ended
  void take(engine::WorkResult result);
  engine::Answer answer() { return generation_->answer(); }  // once, when it has ended
  // When it has ended: what it came by, kept with its event, so that whoever asks again can be told what came
  // of it. Never fails: without it the request is only not known.
  void note_request(const std::string& name) noexcept;

 private:
  template <class Doing>
  auto guarded(Doing&& doing);

  StoredSession& session_;
  std::int64_t before_;  // the last event before it
  std::optional<engine::Generation> generation_;
};

// The turn that came by this request, in force or not.
std::optional<StoredEvent> turn_of_request(const StoredSession& session, const std::string& name);

}  // namespace mplus::store
