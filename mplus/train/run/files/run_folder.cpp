#include "mplus/train/run/files/run_folder.h"

#include <fmt/core.h>

#include <tuple>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/train/model/files/save_base.h"
#include "mplus/train/model/files/save_delta.h"
#include "mplus/train/run/files/travel.h"

namespace mplus::train {

namespace fs = std::filesystem;

RunFolder::RunFolder(const RunOptions& options, const RunOrigin& origin, RunLog& log, Processes* processes)
    : options_(options),
      origin_(origin),
      log_(log),
      processes_(processes),
      plot_(options.out / "log.jsonl", options.out / "losses.svg", log) {}

std::optional<Progress> RunFolder::find_checkpoint() {
  const bool packed = !options_.travel.empty() && holds_packed_checkpoint(options_.travel);
  if (packed && writes() && !fs::exists(checkpoint())) unpack_checkpoint(options_.travel, checkpoint());
  if (processes_) processes_->wait_for_all();
  std::optional<Progress> found;
  if (fs::exists(checkpoint())) found = checkpoint_progress(checkpoint());
  check_agreement(found);
  return found;
}

// What would make a run another one without anybody noticing.
void RunFolder::check_agreement(const std::optional<Progress>& found) {
  if (processes_ && !processes_->all_equal(origin_.recipe + origin_.data))
    fail(ErrorCode::invalid_argument, "the processes have different recipes or data");
  const Progress from = found.value_or(Progress{});
  if (processes_ && !processes_->all_equal(fmt::format("{} {}", from.stage, from.step)))
    fail(ErrorCode::invalid_argument,
         "{}: the processes see different checkpoints; they need a folder in common", checkpoint().string());
  if (options_.changed_recipe) return;
  for (const auto& [what, made_with, now] :
       {std::tuple("recipe", from.recipe, origin_.recipe), std::tuple("data", from.data, origin_.data)})
    if (!made_with.empty() && made_with != now)
      fail(ErrorCode::invalid_argument,
           "{}: was made with another {} (SHA-256 {:.12}…, now {:.12}…). Take another folder to begin anew; "
           "--changed-recipe goes on all the same",
           checkpoint().string(), what, made_with, now);
}

void RunFolder::save(Model& model, AdamW& optimizer, Progress progress) {
  progress.recipe = origin_.recipe;
  progress.data = origin_.data;
  save_checkpoint(checkpoint(), model, optimizer, progress);
  if (!options_.travel.empty() && writes()) pack();
  if (writes()) plot_.draw();
  saved_ = Clock::now();
}

void RunFolder::pack() {
  const auto limit = static_cast<std::int64_t>(options_.travel_mebibytes * (1 << 20));
  const TravelSize size = pack_checkpoint(checkpoint(), options_.travel, {.all_bytes = limit});
  log_.say(fmt::format("{}: {:.1f} MiB in {} pieces, moments {}", options_.travel.string(),
                       static_cast<double>(size.bytes) / (1 << 20), size.pieces,
                       size.moment_bits > 0
                           ? fmt::format("in {} bits", size.moment_bits)
                           : "left out: they do not fit, the learning rate will warm up again"));
}

void RunFolder::save_result(Model& model, std::int64_t stages_done, std::size_t stages) {
  if (!writes()) return;
  io::StringMap record = origin_.record;
  record["training_stages_done"] = fmt::format("{} of {}", stages_done, stages);
  if (model.base_trained) {
    const fs::path base = options_.out / "base";
    save_base(model, origin_.model, base, options_.base_dtype);
    record["base"] = fmt::format("trained along, from {}", origin_.model.filename().string());
    record["base_sha256"] = io::sha256_hex(base / "model.safetensors");
  }
  save_delta(model, options_.out / "delta.safetensors", record);
}

}  // namespace mplus::train
