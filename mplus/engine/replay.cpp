#include "mplus/engine/replay.h"

#include "mplus/engine/generation.h"
#include "mplus/engine/ingestion.h"

namespace mplus::engine {

void replay(Session& session, const Event& event, bool as_recalled, const EventSink& told) {
  StepsUnderWay<void> steps(replay_steps(session, event, as_recalled, told));
  run_alone(session.engine().runner(), steps);
}

Steps<> replay_steps(Session& session, const Event& event, bool as_recalled, const EventSink& told,
                     std::function<void()> behind_step) {
  if (const auto* text = std::get_if<TextTaken>(&event)) {
    if (text->speaker == Speaker::system) {
      session.set_system_message(text->text, told);
      co_return;
    }
    Ingestion ingestion = Ingestion::of_views(
        session,
        {.source = text->source, .text = text->text, .ids = text->ids, .first_token = text->token_begin},
        [&session, text, updates = session.memory().updates()](std::int64_t done, std::int64_t total) {
          if (text->complete || done == total) return true;
          // Stops where it had been stopped: behind the update that ended with this token.
          if (session.memory().updates() == updates) return true;
          const std::vector<Span>& written = session.record().spans(session.memory().updates() - 1);
          return written.back().token_end < text->token_end;
        },
        {}, told);
    for (bool more = true; more;) {
      more = co_await next_step(ingestion);
      if (behind_step) behind_step();
    }
  } else if (const auto* replayed = std::get_if<TurnTaken>(&event)) {
    GenerateOptions options;
    std::optional<RecallRule>& rule = options.recall.rule;
    rule = recall_rule_from_name(replayed->recall);
    // What these two went by is not in the event.
    if (rule == RecallRule::words || rule == RecallRule::oracle) rule.reset();
    if (as_recalled)
      options.recall_strategy = [replayed] {
        return memory::recall_births({replayed->recalled_births.begin(), replayed->recalled_births.end()});
      };
    TurnTaken again = *replayed;
    if (!as_recalled) {  // chunks may have other numbers now
      options.reread = std::ssize(replayed->reread);
      again.reread = {};
    }
    Generation generation = Generation::replay(session, again, options, told);
    co_await work_of(generation);
  } else {
    Ingestion ingestion = Ingestion::flush(session, {}, told);
    co_await work_of(ingestion);
  }
}

}  // namespace mplus::engine
