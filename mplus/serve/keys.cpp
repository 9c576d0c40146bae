#include "mplus/serve/keys.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/json.h"
#include "mplus/serve/json.h"

namespace mplus::serve {
namespace {

constexpr std::array<std::string_view, 3> kRights{"read", "write", "admin"};

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  if (RAND_bytes(random.data(), static_cast<int>(bytes)) != 1)
    fail(ErrorCode::io, "the system gives no random numbers");
  std::string text;
  for (const unsigned char byte : random) text += fmt::format("{:02x}", byte);
  return text;
}

std::string hash_of(std::string_view secret) { return io::sha256_hex(std::as_bytes(std::span(secret))); }

// Takes as long whatever differs.
bool same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void check_space(const std::string& space) {
  const bool good = space.size() <= 64 && std::all_of(space.begin(), space.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                             c == '_' || c == '.';
                    });
  if (!good)
    fail(ErrorCode::invalid_argument, "a name space has letters, digits, '_' and '.', at most 64, got \"{}\"",
         space);
}

}  // namespace

std::optional<Right> right_from_name(std::string_view name) {
  const auto at = std::find(kRights.begin(), kRights.end(), name);
  if (at == kRights.end()) return std::nullopt;
  return static_cast<Right>(at - kRights.begin());
}

std::string_view right_name(Right right) { return kRights[static_cast<std::size_t>(right)]; }

void Keys::read() {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(file_, error);
  if (error) {
    keys_.clear();
    read_at_.reset();
    return;
  }
  if (read_at_ == time) return;
  const std::string name = file_.string();
  const io::Json json = io::parse_json(read_text_file(file_), name);
  std::vector<Key> keys;
  if (!json.is_object() || !json.contains("keys") || !json["keys"].is_array())
    fail(ErrorCode::corrupt, "{}: expected a list \"keys\"", name);
  for (const io::Json& entry : json["keys"]) {
    const io::JsonFields fields(entry, name, "keys");
    Key key;
    key.id = fields.string("id").value_or("");
    key.label = fields.string("label").value_or("");
    key.sha256 = fields.string("sha256").value_or("");
    key.caller.space = fields.string("space").value_or("");
    key.caller.memory = fields.string("memory").value_or("");
    key.created_at = fields.integer("created_at", 0, std::int64_t{1} << 40).value_or(0);
    const auto right = right_from_name(fields.string("right").value_or(""));
    if (key.sha256.size() != 64 || !right)
      fail(ErrorCode::corrupt, "{}: a key without its hash or right", name);
    key.caller.right = *right;
    keys.push_back(std::move(key));
  }
  keys_ = std::move(keys);
  read_at_ = time;
}

void Keys::write() const {
  Json list = Json::array();
  for (const Key& key : keys_)
    list.push_back({{"id", key.id},
                    {"label", key.label},
                    {"sha256", key.sha256},
                    {"space", key.caller.space},
                    {"right", right_name(key.caller.right)},
                    {"memory", key.caller.memory},
                    {"created_at", key.created_at}});
  write_text_file(file_, Json{{"keys", std::move(list)}}.dump(1) + "\n");
}

bool Keys::any() { return !list().empty(); }

std::vector<Key> Keys::list() {
  const std::lock_guard lock(mutex_);
  read();
  return keys_;
}

std::string Keys::add(std::string label, const Caller& caller) {
  check_space(caller.space);
  const std::lock_guard lock(mutex_);
  read();
  std::string secret = "mplus-" + random_hex(24);
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  keys_.push_back({random_hex(4), std::move(label), hash_of(secret), caller, now});
  write();
  return secret;
}

bool Keys::revoke(std::string_view id) {
  const std::lock_guard lock(mutex_);
  read();
  if (std::erase_if(keys_, [&](const Key& key) { return key.id == id; }) == 0) return false;
  write();
  return true;
}

std::optional<Caller> Keys::find(std::string_view secret) {
  const std::string hash = hash_of(secret);
  const std::lock_guard lock(mutex_);
  read();
  std::optional<Caller> found;
  for (const Key& key : keys_)
    if (same(key.sha256, hash)) found = key.caller;
  return found;
}

}  // namespace mplus::serve
