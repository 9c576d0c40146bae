// Requests as they come, before anybody answers them.
#include "mplus/serve/http/message.h"

#include <gtest/gtest.h>

#include "mplus/serve/error.h"
#include "mplus/serve/http/exchange.h"
#include "mplus/serve/json.h"

namespace mplus::serve {
namespace {

TEST(Target, PathAndQueryAreDecodedPieceByPiece) {
  Request request;
  ASSERT_TRUE(parse_target("/v1/memories/a%2Fb%20c?exact=true&name=x%26y+z&exact=false", request));
  EXPECT_EQ(request.segments, (std::vector<std::string>{"v1", "memories", "a/b c"}));
  EXPECT_EQ(request.asked("name"), "x&y z");
  EXPECT_EQ(request.asked("exact"), "false");
}

TEST(Target, WhatIsNoPathIsRefused) {
  for (const char* target : {"", "*", "http://elsewhere/", "/%", "/%4", "/%zz", "/a?x=%"}) {
    Request request;
    EXPECT_FALSE(parse_target(target, request)) << target;
  }
}

TEST(Form, TheFirstFileIsFound) {
  const std::string body =
      "--XX\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nno\r\n"
      "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"notes.md\"\r\nContent-Type: "
      "text/markdown\r\n\r\n"
      "# Title\r\n\r\n--X is no boundary\r\n--XX--\r\n";
  const auto file = form_file("multipart/form-data; boundary=XX", body);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->name, "notes.md");
  EXPECT_EQ(file->type, "text/markdown");
  EXPECT_EQ(file->bytes, "# Title\r\n\r\n--X is no boundary");
}

TEST(Form, CutShortItIsNone) {
  const std::string body =
      "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\ntext\r\n--XX--\r\n";
  const std::size_t whole = body.find("\r\n--XX--") + 6;  // up to the boundary itself
  for (std::size_t size = 0; size < whole; ++size)
    EXPECT_FALSE(form_file("multipart/form-data; boundary=XX", body.substr(0, size))) << size;
  EXPECT_FALSE(form_file("multipart/form-data", body));
}

template <class F>
ApiError error_of(F&& f) {
  try {
    f();
  } catch (const ApiError& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Body, AnErrorNamesTheField) {
  const Json body =
      Fields::parse(R"({"n": "three", "x": 1, "flag": true, "temperature": 3, "nothing": null})");
  Fields fields(body, "outer");
  EXPECT_EQ(error_of([&] { fields.integer("n", 1, 5); }).param, "outer.n");
  EXPECT_EQ(error_of([&] { fields.number("temperature", 0, 2); }).param, "outer.temperature");
  EXPECT_EQ(error_of([&] { fields.required_string("missing"); }).param, "outer.missing");
  EXPECT_EQ(error_of([&] { fields.only("flag", false); }).code, "unsupported_value");
  EXPECT_FALSE(fields.integer("nothing", 0, 1));
  EXPECT_EQ(error_of([&] { fields.end(); }).param, "outer.x");
  fields.ignore({"x"});
  EXPECT_NO_THROW(fields.end());
}

TEST(Body, OnlyAnObjectIsOne) {
  EXPECT_TRUE(Fields::parse("").empty());
  for (const char* body : {"[]", "1", "{", "{\"a\":1,\"a\":2}", "\"\xff\""})
    EXPECT_EQ(error_of([&] { Fields::parse(body); }).code, "invalid_json") << body;
  EXPECT_EQ(error_of([&] { Fields::parse(std::string(100000, '[')); }).code, "invalid_json");
}

TEST(Exchange, ASlowReaderIsKnownAndAGoneOneToo) {
  Exchange exchange({});
  int room = 0;
  exchange.set_on_room([&] { ++room; });
  exchange.begin_stream("text/plain");
  exchange.write(std::string(100000, 'x'));
  EXPECT_TRUE(exchange.is_full());
  const Exchange::Pieces pieces = exchange.take();
  EXPECT_TRUE(pieces.begins && pieces.streamed && !pieces.ends);
  EXPECT_EQ(pieces.bytes.size(), 100000u);
  EXPECT_EQ(room, 1);
  EXPECT_FALSE(exchange.is_full());
  exchange.write(std::string(100000, 'x'));
  exchange.client_has_gone();
  EXPECT_TRUE(exchange.gone());
  EXPECT_FALSE(exchange.is_full());  // nobody waits for it
  EXPECT_EQ(room, 2);
}

TEST(Exchange, TheFirstReplyCounts) {
  Exchange exchange({});
  exchange.reply({.status = 404});
  exchange.reply({.status = 200});
  exchange.begin_stream("text/plain");
  EXPECT_EQ(exchange.take().reply.status, 404);
}

}  // namespace
}  // namespace mplus::serve
