// JSON of requests and replies.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::serve {

using Json = nlohmann::ordered_json;  // keys in the order in which they are set

std::string dump(const Json& json);  // one line; bytes that are no UTF-8 are replaced

// A request's body, or an object in it, field by field. What is of the wrong kind, out of range or not known
// is an ApiError that names the field; null counts as absent.
class Fields {
 public:
  static Json parse(std::string_view body);  // an object; an empty body is an empty one
  explicit Fields(const Json& json, std::string where = "");

  std::optional<std::string> string(const std::string& name);
  std::string required_string(const std::string& name);
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most);
  std::optional<double> number(const std::string& name, double least, double most);
  std::optional<bool> boolean(const std::string& name);
  const Json* any(const std::string& name);  // whatever it is
  // A string or a list of strings.
  std::vector<std::string> strings(const std::string& name, std::size_t most);
  // Only this value changes nothing: another one is refused.
  void only(const std::string& name, const Json& value);
  void ignore(std::initializer_list<const char*> names);  // they change nothing
  void end() const;  // throws where there is a field that nobody has asked for

  [[noreturn]] void refuse(const std::string& name, const std::string& why) const;
  std::string label(const std::string& name) const { return where_.empty() ? name : where_ + "." + name; }

 private:
  const Json* find(const std::string& name);

  const Json& json_;
  std::string where_;
  std::set<std::string> asked_;
};

}  // namespace mplus::serve
