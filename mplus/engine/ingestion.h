// A document on its way into a session, or a flush: work that a Runner does chunk by chunk. The session must
// outlive it, and nothing else may change the session meanwhile; it owns everything else, the text included.
//
// A chunk is acknowledged, by an event, as soon as it is in memory. Stopped or dropped anywhere, the session
// is as it was after the last one acknowledged, and before any it has not changed at all. A flush is one: all
// of it, or nothing.
#pragma once

#include <memory>

#include "mplus/engine/session.h"

namespace mplus::engine {

class Ingestion {
 public:
  // `told`: of each chunk, and of a flush.
  Ingestion(Session& session, const Document& document, Progress progress = {}, Until until = {},
            EventSink told = {});
  // The same without a copy: what the document refers to must outlive it.
  static Ingestion of_views(Session& session, const Document& document, Progress progress = {},
                            Until until = {}, EventSink told = {});
  static Ingestion flush(Session& session, Until until = {}, EventSink told = {});
  Ingestion(Ingestion&& other) noexcept;
  Ingestion& operator=(Ingestion&&) = delete;
  ~Ingestion();

  Work* next_work();             // the same until its result was taken; null: it has ended
  void take(WorkResult result);  // throws where the work failed
  void stop();
  const RememberResult& result() const;  // so far; complete once all of it was taken in

 private:
  struct State;
  explicit Ingestion(std::unique_ptr<State> state);
  static Steps<> remember(State& state);
  static Steps<> write_all(State& state);

  std::unique_ptr<State> state_;
};

}  // namespace mplus::engine
