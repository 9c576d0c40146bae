// An answer to a conversation or a prompt, with a memory behind it or without, whatever form the reply has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/text/chat_template.h"
#include "mplus/serve/api/answer/generate_request.h"

namespace mplus::serve {

struct Message {
  io::Role role = io::Role::user;
  std::string text;
};

struct CompletionRequest : GenerateRequest {
  std::vector<Message> messages = {};    // of a chat; the last is the user's
  std::vector<io::TokenId> prompt = {};  // of a plain completion, or made of the messages
  std::string prompt_text = {};          // if it was sent as text
  bool chat = true;
  bool sends_history = true;  // all of the conversation each time; false: only what is new

  std::string system() const;  // all system messages
};

// A message's content: a string, or a list of parts that are text.
std::string content_text(Fields& fields, const std::string& name);

// A list of messages, the last of which is the user's. Throws ApiError naming what it cannot be.
std::vector<Message> messages_of(Fields& fields, const std::string& name);

// How the answer reaches the client.
class ReplyForm {
 public:
  virtual ~ReplyForm() = default;
  virtual bool text(std::string_view piece) = 0;  // of the answer that is made now; false: enough
  virtual void end_answer(const engine::Answer& answer) = 0;
  virtual void end(Json memory) = 0;  // null: none was read
};

// Answers of the model to one prompt, beside a memory or without one. Nothing is kept. Returns the last.
engine::Steps<engine::Answer> answer_prompt(Job& job, Call& call, const CompletionRequest& request,
                                            const engine::Session& session, engine::GenerateOptions options,
                                            ReplyForm& reply);

// All must outlive it.
engine::Steps<> complete(Services& services, Job& job, Call& call, CompletionRequest& request,
                         ReplyForm& reply);

}  // namespace mplus::serve
