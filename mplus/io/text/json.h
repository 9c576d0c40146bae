// JSON from files nobody vouches for: bounded depth and size, duplicate keys rejected, every error with the
// file's name. Parsing keeps its own stack on the heap, so deep input cannot overflow ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::io {

using Json = nlohmann::json;

struct JsonLimits {
  std::size_t depth = 64;
  std::size_t size_bytes = std::size_t{64} << 20;
};

// Throws corrupt (syntax, duplicate key, invalid UTF-8; with the position) or unsupported (past a limit).
Json parse_json(std::string_view text, std::string_view file_name, const JsonLimits& limits = {});

// Typed reading of one object's fields. A field of the wrong type or out of range throws corrupt, naming
// file, field, expected and found. A null counts as absent. Looks at json and file_name: both must outlive
// it.
class JsonFields {
 public:
  JsonFields(const Json& json, std::string_view file_name, std::string_view where = "");

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const Json* find(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  std::int64_t required_integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  // An integer or a list of integers.
  std::optional<std::vector<std::int64_t>> integers(std::string_view key, std::int64_t least,
                                                    std::int64_t most) const;
  std::optional<JsonFields> object(std::string_view key) const;

  // "config.json: rope_scaling.factor": for messages about this object's fields.
  std::string label(std::string_view key) const;

 private:
  [[noreturn]] void wrong(std::string_view key, std::string_view expected, const Json& found) const;

  const Json& json_;
  std::string_view file_name_;
  std::string where_;
};

}  // namespace mplus::io
