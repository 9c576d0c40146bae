#include "mplus/io/text/json.h"

#include <cmath>
#include <unordered_set>

#include "mplus/core/error.h"
#include "mplus/io/text/names.h"
#include "mplus/io/text/ordered_json.h"

namespace mplus::io {
namespace {

// Builds the document from the parser's events. The parser itself is a loop over its own stack of states.
template <class Any>
class Builder : public nlohmann::json_sax<Any> {
 public:
  using typename nlohmann::json_sax<Any>::number_integer_t;
  using typename nlohmann::json_sax<Any>::number_unsigned_t;
  using typename nlohmann::json_sax<Any>::number_float_t;
  using typename nlohmann::json_sax<Any>::string_t;
  using typename nlohmann::json_sax<Any>::binary_t;

  Builder(std::string_view file_name, const JsonLimits& limits) : file_name_(file_name), limits_(limits) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Any::object()); }
  bool start_array(std::size_t) override { return open(Any::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    auto& object = open_.back()->template get_ref<typename Any::object_t&>();
    if (!add(object, name))
      fail(ErrorCode::corrupt, "{}: JSON: key {} appears twice in one object", file_name_, shown(name));
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    std::string_view what = e.what();
    if (const auto end = what.find("] "); end != what.npos) what.remove_prefix(end + 2);
    fail(ErrorCode::corrupt, "{}: JSON, byte {}: {}", file_name_, position, shown(what));
  }

  Any take() { return std::move(root_); }

 private:
  bool add(Json::object_t& object, const std::string& name) {
    const auto [at, fresh] = object.try_emplace(name);
    value_ = &at->second;
    return fresh;
  }
  // This map looks for a key from its start, which would take for ever with many: it is used as the list it
  // is.
  bool add(OrderedJson::object_t& object, const std::string& name) {
    if (!keys_.back().insert(name).second) return false;
    OrderedJson::object_t::Container& list = object;
    value_ = &list.emplace_back(name, nullptr).second;
    return true;
  }

  Any* put(Any&& value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array())
      return &open_.back()->template get_ref<typename Any::array_t&>().emplace_back(std::move(value));
    return &(*value_ = std::move(value));
  }
  bool open(Any&& value) {
    if (open_.size() == limits_.depth)
      fail(ErrorCode::unsupported, "{}: JSON: nested deeper than {} levels", file_name_, limits_.depth);
    open_.push_back(put(std::move(value)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::string_view file_name_;
  const JsonLimits& limits_;
  Any root_;
  std::vector<Any*>
      open_;              // a container's address is stable while it is open: only its innermost child grows
  Any* value_ = nullptr;  // where the value of the last key goes
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects, in order
};

template <class Any>
Any parsed(std::string_view text, std::string_view file_name, const JsonLimits& limits) {
  if (text.size() > limits.size_bytes)
    fail(ErrorCode::unsupported, "{}: JSON: expected at most {} bytes, found {}", file_name,
         limits.size_bytes, text.size());
  Builder<Any> builder(file_name, limits);
  Any::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view file_name, const JsonLimits& limits) {
  return parsed<Json>(text, file_name, limits);
}

OrderedJson parse_ordered_json(std::string_view text, std::string_view file_name, const JsonLimits& limits) {
  return parsed<OrderedJson>(text, file_name, limits);
}

JsonFields::JsonFields(const Json& json, std::string_view file_name, std::string_view where)
    : json_(json), file_name_(file_name), where_(where) {
  if (!json.is_object())
    fail(ErrorCode::corrupt, "{}{}{}: expected an object, found {}", file_name, where.empty() ? "" : ": ",
         where, json.type_name());
}

const Json* JsonFields::find(std::string_view key) const {
  const auto at = json_.find(key);
  return at == json_.end() || at->is_null() ? nullptr : &*at;
}

std::string JsonFields::label(std::string_view key) const {
  return fmt::format("{}: {}{}{}", file_name_, where_, where_.empty() ? "" : ".", key);
}

void JsonFields::wrong(std::string_view key, std::string_view expected, const Json& found) const {
  // A scalar is shown; a container could be large.
  const std::string value = found.is_structured() ? found.type_name() : shown(found.dump(-1, ' ', true));
  fail(ErrorCode::corrupt, "{}: expected {}, found {}", label(key), expected, value);
}

namespace {

std::optional<std::int64_t> integer_in(const Json& value, std::int64_t least, std::int64_t most) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return std::nullopt;
  const auto n = value.get<std::int64_t>();
  if (n < least || n > most) return std::nullopt;
  return n;
}

}  // namespace

std::optional<std::int64_t> JsonFields::integer(std::string_view key, std::int64_t least,
                                                std::int64_t most) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto n = integer_in(*value, least, most);
  if (!n) wrong(key, fmt::format("an integer from {} to {}", least, most), *value);
  return n;
}

std::int64_t JsonFields::required_integer(std::string_view key, std::int64_t least, std::int64_t most) const {
  const auto n = integer(key, least, most);
  if (!n)
    fail(ErrorCode::corrupt, "{}: expected an integer from {} to {}, found nothing", label(key), least, most);
  return *n;
}

std::optional<double> JsonFields::number(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) wrong(key, "a number", *value);
  return value->get<double>();
}

std::optional<bool> JsonFields::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) wrong(key, "true or false", *value);
  return value->get<bool>();
}

std::optional<std::string> JsonFields::string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) wrong(key, "a string", *value);
  return value->get<std::string>();
}

std::optional<std::vector<std::int64_t>> JsonFields::integers(std::string_view key, std::int64_t least,
                                                              std::int64_t most) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) return std::vector{*integer(key, least, most)};
  std::vector<std::int64_t> out;
  for (const Json& item : *value) {
    const auto n = integer_in(item, least, most);
    if (!n) wrong(key, fmt::format("integers from {} to {}", least, most), item);
    out.push_back(*n);
  }
  return out;
}

std::optional<JsonFields> JsonFields::object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return JsonFields(*value, file_name_,
                    where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key));
}

}  // namespace mplus::io
