#include "mplus/engine/answer/sampling/json_shape.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "mplus/core/error.h"

namespace mplus::engine {
namespace {

using Json = io::OrderedJson;
using ValueKind = JsonShape::ValueKind;

// A schema comes from anybody: how deep it goes, and how many ways there are into a value, have an end.
constexpr std::size_t kMostNested = 256, kMostWays = 4096;

// `choices` that lead to each other in a circle would never come to a value; too many would take too long.
void check_choices(const std::vector<std::unique_ptr<JsonShape>>& shapes) {
  std::map<const JsonShape*, std::size_t> chosen_by;  // how many are still to be looked at
  for (const auto& shape : shapes)
    for (const JsonShape* choice : shape->choices) ++chosen_by[choice];
  std::vector<const JsonShape*> order;  // each before its choices
  for (const auto& shape : shapes)
    if (!chosen_by.contains(shape.get())) order.push_back(shape.get());
  std::map<const JsonShape*, std::size_t> nested;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const JsonShape* choice : order[i]->choices) {
      nested[choice] = std::max(nested[choice], nested[order[i]] + 1);
      if (--chosen_by[choice] == 0) order.push_back(choice);
    }
  if (order.size() < shapes.size())
    fail(ErrorCode::invalid_argument, "schema: a $ref leads to itself with nothing in between");
  std::map<const JsonShape*, std::size_t> ways;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    std::size_t sum = (*at)->kind == ValueKind::choice ? 0 : 1;
    for (const JsonShape* choice : (*at)->choices) sum += ways[choice];
    ways[*at] = sum;
    if (sum > kMostWays || nested[*at] > kMostNested)
      fail(ErrorCode::invalid_argument, "schema: more than {} choices, or more than {} inside each other",
           kMostWays, kMostNested);
  }
}

class SchemaReader {
 public:
  explicit SchemaReader(const Json& root) : root_(root) {}

  JsonShapePtr read() {
    auto whole = std::make_shared<JsonShape>();
    shapes_ = &whole->owned;
    whole->kind = ValueKind::choice;
    whole->choices = {shape(root_, "schema")};
    check_choices(whole->owned);
    return whole;
  }
  // An object with whatever in it.
  JsonShapePtr read_any_object() {
    auto whole = std::make_shared<JsonShape>();
    shapes_ = &whole->owned;
    whole->choices = {kind_shape(Json::object(), "object", "")};
    return whole;
  }

 private:
  JsonShape* make(ValueKind kind) {
    shapes_->push_back(std::make_unique<JsonShape>());
    shapes_->back()->kind = kind;
    return shapes_->back().get();
  }
  const JsonShape* literal(const Json& value) {
    JsonShape* made = make(ValueKind::literal);
    made->literal = value.dump();
    return made;
  }
  const JsonShape* anything() {
    if (any_) return any_;
    JsonShape* made = make(ValueKind::choice);
    any_ = made;  // before its parts, which refer to it
    for (const char* type : {"object", "array", "string", "number", "boolean", "null"})
      made->choices.push_back(kind_shape(Json::object(), type, ""));
    return made;
  }

  [[noreturn]] static void refuse(const std::string& where, const std::string& what) {
    fail(ErrorCode::invalid_argument, "{}: {}", where, what);
  }

  const JsonShape* shape(const Json& schema, const std::string& where) {
    if (nested_ == kMostNested) refuse("schema", "it is nested too deeply");
    ++nested_;
    const JsonShape* made = shape_inside(schema, where);
    --nested_;
    return made;
  }

