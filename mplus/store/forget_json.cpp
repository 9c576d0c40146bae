#include "mplus/store/forget_json.h"

namespace mplus::store {

std::int64_t tokens_written_again(const engine::ForgetResult& removed) {
  std::int64_t tokens = 0;
  for (const auto& [update, spans] : removed.written_again)
    for (const engine::Span& span : spans) tokens += span.token_end - span.token_begin;
  return tokens;
}

io::OrderedJson forget_json(const ForgetReport& report, bool exact, bool planned) {
  return {{"sources", report.sources},
          {"exact", exact},
          {"dry_run", planned},
          {"rows", report.removed.rows},
          {"updates", report.removed.updates},
          {"segments", report.removed.segments},
          {"window_tokens", report.removed.window_tokens},
          {"written_again",
           {{"sources", report.written_again},
            {"updates", report.removed.written_again.size()},
            {"tokens", tokens_written_again(report.removed)}}},
          {"replayed_events", report.replayed_events},
          {"answers", report.answers},
          {"holders", report.holders}};
}

}  // namespace mplus::store
