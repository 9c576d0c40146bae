// mplus session rebuild: the texts of a session written again with another model.
#include <algorithm>
#include <chrono>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/commands/session_options.h"
#include "mplus/cli/interrupt.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::cli {
namespace {

// A trial of one chunk tells how long a write takes with this model on this machine.
double seconds_a_write(engine::Engine& engine) {
  engine::Session trial(engine, 0);
  const std::vector<io::TokenId> chunk(static_cast<std::size_t>(engine.chunk_tokens()), 0);
  const auto begin = std::chrono::steady_clock::now();
  trial.remember_ids(chunk, "trial");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void announce(engine::Engine& engine, const store::RebuildCost& cost, RowFormat long_term) {
  constexpr std::int64_t kWorthATrial = 32;  // writes
  const memory::Layout& layout = engine.layout();
  const double rows = static_cast<double>(cost.writes * layout.K * layout.remembering_layers());
  const std::int64_t left = std::max<std::int64_t>(0, cost.writes - cost.written);
  const std::string time =
      left < kWorthATrial ? ""
                          : ", about " + duration_text(seconds_a_write(engine) * static_cast<double>(left));
  if (cost.written > 0)
    note("a rebuild was stopped after {}: it goes on there\n", plural(cost.written, "write"));
  note("{} of text, {}: about {} of memory{}; the session stays as it is until that is done\n",
       plural(cost.tokens, "token"),
       cost.written > 0 ? fmt::format("{} of {}", count_text(left), plural(cost.writes, "write"))
                        : plural(cost.writes, "write"),
       size_text(rows * static_cast<double>(layout.row_cost_bytes(long_term))), time);
}

// What a rebuild that was stopped has written goes; nothing is rebuilt.
int drop(const SessionOptions& options) {
  const auto left = open_store().drop_rebuild(options.name);
  done(options, left ? fmt::format("session {}: {} of a rebuild that was stopped are gone; it is as it was",
                                   printable(options.name), plural(left->updates, "write"))
                     : fmt::format("session {}: no rebuild of it was stopped", printable(options.name)));
  return kGood;
}

}  // namespace

int rebuild_session_here(const SessionOptions& options) {
  if (options.drop) return drop(options);
  const RowFormat kept = open_store().get(options.name).settings.type.long_term;
  const auto engine = open_engine(options.model, memory_of(options.name), true);
  store::Store store = open_store();
  std::optional<RowFormat> long_term;
  if (!options.dtype.empty()) long_term = memory_type_of(options.dtype).long_term;
  const store::RebuildCost cost = store::rebuild_cost(store, *engine, options.name, long_term);
  announce(*engine, cost, long_term.value_or(kept));
  ProgressBar bar("write", std::max<std::int64_t>(0, cost.writes - cost.written));
  const Interrupt interrupt;
  store::StoredOptions how;
  how.warn = warn;
  how.rebuild_progress = [&](std::int64_t writes) {
    bar.show(writes - cost.written, "writing the texts again");
    return !interrupt.requested();
  };
  store::rebuild_session(store, *engine, options.name, how, long_term);
  bar.clear();
  done(options, fmt::format("session {} was written again with this model", printable(options.name)));
  return kGood;
}

}  // namespace mplus::cli
