#include "mplus/serve/mcp/mcp.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "mplus/core/error.h"
#include "mplus/io/text/json.h"
#include "mplus/serve/mcp/tools.h"

namespace mplus::serve {
namespace {

constexpr std::string_view kModern = "2026-07-28";
constexpr std::array<std::string_view, 4> kHandshake{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kServerKey = "io.modelcontextprotocol/serverInfo";

constexpr const char* kInstructions =
    "A memory that lasts. `remember` what should be known later; `ask` answers from what was remembered; "
    "`recall` "
    "shows the passages themselves. A memory is called by a name; without one it is \"default\".";

// JSON-RPC's and the protocol's own.
constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
              kInvalidParams = -32602, kInternalError = -32603, kHeaderMismatch = -32020,
              kUnsupportedVersion = -32022;

struct RpcError {
  int code;
  std::string message;
  Json data = nullptr;
};

int http_status(int code) { return code == kMethodNotFound ? 404 : 400; }

std::string failure(const Json& id, const RpcError& error) {
  Json json{{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", error.code}, {"message", error.message}}}};
  if (!error.data.is_null()) json["error"]["data"] = error.data;
  return dump(json);
}

std::string success(const Json& id, Json result) {
  return dump({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

Json object_at(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_object() ? *at : Json::object();
}

}  // namespace

struct Mcp::Message {
  Json id;
  std::string method;
  Json params = Json::object();
  bool modern = false;
  Caller caller;

  // Throws RpcError.
  void read_version(const Request* headers) {
    const Json meta = object_at(params, "_meta");
    const auto version = meta.find(kVersionKey);
    modern = version != meta.end();
    if (!modern) return;
    if (!version->is_string() || !meta.contains(kCapabilitiesKey))
      throw RpcError{kInvalidParams,
                     fmt::format("params._meta: expected {} and {}", kVersionKey, kCapabilitiesKey)};
    const std::string asked = version->get<std::string>();
    if (headers) check_headers(*headers, asked);
    if (asked != kModern)
      throw RpcError{kUnsupportedVersion,
                     "Unsupported protocol version",
                     {{"supported", {kModern}}, {"requested", asked}}};
  }
  void check_headers(const Request& headers, const std::string& version) const {
    const auto must_be = [&](const char* name, const std::string& value) {
      if (headers.header(name) != value)
        throw RpcError{kHeaderMismatch, fmt::format("the header {} does not match the message", name)};
    };
    must_be("mcp-protocol-version", version);
    must_be("mcp-method", method);
    if (method == "tools/call" && params.contains("name") && params["name"].is_string())
      must_be("mcp-name", params["name"].get<std::string>());
  }
  // What results of this version carry beside their own.
  Json finished(Json result, bool lasts, const Json& server) const {
    if (!modern) return result;
    result["resultType"] = "complete";
    if (lasts) {
      result["ttlMs"] = 300000;
      result["cacheScope"] = "private";
    }
    result["_meta"] = {{kServerKey, server}};
    return result;
  }
};

void Mcp::handle(std::string_view text, const Request* headers, const Caller& caller,
                 const Done& done) const {
  Message message;
  message.caller = caller;
  try {
    Json json;
    try {
      json = io::parse_json(text, "the message");
    } catch (const Error& error) {
      throw RpcError{kParseError, error.what()};
    }
    if (!json.is_object() || json.value("jsonrpc", "") != "2.0")
      throw RpcError{kInvalidRequest, "expected one JSON-RPC 2.0 message"};
    if (!json.contains("method")) return done("", 202);  // an answer to a question that was never asked
    if (!json["method"].is_string()) throw RpcError{kInvalidRequest, "method: expected a string"};
    message.method = json["method"].get<std::string>();
    message.params = object_at(json, "params");
    if (!json.contains("id")) return done("", 202);  // a notification: nothing here waits for one
    message.id = json["id"];
    if (!message.id.is_string() && !message.id.is_number_integer())
      throw RpcError{kInvalidRequest, "id: expected a string or an integer"};
    message.read_version(headers);
    answer(message, done);
  } catch (const RpcError& error) {
    done(failure(message.id, error), http_status(error.code));
  } catch (const std::exception& error) {
    done(failure(message.id, {kInternalError, error.what()}), 500);
  }
}

void Mcp::answer(const Message& message, const Done& done) const {
  const Json server{{"name", "mplus"}, {"title", "mplus memory"}, {"version", version_}};
  const Json capabilities{{"tools", Json::object()}};
  const auto reply = [&](Json result, bool lasts = false) {
    done(success(message.id, message.finished(std::move(result), lasts, server)), 200);
  };
  if (message.method == "tools/call") return call_tool(message, done);
  if (message.method == "tools/list") return reply({{"tools", tools_json()}}, true);
  if (message.method == "ping" && !message.modern) return reply(Json::object());
  if (message.method == "server/discover" && message.modern)
    return reply(
        {{"supportedVersions", {kModern}}, {"capabilities", capabilities}, {"instructions", kInstructions}},
        true);
  if (message.method == "initialize" && !message.modern) {
    const std::string asked = message.params.value("protocolVersion", "");
    const bool known = std::find(kHandshake.begin(), kHandshake.end(), asked) != kHandshake.end();
    return reply({{"protocolVersion", known ? asked : std::string(kHandshake.front())},
                  {"capabilities", capabilities},
                  {"serverInfo", server},
                  {"instructions", kInstructions}});
  }
  throw RpcError{kMethodNotFound, fmt::format("there is no method {}", dump(Json(message.method)))};
}

// A failure of the tool is a result, so that the model sees it and can do better.
void Mcp::call_tool(const Message& message, const Done& done) const {
  const Json arguments = object_at(message.params, "arguments");
  const auto name = message.params.find("name");
  const Tool* tool =
      name != message.params.end() && name->is_string() ? find_tool(name->get<std::string>()) : nullptr;
  if (!tool) throw RpcError{kInvalidParams, "params.name: there is no such tool"};
  const Json server{{"name", "mplus"}, {"version", version_}};
  const auto finish = [message, server, done](int status, const std::string& body) {
    Json result{{"content", {{{"type", "text"}, {"text", body}}}}, {"isError", status >= 400}};
    if (status < 400) result["structuredContent"] = Json::parse(body, nullptr, false);
    done(success(message.id, message.finished(std::move(result), false, server)), 200);
  };
  Request request;
  try {
    request = tool->request(arguments);
  } catch (const ApiError& error) {
    return finish(400, error_json(error));
  }
  request.id = "mcp";
  const auto exchange = std::make_shared<Exchange>(std::move(request));
  // Taken once; the exchange lives until its handler has ended.
  exchange->set_on_ready([weak = std::weak_ptr(exchange), finish] {
    const auto own = weak.lock();
    if (!own) return;
    const Exchange::Pieces pieces = own->take();
    if (pieces.begins) finish(pieces.reply.status, pieces.reply.body);
  });
  router_.handle_for(exchange, message.caller);
}

void add_mcp_routes(Router& router, const Mcp& mcp) {
  router.add(
      "POST", "/mcp",
      [&mcp](const Call& call) {
        mcp.handle(call.request().body, &call.request(), call.caller,
                   [exchange = call.exchange](std::string answer, int status) {
                     exchange->reply({.status = status,
                                      .body = std::move(answer),
                                      .type = status == 202 ? "" : "application/json"});
                   });
      },
      Right::read);  // each tool needs its own
}

}  // namespace mplus::serve
