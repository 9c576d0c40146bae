// JSON of a given shape: what may follow, byte by byte.
#include "mplus/engine/answer/json_constraint.h"

#include <gtest/gtest.h>

#include "mplus/core/error.h"

namespace mplus::engine {
namespace {

JsonShapePtr shape(const char* schema) { return json_shape(io::parse_json(schema, "schema")); }

// Whether the text is a whole value of this shape, taken byte by byte.
bool is_whole(const JsonShapePtr& of, std::string_view text) {
  const auto constraint = json_constraint(of);
  for (const char c : text) {
    if (!constraint->allows({&c, 1})) return false;
    constraint->take({&c, 1});
  }
  return constraint->may_end();
}

TEST(JsonConstraint, AnyObject) {
  const JsonShapePtr any = any_json_object();
  for (const char* text :
       {"{}", R"({"a":1})", R"({ "a" : [ 1 , -2.5e+3, true, null, {"b":""} ] })", R"({"ü\u00e9":"\n\"x"})"})
    EXPECT_TRUE(is_whole(any, text)) << text;
  for (const char* text : {"", "[]", "{", R"({"a"})", R"({"a":})", R"({"a":01})", R"({"a":1,})",
                           R"({"a":.5})", R"({"a":tru})", R"({a:1})", "{}x", " {}", "{\"a\":\"\xff\"}",
                           "{\"a\":\"\n\"}", R"({"a":"\x"})", R"({"a":-})", R"({"a":1e})"})
    EXPECT_FALSE(is_whole(any, text)) << text;
}

TEST(JsonConstraint, ALongTokenIsAsItsBytes) {
  const auto constraint = json_constraint(any_json_object());
  EXPECT_TRUE(constraint->allows("{\"name\": \""));
  EXPECT_FALSE(constraint->allows("{\"name\" \""));
  constraint->take("{\"name\": \"");
  EXPECT_TRUE(constraint->allows("\xc3"));  // half a character
  constraint->take("\xc3");
  EXPECT_FALSE(constraint->allows("x"));
  EXPECT_TRUE(constraint->allows("\xbc\"}"));
  EXPECT_FALSE(constraint->may_end());
}

TEST(JsonConstraint, PropertiesInOrderAndNoOthers) {
  const JsonShapePtr person =
      shape(R"({"type":"object","properties":{"age":{"type":"integer"},"name":{"type":"string"}},
      "required":["name"],"additionalProperties":false})");
  EXPECT_TRUE(is_whole(person, R"({"name":"Ana"})"));
  EXPECT_TRUE(is_whole(person, R"({"age":3,"name":"Ana"})"));
  EXPECT_FALSE(is_whole(person, R"({"age":3})"));
  EXPECT_FALSE(is_whole(person, R"({})"));
  EXPECT_FALSE(is_whole(person, R"({"name":"Ana","x":1})"));
  EXPECT_FALSE(is_whole(person, R"({"name":3})"));
  EXPECT_FALSE(is_whole(person, R"({"age":3.5,"name":"Ana"})"));
}

// What is allowed must lead on: no comma where nothing can come.
TEST(JsonConstraint, ThereIsAlwaysAWayOn) {
  const auto constraint =
      json_constraint(shape(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})"));
  constraint->take("{\"a\":1");
  EXPECT_FALSE(constraint->allows(","));
  EXPECT_TRUE(constraint->allows("}"));
  const auto list = json_constraint(shape(R"({"type":"array","items":{"type":"integer"},"maxItems":1})"));
  list->take("[1");
  EXPECT_FALSE(list->allows(","));
}

TEST(JsonConstraint, ValuesListsAndChoices) {
  EXPECT_TRUE(is_whole(shape(R"({"enum":["red","green",7]})"), "\"red\""));
  EXPECT_TRUE(is_whole(shape(R"({"enum":["red","green",7]})"), "7"));
  EXPECT_FALSE(is_whole(shape(R"({"enum":["red","green",7]})"), "\"blue\""));
  EXPECT_TRUE(is_whole(shape(R"({"const":null})"), "null"));
  const JsonShapePtr list = shape(R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2})");
  EXPECT_TRUE(is_whole(list, "[1]"));
  EXPECT_TRUE(is_whole(list, "[1, 22]"));
  EXPECT_FALSE(is_whole(list, "[]"));
  EXPECT_FALSE(is_whole(list, "[1,2,3]"));
  const JsonShapePtr either =
      shape(R"({"anyOf":[{"type":"integer"},{"type":"object","properties":{"a":{"type":"boolean"}}}]})");
  EXPECT_TRUE(is_whole(either, "12"));
  EXPECT_TRUE(is_whole(either, R"({"a":false})"));
  EXPECT_FALSE(is_whole(either, "\"x\""));
  EXPECT_TRUE(is_whole(shape(R"({"type":["string","null"]})"), "null"));
}

TEST(JsonConstraint, AShapeMayReferToItself) {
  const JsonShapePtr tree = shape(R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":
      {"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["value"]}}})");
  EXPECT_TRUE(is_whole(tree, R"({"children":[{"value":2}],"value":1})") ||
              is_whole(tree, R"({"value":1,"children":[{"value":2}]})"));
  EXPECT_FALSE(is_whole(tree, R"({"value":1,"children":[{}]})"));
}

TEST(JsonConstraint, WhiteSpaceAndDepthHaveAnEnd) {
  EXPECT_TRUE(is_whole(any_json_object(), "{" + std::string(20, ' ') + "}"));
  EXPECT_FALSE(is_whole(any_json_object(), "{" + std::string(30, ' ') + "}"));
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100; ++i) deep += "[";
  EXPECT_FALSE(json_constraint(any_json_object())->allows(deep));
}

TEST(JsonConstraint, WhatIsNotUnderstoodIsNamed) {
  for (const char* schema :
       {R"({"type":"string","pattern":"a+"})", R"({"type":"thing"})", R"({"$ref":"http://x"})",
        R"({"$ref":"#/no"})", R"({"type":"object","properties":{},"required":["x"]})", R"({"enum":[]})", "3",
        "false"}) {
    try {
      shape(schema);
      ADD_FAILURE() << schema;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << schema;
    }
  }
}

}  // namespace
}  // namespace mplus::engine
