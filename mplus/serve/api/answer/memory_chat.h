// A request for text that a memory takes part in: a turn of it, or, in mode `read`, an answer that is not
// kept.
#pragma once

#include "mplus/serve/api/answer/completion.h"
#include "mplus/serve/api/answer/history.h"

namespace mplus::serve {

class MemoryChat {
 public:
  // All must outlive it.
  MemoryChat(Services& services, Job& job, Call& call, const CompletionRequest& request, ReplyForm& reply)
      : services_(services), job_(job), call_(call), request_(request), reply_(reply) {}

  engine::Steps<> run();
  // It is about the conversation, not a part of it: nothing has been answered.
  bool wants_answer_without_memory() const { return reply_without_memory_; }

 private:
  const std::string& newest() const { return request_.messages.back().text; }
  HistoryPlan plan() const;
  engine::GenerateOptions options();
  engine::Steps<> take_turn();
  engine::Steps<> read();
  engine::Steps<> answer_on(engine::Session& copy, engine::Answer& answer);
  // Whether the system message that was sent is to be taken in now.
  bool takes_system();
  // A turn that was taken by the same request before.
  bool answer_again(const std::string& request_name);
  // `window`: tokens in it at the end.
  Json memory_json(const engine::Answer& answer, const engine::Session& session, const char* mode,
                   std::int64_t window) const;

  Services& services_;
  Job& job_;
  Call& call_;
  const CompletionRequest& request_;
  ReplyForm& reply_;
  std::shared_ptr<OpenMemory> memory_;
  HistoryPlan plan_;
  std::int64_t undone_ = 0;
  const char* system_ = nullptr;  // what became of the system message; null: there was none
  bool created_ = false, reply_without_memory_ = false;
};

}  // namespace mplus::serve
