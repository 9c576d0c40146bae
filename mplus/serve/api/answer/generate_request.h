// What requests for text have in common: how tokens are picked, when to end, how the answer comes back.
#pragma once

#include <string>
#include <string_view>

#include "mplus/engine/answer/answer.h"
#include "mplus/serve/api/answer/memory_choice.h"

namespace mplus::serve {

struct GenerateRequest {
  std::string model;
  engine::GenerateOptions options;
  std::int64_t answers = 1;  // n
  bool stream = false, usage_in_stream = false;
  MemoryChoice memory;
};

// Reads the fields that chat and plain completions share.
GenerateRequest generate_request(const Services& services, const Call& call, Fields& fields);

// What `response_format` (chat) or `text.format` (responses) asks for: {"type": "text" | "json_object" |
// "json_schema", …}.
void read_format(const Json& format, const std::string& where, engine::GenerateOptions& options);

const char* finish_reason(engine::StopReason reason);

// The chunks of text an answer could draw on, `most` of them, and what an answer saw. Sources are called by
// their numbers in the store, if `stored` is not null.
Json passages_json(const engine::Answer& answer, std::size_t most, const engine::Record& record,
                   const store::StoredSession* stored);
Json seen_json(const engine::Answer& answer, const engine::Session& session, std::int64_t window);
// Tokens in the window that an answer need not read again: all up to the last answer.
std::int64_t read_before(const engine::Session& session);
Json usage_json(std::int64_t prompt_tokens, std::int64_t answer_tokens);

// Runs a Generation or StoredTurn; waits where the client does not keep up.
template <class Task>
engine::Steps<> answer_of(Job& job, Exchange& exchange, Task& task) {
  for (bool more = true; more;) {
    more = co_await next_step(task);
    if (exchange.is_full()) co_await job.until([&] { return !exchange.is_full() || exchange.gone(); });
  }
}

}  // namespace mplus::serve
