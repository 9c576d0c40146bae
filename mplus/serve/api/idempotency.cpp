#include "mplus/serve/api/idempotency.h"

#include <fmt/core.h>

#include "mplus/io/text/hash.h"

namespace mplus::serve {
namespace {

constexpr std::size_t kLongestKey = 256;

std::string sha256(std::string_view text) {
  return io::sha256_hex(std::as_bytes(std::span(text.data(), text.size())));
}

// Parts of a text that is hashed must not run into each other.
void add(std::string& text, std::string_view part) { text += fmt::format("{}:{}\n", part.size(), part); }

std::string key_and_caller(const Call& call) {
  std::string text;
  add(text, call.caller.space);
  add(text, call.request().header("idempotency-key"));
  return text;
}

// Of one that failed for now, the next attempt may do better.
bool is_final(int status) { return status < 500 && status != 409 && status != 429 && status != 401; }

}  // namespace

std::string request_name(const Call& call) {
  const Request& request = call.request();
  const std::string_view key = request.header("idempotency-key");
  if (key.empty()) return "";
  if (key.size() > kLongestKey)
    throw ApiError{400, "invalid_value", fmt::format("Idempotency-Key: longer than {} bytes", kLongestKey),
                   "Idempotency-Key"};
  std::string text = key_and_caller(call);
  add(text, request.method);
  for (const std::string& segment : request.segments) add(text, segment);
  for (const auto& [name, value] : request.query) add(text, fmt::format("{}={}", name, value));
  for (const char* header : {"x-mplus-memory", "accept", "content-type"}) add(text, request.header(header));
  add(text, request.body);
  return sha256(text).substr(0, 40);
}

bool Idempotency::answer(const Call& call) {
  const std::string name = request_name(call);
  if (name.empty()) return false;
  const std::string key = key_and_caller(call);
  const std::lock_guard lock(replies_->mutex);
  if (const auto at = replies_->entries.find(key); at != replies_->entries.end()) {
    Entry& entry = at->second;
    const bool old = entry.done && std::chrono::steady_clock::now() - entry.at > limits_.kept;
    if (!old && entry.name != name)
      throw ApiError{422, "idempotency_key_reused", "this key came with another request before",
                     "Idempotency-Key"};
    if (!entry.done)
      throw ApiError{409,
                     "request_in_progress",
                     "the first request with this key is under way",
                     "Idempotency-Key",
                     {{"Retry-After", "1"}}};
    if (!old) {
      Reply again = entry.reply;
      again.headers.emplace_back("Idempotent-Replayed", "true");
      call.exchange->reply(std::move(again));
      return true;
    }
    replies_->remove(at);
  }
  make_room();
  replies_->order.push_back(key);
  Entry& fresh = replies_->entries[key];
  fresh.name = name;
  fresh.place = std::prev(replies_->order.end());
  call.exchange->keep_reply(
      [replies = replies_, key, limits = limits_](const Reply* reply) { replies->keep(key, reply, limits); },
      limits_.most_bytes_of_one);
  return false;
}

void Idempotency::make_room() {
  const auto now = std::chrono::steady_clock::now();
  for (auto place = replies_->order.begin(); place != replies_->order.end();) {
    const auto at = replies_->entries.find(*place++);
    const bool too_much = replies_->entries.size() >= limits_.most || replies_->bytes > limits_.most_bytes;
    if (!at->second.done) continue;
    if (!too_much && now - at->second.at <= limits_.kept) return;
    replies_->remove(at);
  }
}

void Idempotency::Replies::remove(std::map<std::string, Entry>::iterator at) {
  bytes -= at->second.reply.body.size();
  order.erase(at->second.place);
  entries.erase(at);
}

// Null: it was not answered to its end, or by more than is kept.
void Idempotency::Replies::keep(const std::string& key, const Reply* reply, const IdempotencyLimits& limits) {
  const std::lock_guard lock(mutex);
  const auto at = entries.find(key);
  if (at == entries.end()) return;
  if (!reply || !is_final(reply->status) || reply->pieces || reply->body.size() > limits.most_bytes_of_one)
    return remove(at);
  Entry& entry = at->second;
  entry.reply = *reply;
  entry.done = true;
  entry.at = std::chrono::steady_clock::now();
  bytes += entry.reply.body.size();
}

}  // namespace mplus::serve
