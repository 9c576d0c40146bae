// mplus session rebuild: the texts of a session written again with another model.
#include <chrono>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/commands/session_options.h"
#include "mplus/cli/interrupt.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/store/stored_session.h"

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
  const std::string time =
      cost.writes < kWorthATrial
          ? ""
          : ", about " + duration_text(seconds_a_write(engine) * static_cast<double>(cost.writes));
  note("{} of text, {}: about {} of memory{}; the session stays as it is until that is done\n",
       plural(cost.tokens, "token"), plural(cost.writes, "write"),
       size_text(rows * static_cast<double>(layout.row_cost_bytes(long_term))), time);
}

}  // namespace

int rebuild_session_here(const SessionOptions& options) {
  const RowFormat kept = open_store().get(options.name).settings.type.long_term;
  const auto engine = open_engine(options.model, memory_of(options.name), true);
  store::Store store = open_store();
  std::optional<RowFormat> long_term;
  if (!options.dtype.empty()) long_term = memory_type_of(options.dtype).long_term;
  announce(*engine, store::rebuild_cost(store, *engine, options.name), long_term.value_or(kept));
  ProgressBar bar("event", 0);
  const Interrupt interrupt;
  store::StoredOptions how;
  how.warn = warn;
  how.replay_progress = [&](std::int64_t at, std::int64_t total) {
    bar.set_total(total);
    bar.show(at, "writing the texts again");
    return !interrupt.requested();
  };
  store::rebuild_session(store, *engine, options.name, how, long_term);
  bar.clear();
  done(options, fmt::format("session {} was written again with this model", printable(options.name)));
  return kGood;
}

}  // namespace mplus::cli
