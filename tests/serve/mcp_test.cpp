// The protocol's own rules; tools are tested with the official client (clients_test.py).
#include "mplus/serve/mcp/mcp.h"

#include <gtest/gtest.h>

#include "mplus/serve/core.h"
#include "mplus/serve/mcp/tools.h"
#include "tests/store/stored_fixture.h"

namespace mplus::serve {
namespace {

class McpTest : public store::StoreTest {
 protected:
  struct Answer {
    Json json;
    int status = 0;
  };
  Answer send(const std::string& message, const Request* headers = nullptr) {
    Answer answer;
    core_.mcp.handle(message, headers, {}, [&](const std::string& text, int status) {
      answer = {text.empty() ? Json() : Json::parse(text), status};
    });
    return answer;
  }
  static std::string modern(const std::string& method, const std::string& version = "2026-07-28") {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + method +
           R"(","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":")" + version +
           R"(","io.modelcontextprotocol/clientCapabilities":{}}}})";
  }

  store::Store store_{folder_};
  static CoreOptions options() {
    CoreOptions options;
    options.services.version = "1.2.3";
    return options;
  }

  Core core_{engine_, store_, options()};
};

TEST_F(McpTest, AHandshakeAgreesOnAVersion) {
  const auto version = [&](const std::string& asked) {
    return send(R"({"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":")" + asked +
                R"("}})")
        .json["result"]["protocolVersion"];
  };
  EXPECT_EQ(version("2025-11-25"), "2025-11-25");
  EXPECT_EQ(version("2025-03-26"), "2025-03-26");
  EXPECT_EQ(version("1999-01-01"), "2025-11-25");
}

TEST_F(McpTest, WithoutAHandshakeEveryRequestNamesItsVersion) {
  const Json result = send(modern("server/discover")).json["result"];
  EXPECT_EQ(result["supportedVersions"], Json::array({"2026-07-28"}));
  EXPECT_EQ(result["resultType"], "complete");
  const Json refused = send(modern("tools/list", "2031-01-01")).json["error"];
  EXPECT_EQ(refused["code"], -32022);
  EXPECT_EQ(refused["data"]["supported"], Json::array({"2026-07-28"}));
}

TEST_F(McpTest, HeadersMustSayWhatTheMessageSays) {
  Request headers;
  headers.headers = {{"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "tools/list"}};
  EXPECT_EQ(send(modern("tools/list"), &headers).status, 200);
  headers.headers["mcp-method"] = "tools/call";
  EXPECT_EQ(send(modern("tools/list"), &headers).json["error"]["code"], -32020);
}

TEST_F(McpTest, WhatIsNoMessageIsRefused) {
  EXPECT_EQ(send("{").json["error"]["code"], -32700);
  EXPECT_EQ(send("[]").json["error"]["code"], -32600);
  EXPECT_EQ(send(R"({"jsonrpc":"2.0","id":1,"method":"nothing"})").json["error"]["code"], -32601);
  EXPECT_EQ(send(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}})")
                .json["error"]["code"],
            -32602);
  const Answer notification = send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(notification.status, 202);
  EXPECT_TRUE(notification.json.is_null());
}

TEST_F(McpTest, EveryToolHasASchemaAndHints) {
  const Json tools = tools_json();
  EXPECT_EQ(tools.size(), 8u);
  for (const Json& tool : tools) {
    EXPECT_EQ(tool["inputSchema"]["type"], "object") << tool["name"];
    EXPECT_TRUE(tool["annotations"].contains("readOnlyHint")) << tool["name"];
    ASSERT_NE(find_tool(tool["name"].get<std::string>()), nullptr);
  }
}

// A wrong argument is the model's mistake, which it must see to mend.
TEST_F(McpTest, AWrongArgumentIsAResult) {
  const Json result =
      send(
          R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"query":"x"}}})")
          .json["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_NE(result["content"][0]["text"].get<std::string>().find("question"), std::string::npos);
}

}  // namespace
}  // namespace mplus::serve
