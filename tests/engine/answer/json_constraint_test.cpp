// JSON of a given shape: what may follow, byte by byte.
#include "mplus/engine/answer/sampling/json_constraint.h"

#include <gtest/gtest.h>

#include "mplus/core/error.h"

namespace mplus::engine {
namespace {

JsonShapePtr shape(const std::string& schema) { return json_shape(io::parse_ordered_json(schema, "schema")); }

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

TEST(JsonConstraint, PropertiesInTheSchemasOrderAndNoOthers) {
  const JsonShapePtr person =
      shape(R"({"type":"object","properties":{"size":{"type":"integer"},"name":{"type":"string"}},
      "required":["name"],"additionalProperties":false})");
  EXPECT_FALSE(is_whole(person, R"({"name":"Ana","size":3})"));
  EXPECT_TRUE(is_whole(person, R"({"name":"Ana"})"));
  EXPECT_TRUE(is_whole(person, R"({"size":3,"name":"Ana"})"));
  EXPECT_FALSE(is_whole(person, R"({"size":3})"));
  EXPECT_FALSE(is_whole(person, R"({})"));
  EXPECT_FALSE(is_whole(person, R"({"name":"Ana","x":1})"));
  EXPECT_FALSE(is_whole(person, R"({"name":3})"));
  EXPECT_FALSE(is_whole(person, R"({"size":3.5,"name":"Ana"})"));
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
  EXPECT_TRUE(is_whole(tree, R"({"value":1,"children":[{"value":2}]})"));
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
  for (const char* schema : {R"({"type":"string","pattern":"a+"})",
                             R"({"type":"thing"})",
                             R"({"$ref":"http://x"})",
                             R"({"$ref":"#/no"})",
                             R"({"type":"object","properties":{},"required":["x"]})",
                             R"({"enum":[]})",
                             "3",
                             "false",
                             R"({"type":["string",3]})",
                             R"({"type":[]})",
                             R"({"type":7})",
                             R"({"$ref":7})",
                             R"({"$ref":"#no/pointer"})",
                             R"({"$ref":"#/~5"})",
                             R"({"type":"array","minItems":"1"})",
                             R"({"type":"array","maxItems":-1})",
                             R"({"type":"object","properties":[]})",
                             R"({"type":"object","required":"a"})",
                             R"({"type":"object","properties":{"a":{}},"required":[1]})",
                             R"({"type":"object","additionalProperties":1})",
                             R"({"anyOf":{}})",
                             R"({"oneOf":[]})"}) {
    try {
      shape(schema);
      ADD_FAILURE() << schema;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << schema;
    }
  }
}

// A reference that leads to nothing but itself, a chain without end, more ways than anybody can look at.
TEST(JsonConstraint, ASchemaThatNeverEndsIsRefused) {
  std::string doubling = R"({"$ref":"#/$defs/d0","$defs":{"d63":{"type":"null"})", chain = doubling;
  for (int i = 0; i < 63; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + R"("})";
    doubling += R"(,"d)" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]}";
  }
  chain = R"({"type":"object","properties":{)";
  std::string definitions = R"("e0":{"type":"null"})";
  for (int i = 1; i < 20000; ++i) {  // read one by one, each only a step from the last
    const std::string name = "e" + std::to_string(i);
    chain += (i > 1 ? "," : "") + ("\"" + name) + R"(":{"$ref":"#/$defs/)" + name + "\"}";
    definitions += ",\"" + name + R"(":{"$ref":"#/$defs/e)" + std::to_string(i - 1) + "\"}";
  }
  std::string deep = R"({"$ref":"#/$defs/e19999","$defs":{)" + definitions + "}}";
  for (const std::string& schema :
       {std::string(R"({"$ref":"#"})"), std::string(R"({"anyOf":[{"type":"null"},{"$ref":"#"}]})"),
        std::string(R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})"),
        doubling + "}}", chain + R"(},"$defs":{)" + definitions + "}}", deep}) {
    try {
      shape(schema);
      ADD_FAILURE() << schema.substr(0, 100);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << schema.substr(0, 100);
    }
  }
}

}  // namespace
}  // namespace mplus::engine
