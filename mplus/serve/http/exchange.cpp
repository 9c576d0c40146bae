#include "mplus/serve/http/exchange.h"

namespace mplus::serve {

void Exchange::tell() {
  std::function<void()> ready;
  {
    const std::lock_guard lock(mutex_);
    ready = ready_;
  }
  if (ready) ready();
}

Exchange::~Exchange() {
  if (kept_) kept_(nullptr);
}

void Exchange::keep_reply(Kept kept, std::size_t most) {
  const std::lock_guard lock(mutex_);
  kept_ = std::move(kept);
  most_kept_ = most;
}

void Exchange::tell_kept() {
  Kept kept;
  {
    const std::lock_guard lock(mutex_);
    kept = std::exchange(kept_, nullptr);
  }
  if (kept) kept(kept_whole_ ? &copy_ : nullptr);
}

void Exchange::reply(Reply reply) {
  {
    const std::lock_guard lock(mutex_);
    if (begun_) return;
    begun_ = ended_ = true;
    if (kept_) copy_ = reply;
    reply_ = std::move(reply);
    for (auto& header : extra_headers) reply_.headers.push_back(header);
  }
  tell_kept();
  tell();
}

void Exchange::begin_stream(std::string type) {
  {
    const std::lock_guard lock(mutex_);
    if (begun_) return;
    begun_ = streamed_ = true;
    copy_.type = type;
    reply_ = {.status = 200, .type = std::move(type), .headers = extra_headers};
  }
  tell();
}

void Exchange::write(std::string_view piece) {
  {
    const std::lock_guard lock(mutex_);
    if (!streamed_ || ended_) return;
    if (kept_ && copy_.body.size() + piece.size() > most_kept_) kept_whole_ = false;
    if (kept_ && kept_whole_) copy_.body += piece;
    if (gone()) return;
    waiting_ += piece;
    waiting_bytes_ = waiting_.size();
  }
  tell();
}

void Exchange::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  tell_kept();
  tell();
}

bool Exchange::replied() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

Exchange::Pieces Exchange::take() {
  Pieces pieces;
  std::function<void()> room;
  {
    const std::lock_guard lock(mutex_);
    if (!begun_) return pieces;
    pieces.streamed = streamed_;
    pieces.begins = !std::exchange(header_taken_, true);
    if (pieces.begins) pieces.reply = std::move(reply_);
    if (is_full()) room = room_;
    pieces.bytes = std::exchange(waiting_, {});
    waiting_bytes_ = 0;
    pieces.ends = ended_;
  }
  if (room) room();
  return pieces;
}

void Exchange::set_on_ready(std::function<void()> ready) {
  {
    const std::lock_guard lock(mutex_);
    ready_ = std::move(ready);
  }
}

void Exchange::set_on_room(std::function<void()> room) {
  const std::lock_guard lock(mutex_);
  room_ = std::move(room);
}

void Exchange::client_has_gone() {
  std::function<void()> room;
  {
    const std::lock_guard lock(mutex_);
    room = room_;
    waiting_.clear();
    waiting_bytes_ = 0;
  }
  gone_.request_stop();
  if (room) room();
}

}  // namespace mplus::serve
