#include "mplus/serve/api/answer/response_request.h"

#include <fmt/core.h>
#include <openssl/rand.h>

#include <array>
#include <charconv>

#include "mplus/io/text/names.h"

namespace mplus::serve {
namespace {

constexpr std::string_view kResponse = "resp_";

// A text, or a list of messages.
std::vector<Message> input_of(Fields& fields) {
  const Json* input = fields.any("input");
  if (!input) fields.refuse("input", "is missing");
  if (input->is_string()) return {{io::Role::user, input->get<std::string>()}};
  return messages_of(fields, "input");
}

// `conversation` and `previous_response_id` name the memory, too; the first of all that do counts, and two
// that differ are refused.
void choose_memory(const Services& services, Fields& fields, const Call& call, ResponseRequest& request) {
  std::string name;
  if (const Json* conversation = fields.any("conversation")) {
    if (conversation->is_string()) {
      name = conversation->get<std::string>();
    } else {
      Fields inner(*conversation, "conversation");
      name = inner.required_string("id");
      inner.end();
    }
    if (name.empty()) fields.refuse("conversation", "is empty");
    request.memory.create = false;
  }
  if (const auto previous = fields.string("previous_response_id")) {
    if (!name.empty())
      fields.refuse("previous_response_id", "a request has this or `conversation`, not both");
    request.previous = TurnPlace::of(*previous, "previous_response_id");
    name = request.previous->memory;
    request.memory.create = false;
  }
  if (name.empty()) return;
  if (!request.memory.name.empty() && request.memory.name != name)
    throw ApiError{400, "two_memories", "the request names two memories", "memory"};
  if (!call.caller.may(Right::write))
    throw ApiError{403, "not_allowed", "this key may not write", "conversation"};
  if (services.store.read_only()) throw read_only_error();
  request.memory.name = name;
  request.memory.mode = MemoryMode::write;
  request.options.why = true;
}

}  // namespace

std::string random_name(const char* prefix) {
  std::array<unsigned char, 12> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1)
    throw ApiError{503, "no_randomness", "the system gives no random numbers"};
  std::string name = prefix;
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

std::string TurnPlace::id() const {
  std::string text(kResponse);
  for (const char c : memory) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text + fmt::format("_{}", event);
}

std::string TurnPlace::item_id() const { return "msg_" + id().substr(kResponse.size()); }

TurnPlace TurnPlace::of(const std::string& id, const char* field) {
  const auto missing = [&]() -> ApiError {
    return {404, "not_found",
            fmt::format("there is no response {}; only turns of a memory are kept", io::shown(id)), field};
  };
  const std::size_t last = id.rfind('_');
  if (!id.starts_with(kResponse) || last < kResponse.size() || (last - kResponse.size()) % 2 != 0)
    throw missing();
  TurnPlace place;
  for (std::size_t i = kResponse.size(); i < last; i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(id.data() + i, id.data() + i + 2, value, 16);
    if (error != std::errc() || end != id.data() + i + 2) throw missing();
    place.memory += static_cast<char>(value);
  }
  const auto [end, error] = std::from_chars(id.data() + last + 1, id.data() + id.size(), place.event);
  if (error != std::errc() || end != id.data() + id.size() || place.memory.empty()) throw missing();
  return place;
}

ResponseRequest response_request(const Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  ResponseRequest request{{generate_request(services, call, fields), input_of(fields)}, {}, {}};
  request.options.max_tokens =
      fields.integer("max_output_tokens", 1, 32768).value_or(request.options.max_tokens);
  request.sends_history = false;
  request.instructions = fields.string("instructions").value_or("");
  if (!request.instructions.empty())
    request.messages.insert(request.messages.begin(), {io::Role::system, request.instructions});
  choose_memory(services, fields, call, request);
  if (const Json* metadata = fields.any("metadata"); metadata && metadata->is_object())
    request.metadata = *metadata;
  if (const Json* text = fields.any("text")) {
    Fields inner(*text, "text");
    if (const Json* format = inner.any("format")) read_format(*format, "text.format", request.options);
    inner.ignore({"verbosity"});
    inner.end();
  }
  fields.only("tools", Json::array());
  fields.only("background", false);
  if (const Json* choice = fields.any("tool_choice"); choice && *choice != "none" && *choice != "auto")
    fields.refuse("tool_choice", "tools are not supported");
  if (const auto cut = fields.string("truncation"); cut && *cut != "auto" && *cut != "disabled")
    fields.refuse("truncation", "expected auto or disabled");
  if (const Json* include = fields.any("include"); include && !(include->is_array() && include->empty()))
    fields.refuse("include", "nothing more can be included");
  fields.ignore(
      {"parallel_tool_calls", "reasoning", "prompt_cache_retention", "max_tool_calls", "top_logprobs"});
  fields.end();
  if (request.answers != 1) fields.refuse("n", "a response has one answer");
  return request;
}

}  // namespace mplus::serve
