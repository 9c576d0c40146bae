#include "mplus/serve/api/answer/memory_choice.h"

#include <fmt/core.h>

namespace mplus::serve {
namespace {

MemoryMode mode_of(Fields& fields) {
  const std::string mode = fields.string("mode").value_or("write");
  if (mode == "off") return MemoryMode::off;
  if (mode == "read") return MemoryMode::read;
  if (mode != "write") fields.refuse("mode", "expected write, read or off");
  return MemoryMode::write;
}

MemoryChoice choice_of(const Json& json) {
  if (json.is_string()) return {.name = json.get<std::string>(), .mode = MemoryMode::write};
  Fields fields(json, "memory");
  MemoryChoice choice;
  choice.mode = mode_of(fields);
  choice.name = fields.string("name").value_or("");
  choice.create = fields.boolean("create").value_or(true);
  choice.whole = fields.boolean("whole").value_or(false);
  choice.passages = fields.boolean("passages").value_or(true);
  fields.end();
  return choice;
}

}  // namespace

std::string memory_of_model(std::string_view model) {
  const std::string prefix = fmt::format("{}:", kModelName);
  return model.starts_with(prefix) ? std::string(model.substr(prefix.size())) : "";
}

MemoryChoice memory_choice(const Services& services, const Call& call, Fields& body,
                           const std::string& model) {
  MemoryChoice choice;
  const Json* field = body.any("memory");
  if (field) choice = choice_of(*field);
  const auto name = [&](std::string_view other, const char* where) {
    if (other.empty()) return;
    if (choice.name.empty()) choice.name = other;
    if (choice.name != other)
      throw ApiError{400, "two_memories",
                     fmt::format("the request names two memories: {:?} and, by {}, {:?}", choice.name, where,
                                 std::string(other)),
                     "memory"};
    if (!field) choice.mode = MemoryMode::write;
  };
  name(call.request().header("x-mplus-memory"), "a header");
  for (const std::string& header : services.options.memory_headers)
    name(call.request().header(header), "a header");
  name(memory_of_model(model), "the model's name");
  if (choice.name.empty() && !field) name(call.caller.memory, "the key");
  if (choice.name.empty() && choice.mode != MemoryMode::off && field)
    throw ApiError{400, "invalid_value", "memory.name: is missing", "memory.name"};
  if (choice.mode == MemoryMode::off) choice.name.clear();
  if (choice.mode == MemoryMode::write && services.store.read_only()) throw read_only_error();
  if (choice.mode == MemoryMode::write && !call.caller.may(Right::write))
    throw ApiError{403, "not_allowed",
                   "this key may not write; `\"memory\": {\"mode\": \"read\"}` answers without",
                   "memory.mode"};
  return choice;
}

}  // namespace mplus::serve
