// One request and its reply, between the connection it came by and whoever answers it, on any thread. A reply
// is given whole, or as a stream of pieces. What the client has not taken yet is bounded: who writes a stream
// looks at is_full() and waits.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "mplus/serve/http/message.h"

namespace mplus::serve {

class Exchange {
 public:
  explicit Exchange(Request asked) : request(std::move(asked)) {}
  ~Exchange();

  const Request request;
  Headers extra_headers = {};  // of the reply; set before it

  // The answering side. The first of reply() and begin_stream() counts; later ones do nothing.
  void reply(Reply reply);
  void begin_stream(std::string type);
  void write(std::string_view piece);
  void end();
  bool replied() const;  // or begun to
  bool is_full() const { return waiting_bytes_ > kMostWaiting; }
  // Called once, with the whole reply when it has ended, also where its client has gone; with null where it
  // never ends, or is a stream of more than `most` bytes. Set before the reply.
  using Kept = std::function<void(const Reply*)>;
  void keep_reply(Kept kept, std::size_t most);
  // The client has gone: nobody reads the reply.
  bool gone() const { return gone_.stop_requested(); }
  std::stop_token gone_token() const { return gone_.get_token(); }

  // The connection's side.
  struct Pieces {
    bool begins = false;  // `reply` has status and headers: of a whole reply, or of a stream
    Reply reply;
    bool streamed = false;
    std::string bytes;  // of a stream
    bool ends = false;
  };
  Pieces take();                                   // what there is now
  void set_on_ready(std::function<void()> ready);  // called on any thread when there is more to take
  void set_on_room(
      std::function<void()> room);  // called when a stream has room again, or its client has gone
  void client_has_gone();

 private:
  static constexpr std::size_t kMostWaiting = 64 * 1024;
  void tell();
  void tell_kept();

  mutable std::mutex mutex_;
  bool begun_ = false, streamed_ = false, ended_ = false, header_taken_ = false;
  Reply reply_;
  std::string waiting_;
  std::atomic<std::size_t> waiting_bytes_ = 0;
  std::stop_source gone_;
  std::function<void()> ready_, room_;
  Kept kept_;   // until it has been told
  Reply copy_;  // for it
  std::size_t most_kept_ = 0;
  bool kept_whole_ = true;
};

}  // namespace mplus::serve
