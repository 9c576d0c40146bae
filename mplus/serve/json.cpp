#include "mplus/serve/json.h"

#include <fmt/core.h>

#include "mplus/core/error.h"
#include "mplus/io/text/ordered_json.h"
#include "mplus/serve/error.h"

namespace mplus::serve {

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json Fields::parse(std::string_view body) {
  if (body.empty()) return Json::object();
  try {
    Json parsed = io::parse_ordered_json(body, "the body");
    if (!parsed.is_object()) throw ApiError{400, "invalid_json", "the body must be a JSON object"};
    return parsed;
  } catch (const Error& error) {
    throw ApiError{400, "invalid_json", error.what()};
  }
}

Fields::Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
  if (!json_.is_object()) throw ApiError{400, "invalid_value", where_ + ": expected an object", where_};
}

void Fields::refuse(const std::string& name, const std::string& why) const {
  throw ApiError{400, "invalid_value", fmt::format("{}: {}", label(name), why), label(name)};
}

const Json* Fields::find(const std::string& name) {
  asked_.insert(name);
  const auto at = json_.find(name);
  return at == json_.end() || at->is_null() ? nullptr : &*at;
}

const Json* Fields::any(const std::string& name) { return find(name); }

std::optional<std::string> Fields::string(const std::string& name) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse(name, "expected a string");
  return value->get<std::string>();
}

std::string Fields::required_string(const std::string& name) {
  auto value = string(name);
  if (!value) refuse(name, "is missing");
  return *std::move(value);
}

std::optional<std::int64_t> Fields::integer(const std::string& name, std::int64_t least, std::int64_t most) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  // 10.0 is what some clients make of 10.
  const bool whole = value->is_number_integer() ||
                     (value->is_number_float() && value->get<double>() == std::floor(value->get<double>()));
  const double number = whole ? value->get<double>() : 0;
  if (!whole || number < static_cast<double>(least) || number > static_cast<double>(most))
    refuse(name, fmt::format("expected an integer from {} to {}", least, most));
  return value->is_number_float() ? static_cast<std::int64_t>(number) : value->get<std::int64_t>();
}

std::optional<double> Fields::number(const std::string& name, double least, double most) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most))
    refuse(name, fmt::format("expected a number from {} to {}", least, most));
  return value->get<double>();
}

std::optional<bool> Fields::boolean(const std::string& name) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) refuse(name, "expected true or false");
  return value->get<bool>();
}

std::vector<std::string> Fields::strings(const std::string& name, std::size_t most) {
  const Json* value = find(name);
  if (!value) return {};
  if (value->is_string()) return {value->get<std::string>()};
  std::vector<std::string> list;
  if (!value->is_array()) refuse(name, "expected a string or a list of strings");
  for (const Json& item : *value) {
    if (!item.is_string()) refuse(name, "expected a string or a list of strings");
    list.push_back(item.get<std::string>());
  }
  if (list.size() > most) refuse(name, fmt::format("expected at most {}", most));
  return list;
}

void Fields::only(const std::string& name, const Json& value) {
  const Json* found = find(name);
  if (!found || *found == value) return;
  if (found->is_number() && value.is_number() && found->get<double>() == value.get<double>()) return;
  throw ApiError{400, "unsupported_value", fmt::format("{}: only {} is supported", label(name), dump(value)),
                 label(name)};
}

void Fields::ignore(std::initializer_list<const char*> names) {
  for (const char* name : names) asked_.insert(name);
}

void Fields::end() const {
  for (const auto& [name, value] : json_.items())
    if (!asked_.contains(name) && !value.is_null())
      throw ApiError{400, "unknown_field", fmt::format("{}: there is no such field here", label(name)),
                     label(name)};
}

}  // namespace mplus::serve
