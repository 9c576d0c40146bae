#include "mplus/io/text/json.h"

#include <gtest/gtest.h>

#include "mplus/io/text/ordered_json.h"
#include "tests/io/expect_error.h"

namespace mplus::io {
namespace {

TEST(Json, BuildsWhatTheLibrarysOwnParserBuilds) {
  for (const char* text :
       {"null", "true", "-3", "18446744073709551615", "1.5e3", "\"a\\u00e9\\n\"", "[]", "{}",
        "[1,[2,[3,{}]],{\"a\":[null]}]", "{\"a\":{\"b\":{\"c\":[1,2,{\"d\":false}]},\"e\":0},\"f\":[[],[]]}",
        " { \"x\" : 1 } "})
    EXPECT_EQ(parse_json(text, "f"), Json::parse(text)) << text;
}

TEST(Json, KeepsTheOrderOfKeysWhereThatIsAskedFor) {
  const char* text = R"({"z":{"b":1,"a":[{"y":null,"x":2}]},"a":"q"})";
  EXPECT_EQ(parse_ordered_json(text, "f").dump(), text);
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json", "'k'"),
                     parse_ordered_json(R"({"k":1,"a":2,"k":3})", "f.json"));
  EXPECT_NO_THROW(parse_ordered_json(R"([{"k":{"k":1}},{"k":1}])", "f.json"));
  // So many that looking at all of them for each would not end.
  std::string many = "{";
  for (int i = 0; i < 200'000; ++i) many += "\"" + std::to_string(i) + "\":0,";
  EXPECT_EQ(parse_ordered_json(many + "\"last\":1}", "f").size(), 200'001U);
}

TEST(Json, RefusesAKeyGivenTwice) {
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json", "'k'"), parse_json(R"({"k":1,"a":2,"k":3})", "f.json"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'k'"), parse_json(R"({"a":{"k":1,"k":1}})", "f.json"));
  EXPECT_NO_THROW(parse_json(R"([{"k":1},{"k":1}])", "f.json"));
}

TEST(Json, RefusesDepthPastTheLimitAndAllowsTheLimit) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(parse_json(nested(64), "f"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f.json", "64"), parse_json(nested(65), "f.json"));
  // Deep enough to overflow the stack of a parser that calls itself.
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f.json"), parse_json(std::string(10'000'000, '['), "f.json"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f.json"), parse_json(objects, "f.json"));
}

TEST(Json, RefusesTextPastTheSizeLimit) {
  EXPECT_NO_THROW(parse_json("[1,2]", "f", {.depth = 64, .size_bytes = 5}));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f.json", "4", "5"),
                     parse_json("[1,2]", "f.json", {.depth = 64, .size_bytes = 4}));
}

TEST(Json, NamesFileAndPositionOfASyntaxError) {
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json", "byte 7"), parse_json("[1, 2,]", "f.json"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json"), parse_json("", "f.json"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json"), parse_json("{} x", "f.json"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json"), parse_json("\"\xff\xfe\"", "f.json"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json"), parse_json("1e999", "f.json"));
  const std::string valid = R"({"a":[1,2.5,"x",{"b":null}],"c":true})";
  for (std::size_t n = 0; n < valid.size(); ++n)
    EXPECT_THROW(parse_json(valid.substr(0, n), "f.json"), Error) << n;
}

TEST(JsonFields, NamesTheFieldAndWhatWasFound) {
  const Json json =
      parse_json(R"({"n":5,"big":18446744073709551615,"s":"x","o":{"r":"\u001b[31m"},"l":[1,-2]})", "f");
  const JsonFields fields(json, "f.json");
  EXPECT_EQ(fields.integer("n", 0, 10), 5);
  EXPECT_EQ(fields.integer("absent", 0, 10), std::nullopt);
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json: n", "0 to 4", "5"), fields.integer("n", 0, 4));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json: big", "18446744073709551615"),
                     fields.integer("big", 0, INT64_MAX));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json: s", "\"x\""), fields.integer("s", 0, 4));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json: absent", "nothing"),
                     fields.required_integer("absent", 0, 4));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json: l", "-2"), fields.integers("l", 0, 4));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json: n", "object"), fields.object("n"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f.json: o.r"), fields.object("o")->boolean("r"));
}

TEST(JsonFields, AMessageNeverCarriesControlCharacters) {
  const Json json = parse_json(R"({"s":"\u001b[31m\u009b"})", "f");
  try {
    JsonFields(json, "f").integer("s", 0, 1);
    FAIL();
  } catch (const Error& e) {
    for (const char* c = e.what(); *c != '\0'; ++c) EXPECT_GE(static_cast<unsigned char>(*c), 0x20);
  }
}

}  // namespace
}  // namespace mplus::io
