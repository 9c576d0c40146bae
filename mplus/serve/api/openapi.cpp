#include "mplus/serve/api/openapi.h"

#include <algorithm>
#include <memory>

#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/io/text/ordered_json.h"
#include "mplus/serve/embedded.h"

namespace mplus::serve {
namespace {

constexpr const char* kMerge = "$merge";

// {"$merge": "Fields", "more": …} → the entries of schemas/Fields, and more.
void merge_fields(Json& schemas) {
  std::vector<std::string> used;
  for (auto& [name, schema] : schemas.items()) {
    if (!schema.contains("properties") || !schema["properties"].contains(kMerge)) continue;
    Json& own = schema["properties"];
    used.push_back(own[kMerge].get<std::string>());
    Json all = schemas.at(used.back());
    own.erase(kMerge);
    all.update(own);
    own = std::move(all);
  }
  for (const std::string& name : used) schemas.erase(name);
}

// All files of openapi/ in one.
Json described() {
  Json all{{"paths", Json::object()}, {"components", Json::object()}};
  for (const EmbeddedFile& file : openapi_files()) {
    const Json part = io::parse_ordered_json(file.bytes, file.name);
    all["paths"].update(part["paths"]);
    for (const auto& [kind, entries] : part["components"].items()) all["components"][kind].update(entries);
  }
  merge_fields(all["components"]["schemas"]);
  return all;
}

std::string lowered(std::string text) {
  for (char& c : text) c = lower(c);
  return text;
}

// "GET", "/v1/memories/{name}" → "get_v1_memories_name"
std::string operation_id(const Router::Description& route) {
  std::string id = lowered(route.method);
  for (const char c : route.path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain && !id.empty()) id += c;
    if (!plain && id.back() != '_' && c != '}') id += '_';
  }
  return id.back() == '_' ? id.substr(0, id.size() - 1) : id;
}

// What is the same for all: who may, and what an error looks like.
void complete(Json& operation, const Router::Description& route) {
  operation["operationId"] = operation_id(route);
  if (route.method == "POST")
    operation["parameters"].push_back({{"$ref", "#/components/parameters/IdempotencyKey"}});
  operation["responses"]["default"] = {{"$ref", "#/components/responses/Error"}};
  if (!route.right) {
    operation["security"] = Json::array();
    return;
  }
  operation["x-mplus-right"] = right_name(*route.right);
  operation["security"] = Json::array({Json::object(), {{"bearer", Json::array()}}});
}

Json error_schema() {
  const Json text{{"type", "string"}};
  const Json error{{"type", "object"},
                   {"additionalProperties", false},
                   {"required", {"message", "type", "code", "param"}},
                   {"properties",
                    {{"message", text},
                     {"type", text},
                     {"code", text},
                     {"param", {{"type", {"string", "null"}}, {"description", "The field it is about."}}}}}};
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", {"error"}},
          {"properties", {{"error", error}}}};
}

std::string openapi_text(const Router& router, const std::string& version) {
  Json all{{"openapi", "3.1.0"},
           {"info",
            {{"title", "mplus"},
             {"version", version},
             {"description", "Memories for language models, over HTTP. Explained in docs/server.md."},
             {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}}};
  all.update(described());
  std::size_t operations = 0;
  for (const auto& [path, methods] : all["paths"].items()) operations += methods.size();
  for (const Router::Description& route : router.descriptions()) {
    const std::string method = lowered(route.method);
    const bool known = all["paths"].contains(route.path) && all["paths"][route.path].contains(method);
    MPLUS_CHECK(known, "{} {} is not described in openapi/", route.method, route.path);
    complete(all["paths"][route.path][method], route);
  }
  MPLUS_CHECK(operations == router.descriptions().size(),
              "openapi/ describes {} operations, and there are {} routes", operations,
              router.descriptions().size());
  all["components"]["responses"]["Error"] = {
      {"description", "What went wrong."},
      {"content", {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}};
  all["components"]["parameters"]["IdempotencyKey"] = {
      {"name", "Idempotency-Key"},
      {"in", "header"},
      {"description", "A request that is sent again with the same key is done once, and answered again."},
      {"schema", {{"type", "string"}, {"maxLength", 256}}}};
  all["components"]["schemas"]["Error"] = error_schema();
  all["components"]["securitySchemes"]["bearer"] = {
      {"type", "http"}, {"scheme", "bearer"}, {"description", "A key, where the server has some."}};
  return dump(all);
}

}  // namespace

void add_openapi_route(Router& router, const std::string& version) {
  const auto text = std::make_shared<std::string>();
  router.add(
      "GET", "/openapi.json", [text](const Call& call) { call.exchange->reply({.body = *text}); },
      std::nullopt);
  *text = openapi_text(router, version);
}

}  // namespace mplus::serve
