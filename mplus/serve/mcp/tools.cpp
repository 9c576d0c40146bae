#include "mplus/serve/mcp/tools.h"

#include <fmt/core.h>

#include <array>

#include "mplus/serve/error.h"

namespace mplus::serve {
namespace {

Json text_field(const char* description) { return {{"type", "string"}, {"description", description}}; }
Json number_field(const char* description, int least) {
  return {{"type", "integer"}, {"minimum", least}, {"description", description}};
}
Json flag_field(const char* description) { return {{"type", "boolean"}, {"description", description}}; }
Json memory_field() { return text_field("the memory's name; \"default\" if left out"); }

Request post(std::vector<std::string> segments, const Json& body) {
  Request request{.method = "POST", .path = "", .segments = std::move(segments)};
  request.headers["content-type"] = "application/json";
  request.body = dump(body);
  return request;
}
Request get(std::vector<std::string> segments) {
  return {.method = "GET", .path = "", .segments = std::move(segments)};
}

std::string memory_of(Fields& fields) { return fields.string("memory").value_or("default"); }
std::vector<std::string> path(Fields& fields, const char* what) {
  return {"v1", "memories", memory_of(fields), what};
}

const std::array kTools{
    Tool{"remember",
         "Remember",
         "Writes a text into a memory, so that it can be asked about later.",
         false,
         false,
         true,
         [] {
           return Json{
               {"text", text_field("what to remember")},
               {"name", text_field("what the text is called, e.g. a file's name or \"note of 3 May\"")},
               {"memory", memory_field()}};
         },
         {"text", "name"},
         [](const Json& arguments) {
           Fields fields(arguments);
           Request request = post(path(fields, "documents"), {{"name", fields.required_string("name")},
                                                              {"text", fields.required_string("text")}});
           fields.end();
           return request;
         }},
    Tool{"ask",
         "Ask",
         "Answers a question from what a memory holds, with the passages behind the answer.",
         true,
         false,
         true,
         [] {
           return Json{{"question", text_field("the question")}, {"memory", memory_field()}};
         },
         {"question"},
         [](const Json& arguments) {
           Fields fields(arguments);
           Request request = post(path(fields, "ask"), {{"question", fields.required_string("question")}});
           fields.end();
           return request;
         }},
    Tool{"recall",
         "Recall",
         "Finds the passages of a memory that belong to a query. Nothing is generated.",
         true,
         false,
         true,
         [] {
           return Json{{"query", text_field("what to look for")},
                       {"limit", number_field("passages at most; 8 if left out", 1)},
                       {"memory", memory_field()}};
         },
         {"query"},
         [](const Json& arguments) {
           Fields fields(arguments);
           Request request =
               post(path(fields, "search"), {{"query", fields.required_string("query")},
                                             {"limit", fields.integer("limit", 1, 64).value_or(8)}});
           fields.end();
           return request;
         }},
    Tool{"sources",
         "Sources",
         "Lists the texts that a memory was told, with their numbers.",
         true,
         false,
         true,
         [] {
           return Json{{"memory", memory_field()}};
         },
         {},
         [](const Json& arguments) {
           Fields fields(arguments);
           Request request = get(path(fields, "documents"));
           fields.end();
           return request;
         }},
    Tool{"forget",
         "Forget",
         "Removes what one source left in a memory, and its text. This cannot be undone.",
         false,
         true,
         true,
         [] {
           return Json{{"source", number_field("the source's number, from `sources`", 1)},
                       {"exact", flag_field("make the memory again without it: slower, and no trace stays")},
                       {"dry_run", flag_field("only say what would go")},
                       {"memory", memory_field()}};
         },
         {"source"},
         [](const Json& arguments) {
           Fields fields(arguments);
           const auto source = fields.integer("source", 1, std::int64_t{1} << 53);
           if (!source) fields.refuse("source", "is missing");
           Request request{.method = "DELETE", .path = "", .segments = path(fields, "documents")};
           request.segments.push_back(fmt::format("{}", *source));
           request.query["exact"] = fields.boolean("exact").value_or(false) ? "true" : "false";
           request.query["dry_run"] = fields.boolean("dry_run").value_or(false) ? "true" : "false";
           fields.end();
           return request;
         }},
    Tool{"undo",
         "Undo",
         "Takes back the last texts and turns of a memory.",
         false,
         true,
         false,
         [] {
           return Json{{"n", number_field("how many; 1 if left out", 1)}, {"memory", memory_field()}};
         },
         {},
         [](const Json& arguments) {
           Fields fields(arguments);
           Request request = post(path(fields, "undo"), {{"n", fields.integer("n", 1, 1 << 20).value_or(1)}});
           fields.end();
           return request;
         }},
    Tool{"fork",
         "Fork",
         "Copies a memory as it is now under another name; both go on by themselves.",
         false,
         false,
         false,
         [] {
           return Json{{"name", text_field("the new memory's name")}, {"memory", memory_field()}};
         },
         {"name"},
         [](const Json& arguments) {
           Fields fields(arguments);
           Request request = post(path(fields, "fork"), {{"name", fields.required_string("name")}});
           fields.end();
           return request;
         }},
    Tool{"memories",
         "Memories",
         "Lists the memories there are.",
         true,
         false,
         true,
         [] { return Json(Json::object()); },
         {},
         [](const Json& arguments) {
           Fields(arguments).end();
           return get({"v1", "memories"});
         }},
};

}  // namespace

const Tool* find_tool(std::string_view name) {
  for (const Tool& tool : kTools)
    if (tool.name == name) return &tool;
  return nullptr;
}

Json tools_json() {
  Json list = Json::array();
  for (const Tool& tool : kTools) {
    Json schema{{"type", "object"}, {"properties", tool.properties()}, {"additionalProperties", false}};
    if (!tool.required.empty()) schema["required"] = tool.required;
    list.push_back({{"name", tool.name},
                    {"title", tool.title},
                    {"description", tool.description},
                    {"inputSchema", std::move(schema)},
                    {"annotations",
                     {{"readOnlyHint", tool.reads_only},
                      {"destructiveHint", tool.destroys},
                      {"idempotentHint", tool.idempotent},
                      {"openWorldHint", false}}}});
  }
  return list;
}

}  // namespace mplus::serve
