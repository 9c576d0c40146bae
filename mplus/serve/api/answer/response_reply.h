// A response as its client gets it: whole, or event by event.
#pragma once

#include <optional>
#include <string>

#include "mplus/serve/api/answer/response_request.h"

namespace mplus::serve {

Json message_item(const std::string& id, const char* status, const Json& content);
Json text_part(std::string_view text, const Json& annotations = Json::array());

class ResponseReply final : public ReplyForm {
 public:
  // All must outlive it.
  ResponseReply(Services& services, Call& call, const ResponseRequest& request);
  bool text(std::string_view piece) override;
  void end_answer(const engine::Answer& answer) override { answer_ = answer; }
  void end(Json memory) override;

 private:
  Json response(const char* status) const;
  Json whole(const char* status, const Json& item, Json memory) const;
  void open();
  void event(const char* type, const Json& fields);

  Services& services_;
  Call& call_;
  const ResponseRequest& request_;
  std::string id_ = random_name("resp_"), item_;
  std::int64_t created_;
  std::string text_;
  engine::Answer answer_;
  bool opened_ = false;
  std::int64_t sequence_ = 0;
  std::optional<std::chrono::steady_clock::time_point> last_piece_;
};

}  // namespace mplus::serve