  const JsonShape* shape_inside(const Json& schema, const std::string& where) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) refuse(where, "false allows nothing");
      return anything();
    }
    if (!schema.is_object()) refuse(where, "expected an object");
    check_words(schema, where);
    if (schema.contains("$ref")) return referred(schema["$ref"], where);
    if (!schema.contains("const") && !schema.contains("enum") && !schema.contains("anyOf") &&
        !schema.contains("oneOf") && !schema.contains("type") && !schema.contains("properties"))
      return anything();
    JsonShape* made = make(ValueKind::choice);
    if (schema.contains("const")) {
      made->choices = {literal(schema["const"])};
    } else if (schema.contains("enum")) {
      for (const Json& value : list_at(schema, "enum", where)) made->choices.push_back(literal(value));
    } else if (schema.contains("anyOf") || schema.contains("oneOf")) {
      const char* word = schema.contains("anyOf") ? "anyOf" : "oneOf";
      for (const Json& choice : list_at(schema, word, where))
        made->choices.push_back(shape(choice, where + "." + word));
    } else if (!schema.contains("type") || schema["type"].is_string()) {
      made->choices = {kind_shape(schema, schema.value("type", "object"), where)};
    } else {
      for (const Json& type : list_at(schema, "type", where)) {
        if (!type.is_string()) refuse(where + ".type", "expected a name or a list of names");
        made->choices.push_back(kind_shape(schema, type.get<std::string>(), where));
      }
    }
    return made;
  }

  // Not empty.
  static const Json& list_at(const Json& schema, const char* word, const std::string& where) {
    const Json& list = schema[word];
    if (!list.is_array() || list.empty()) refuse(where + "." + word, "expected a list that is not empty");
    return list;
  }
  static std::size_t count_at(const Json& schema, const char* word, std::size_t otherwise,
                              const std::string& where) {
    if (!schema.contains(word)) return otherwise;
    if (!schema[word].is_number_unsigned()) refuse(where + "." + word, "expected a number of items");
    return schema[word].get<std::size_t>();
  }

  const JsonShape* kind_shape(const Json& schema, const std::string& type, const std::string& where) {
    if (type == "string") return make(ValueKind::string);
    if (type == "number") return make(ValueKind::number);
    if (type == "integer") return make(ValueKind::integer);
    if (type == "null") return literal(nullptr);
    if (type == "boolean") {
      JsonShape* made = make(ValueKind::choice);
      made->choices = {literal(true), literal(false)};
      return made;
    }
    if (type == "array") return array(schema, where);
    if (type == "object") return object(schema, where);
    refuse(where + ".type", "there is no type " + type);
  }

  const JsonShape* array(const Json& schema, const std::string& where) {
    JsonShape* made = make(ValueKind::array);
    made->items = schema.contains("items") ? shape(schema["items"], where + ".items") : anything();
    made->least = count_at(schema, "minItems", made->least, where);
    made->most = count_at(schema, "maxItems", made->most, where);
    if (made->least > made->most) refuse(where, "minItems is more than maxItems");
    return made;
  }

  const JsonShape* object(const Json& schema, const std::string& where) {
    JsonShape* made = make(ValueKind::object);
    const Json properties = schema.contains("properties") ? schema["properties"] : Json::object();
    if (!properties.is_object()) refuse(where + ".properties", "expected an object");
    const std::set<std::string> required = required_of(schema, where);
    for (const auto& [name, inner] : properties.items())
      made->properties.push_back(
          {Json(name).dump(), shape(inner, fmt::format("{}.{}", where, name)), required.contains(name)});
    for (const std::string& name : required)
      if (!properties.contains(name)) refuse(where + ".required", "names a property that is not described");
    const Json others = schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(true);
    if (!others.is_object() && !others.is_boolean())
      refuse(where + ".additionalProperties", "expected a schema, true or false");
    // With properties described, a model is held to them; without any, whatever it likes.
    if (others.is_object()) {
      made->additional = shape(others, where + ".additionalProperties");
    } else if (properties.empty() && others == true) {
      made->additional = anything();
    }
    return made;
  }

  static std::set<std::string> required_of(const Json& schema, const std::string& where) {
    std::set<std::string> names;
    if (!schema.contains("required")) return names;
    if (!schema["required"].is_array()) refuse(where + ".required", "expected a list of names");
    for (const Json& name : schema["required"]) {
      if (!name.is_string()) refuse(where + ".required", "expected a list of names");
      names.insert(name.get<std::string>());
    }
    return names;
  }

  // What a reference names; null: nothing.
  const Json* place(const std::string& reference) const {
    try {
      const Json::json_pointer pointer(reference.substr(1));
      return root_.contains(pointer) ? &root_.at(pointer) : nullptr;
    } catch (const Json::exception&) {  // it is no pointer
      return nullptr;
    }
  }

  const JsonShape* referred(const Json& reference, const std::string& where) {
    if (!reference.is_string()) refuse(where + ".$ref", "expected a text");
    const std::string name = reference.get<std::string>();
    if (const auto known = references_.find(name); known != references_.end()) return known->second;
    if (!name.starts_with("#")) refuse(where + ".$ref", "only places in the same schema can be referred to");
    JsonShape* made = make(ValueKind::choice);
    references_[name] = made;  // before it is read: it may refer to itself
    const Json* schema = place(name);
    if (!schema) refuse(where + ".$ref", "there is no " + name);
    made->choices = {shape(*schema, name)};
    return made;
  }

  static void check_words(const Json& schema, const std::string& where) {
    static constexpr std::string_view kKnown[] = {
        "type",    "properties",  "required", "additionalProperties",
        "items",   "minItems",    "maxItems", "enum",
        "const",   "anyOf",       "oneOf",    "$ref",
        "$defs",   "definitions", "title",    "description",
        "default", "examples",    "$schema",  "$id",
        "format",  "strict",      "name"};
    for (const auto& [word, value] : schema.items())
      if (std::find(std::begin(kKnown), std::end(kKnown), word) == std::end(kKnown))
        refuse(fmt::format("{}.{}", where, word), "this word of JSON Schema is not supported");
  }

  const Json& root_;
  std::vector<std::unique_ptr<JsonShape>>* shapes_ = nullptr;
  const JsonShape* any_ = nullptr;
  std::size_t nested_ = 0;
  std::map<std::string, const JsonShape*> references_;
};

}  // namespace

JsonShapePtr json_shape(const Json& schema) { return SchemaReader(schema).read(); }

JsonShapePtr any_json_object() {
  static const Json nothing = Json::object();
  return SchemaReader(nothing).read_any_object();
}

}  // namespace mplus::engine
