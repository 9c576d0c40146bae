#include "mplus/cli/output/json_output.h"

#include "mplus/cli/output/print.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/cli/output/why_output.h"

namespace mplus::cli {

void put_json(const Json& report) {
  // JSON lets C1 control characters stand as they are; a terminal would obey them.
  const bool ascii = standard_output().is_terminal;
  put(report.dump(-1, ' ', ascii, Json::error_handler_t::replace) + "\n");
}

Json answer_json(const engine::Answer& answer, const engine::Record& record, bool with_why) {
  Json json;
  json["text"] = answer.text;
  json["tokens"] = answer.tokens;
  json["reason"] = engine::stop_reason_name(answer.reason);
  json["prompt_tokens"] = answer.prompt_tokens;
  json["prefill_seconds"] = answer.prefill_seconds;
  json["decode_seconds"] = answer.decode_seconds;
  json["recall"] = recall_rule_name(answer.recall);
  json["reread"] = reread_json(answer.reread, record);
  json["passed"] = answer.passed;
  json["refuted"] = Json::array();
  for (const engine::Refuted& refuted : answer.refuted)
    json["refuted"].push_back({{"chunk", refuted.chunk ? Json(*refuted.chunk) : Json()},
                               {"said", refuted.said},
                               {"names", refuted.names}});
  json["asked_on"] = answer.asked_on.empty() ? Json() : Json(answer.asked_on);
  json["by_base"] = answer.by_base;
  json["waiting"] = spans_json(answer.waiting, record);
  if (with_why) json["why"] = why_json(answer.why, record);
  return json;
}

}  // namespace mplus::cli
