// Requests with the header Idempotency-Key: what was asked twice is done once, and answered twice. Kept in
// this process; a turn carries its request in the journal, too, so it is known after its end.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mplus/serve/api/services.h"

namespace mplus::serve {

struct IdempotencyLimits {
  std::chrono::seconds kept{24 * 3600};
  std::size_t most = 10'000;                             // replies
  std::size_t most_bytes = std::size_t{64} << 20;        // of all of them
  std::size_t most_bytes_of_one = std::size_t{1} << 20;  // larger ones are not kept
};

// What a request with a key is called: by its key, its caller and all that it asks for. Empty: it has none.
// Throws ApiError where the key is too long.
std::string request_name(const Call& call);

class Idempotency {
 public:
  explicit Idempotency(IdempotencyLimits limits = {})
      : limits_(limits), replies_(std::make_shared<Replies>()) {}

  // True: answered here, with the reply of the first request, or an error: the first is under way, or had
  // the same key and asked for something else. Else the request goes on, and its reply is kept.
  bool answer(const Call& call);

 private:
  struct Entry {
    std::string name;  // of the request
    bool done = false;
    Reply reply;
    std::chrono::steady_clock::time_point at;
    std::list<std::string>::iterator place;
  };
  struct Replies {
    std::mutex mutex;
    std::map<std::string, Entry> entries;  // by key and caller
    std::list<std::string> order;          // of them, oldest first
    std::size_t bytes = 0;

    void remove(std::map<std::string, Entry>::iterator at);
    void keep(const std::string& key, const Reply* reply, const IdempotencyLimits& limits);
  };
  void make_room();  // under the lock

  IdempotencyLimits limits_;
  std::shared_ptr<Replies> replies_;  // exchanges may end after the server's parts
};

}  // namespace mplus::serve
