// Who may ask: API keys, kept as hashes in a file. A key has a name space of its own: it can neither see nor
// name what is outside. Without a key file everybody on this machine may do everything.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::serve {

enum class Right { read, write, admin };  // each with those before it
std::optional<Right> right_from_name(std::string_view name);
std::string_view right_name(Right right);

// What a request may do, and what it calls things.
struct Caller {
  std::string space = {};  // empty: the whole store
  Right right = Right::admin;
  std::string memory = {};  // named by nothing else, it is this one

  bool may(Right asked) const { return right >= asked; }
  std::string stored(const std::string& name) const { return space.empty() ? name : space + "/" + name; }
  std::optional<std::string> shown(const std::string& stored) const {  // nothing: not theirs
    if (space.empty()) return stored;
    if (!stored.starts_with(space + "/")) return std::nullopt;
    return stored.substr(space.size() + 1);
  }
};

struct Key {
  std::string id, label, sha256;  // of the secret
  Caller caller;
  std::int64_t created_at = 0;  // seconds since 1970
};

class Keys {
 public:
  explicit Keys(std::filesystem::path file) : file_(std::move(file)) {}

  bool any();  // false: there are none, and everybody may
  std::vector<Key> list();
  // Returns the secret, which is told only now. Throws invalid_argument where the space's name makes no
  // sense.
  std::string add(std::string label, const Caller& caller);
  bool revoke(std::string_view id);  // false: there is no such key
  // Whose secret this is. The file is read again when it has changed: a key that was revoked is so at once.
  std::optional<Caller> find(std::string_view secret);

 private:
  void read();
  void write() const;

  std::filesystem::path file_;
  std::mutex mutex_;
  std::optional<std::filesystem::file_time_type> read_at_;  // the file's own time
  std::vector<Key> keys_;
};

}  // namespace mplus::serve
