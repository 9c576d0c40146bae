#include "mplus/store/session/stored_steps.h"

#include <utility>

#include "mplus/io/text/json.h"

namespace mplus::store {

// A failure unwinds the steps before the session is read again: they refer to it.
template <class Doing>
auto StoredIngestion::guarded(Doing&& doing) {
  try {
    return doing();
  } catch (...) {
    ingestion_.reset();
    session_.read_again();
    throw;
  }
}

StoredIngestion::StoredIngestion(StoredSession& session, std::string name, std::string text,
                                 engine::Progress progress, engine::Until until)
    : session_(session), name_(std::move(name)), text_(std::move(text)) {
  session.require_writer();
  begun_ = session.begin_document({.source = name_, .text = text_});
  ingestion_.emplace(engine::Ingestion::of_views(*session.session_, begun_.rest, std::move(progress),
                                                 std::move(until), session.journal_sink()));
}

StoredIngestion::~StoredIngestion() {
  if (!ingestion_) return;
  try {
    end();
  } catch (...) {  // the session is not what the store holds, and refuses to go on
  }
}

void StoredIngestion::end() {
  result_ = ingestion_->result();
  ingestion_.reset();
  session_.end_document(begun_, result_);
}

engine::Work* StoredIngestion::next_work() {
  return guarded([&]() -> engine::Work* {
    if (!ingestion_) return nullptr;
    engine::Work* work = ingestion_->next_work();
    session_.save_due_state();
    if (!work) end();
    return work;
  });
}

void StoredIngestion::take(engine::WorkResult result) {
  guarded([&] {
    ingestion_->take(std::move(result));
    session_.save_due_state();
  });
}

template <class Doing>
auto StoredTurn::guarded(Doing&& doing) {
  try {
    return doing();
  } catch (...) {
    generation_.reset();
    session_.read_again();
    throw;
  }
}

StoredTurn::StoredTurn(StoredSession& session, std::string_view message, engine::GenerateOptions options)
    : session_(session), before_(session.journal().last_number()) {
  session.require_writer();
  generation_.emplace(
      engine::Generation::say(*session.session_, message, std::move(options), session.journal_sink()));
}

engine::Work* StoredTurn::next_work() {
  return guarded([&] { return generation_->next_work(); });
}

void StoredTurn::take(engine::WorkResult result) {
  guarded([&] {
    generation_->take(std::move(result));
    session_.save_due_state();
  });
}

void StoredTurn::note_request(const std::string& name) noexcept {
  try {
    auto event = session_.journal_.last();
    if (!event || event->number == before_ || event->kind != EventKind::turn) return;  // it was not taken
    io::Json details = io::parse_json(event->details, "details");
    details["request"] = name;
    event->details = details.dump();
    Transaction transaction(session_.store_->database(), session_.durability());
    session_.journal_.renew(*event);
    transaction.commit();
    session_.store_->mark(session_.info_.id);
  } catch (const std::exception& error) {
    session_.warn(error.what());
  }
}

std::optional<StoredEvent> turn_of_request(const StoredSession& session, const std::string& name) {
  for (StoredEvent& event : session.journal().events()) {
    if (event.kind != EventKind::turn || !event.damage.empty()) continue;
    const io::Json details = io::parse_json(event.details, "details");
    if (io::JsonFields(details, "details").string("request") == name) return std::move(event);
  }
  return std::nullopt;
}

}  // namespace mplus::store
