#include "mplus/cli/golden/case_folder.h"

#include <algorithm>
#include <cmath>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/answer/sampling/sampler.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/model/placement.h"

namespace mplus::golden {

void Report::close(const std::string& what, std::span<const float> found, std::span<const float> expected,
                   double tolerance) {
  ++comparisons_;
  if (found.size() != expected.size())
    return fail_with(fmt::format("{}: {} values expected, {} found", what, expected.size(), found.size()));
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (!(error <= worst)) {  // also catches NaN
      worst = error;
      at = i;
    }
  }
  worst_share_ = std::max(worst_share_, worst / tolerance);
  if (!(worst <= tolerance))
    fail_with(fmt::format("{}: element {}: {} expected, {} found; tolerance {:g}", what, at, expected[at],
                          found[at], tolerance));
}

void Report::close(const std::string& what, double found, double expected, double tolerance) {
  ++comparisons_;
  const double error = std::abs(found - expected);
  worst_share_ = std::max(worst_share_, error / tolerance);
  if (!(error <= tolerance))
    fail_with(fmt::format("{}: {} expected, {} found; tolerance {:g}", what, expected, found, tolerance));
}

void Report::equal(const std::string& what, const std::vector<std::int64_t>& found,
                   const std::vector<std::int64_t>& expected) {
  ++comparisons_;
  if (found == expected) return;
  const auto mismatch = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  fail_with(fmt::format("{}: differs from place {} on ({} values expected, {} found)", what,
                        mismatch.first - found.begin(), expected.size(), found.size()));
}

CaseFolder::CaseFolder(const std::filesystem::path& folder, const DeviceChoice& device)
    : path_(folder), device_(device) {
  json_ = Json::parse(read_text_file(folder / "case.json"));
  const auto tensors = folder / "expected.safetensors";
  if (std::filesystem::exists(tensors)) expected_ = io::Safetensors::open(tensors);
}

const io::Tensor& CaseFolder::tensor(const std::string& name) const {
  if (!expected_) fail(ErrorCode::not_found, "{}: expected.safetensors is missing", path_.string());
  return expected_->at(name);
}

std::vector<float> CaseFolder::expected(const std::string& tensor) const {
  return io::dequantise(this->tensor(tensor));
}

GoldenModel::GoldenModel(const model::ModelFiles& files, const GoldenOptions& options)
    : memory_options_(options.memory),
      weights_(model::load_weights(files)),
      runner_(weights_, {.numerics = options.numerics,
                         .device = model::choose_device(options.device, *weights_, options.numerics),
                         .rope = options.rope}) {}

void GoldenModel::update(std::span<const io::TokenId> chunk, std::span<memory::Memory* const> memories,
                         const memory::Drops* drops) {
  std::vector<engine::Work> works;
  for (memory::Memory* memory : memories) works.emplace_back(engine::Write{.chunk = chunk, .memory = memory});
  runner_.finish(works);
  for (std::size_t i = 0; i < works.size(); ++i)
    memories[i]->update(std::get<engine::Write>(works[i]).written.layers, drops, &workspace().queue());
}

memory::Layout GoldenModel::layout(std::int64_t capacity) const {
  memory::Layout layout = model::memory_layout(*weights_, memory_options_);
  layout.M = capacity;
  return layout;
}

memory::Memory GoldenModel::memory(std::int64_t capacity) {
  return model::initial_memory(workspace(), layout(capacity), 0);
}

ReadRun run_read(GoldenModel& model, const ReadRequest& request) {
  model::Workspace& w = model.workspace();
  ReadRun run;
  run.scores.resize(model.weights().layers.size());
  model::AttentionCache cache(model.weights().config.layers, w.kv_shape());
  model::ReadTaps taps;
  taps.queries = [&](std::int64_t l, const memory::LayerQueries& queries) {
    if (request.memory)
      run.scores[static_cast<std::size_t>(l)] =
          memory::score_long_term(w.queue(), *request.memory, l, queries).living_scores();
  };
  std::vector<float>* to = &run.logits;
  std::vector<float> last;
  const model::LogitsSink sink = [&](std::size_t, std::int64_t, std::span<const float> logits) {
    to->insert(to->end(), logits.begin(), logits.end());
    last.assign(logits.begin(), logits.end());
  };
  model::ReadItem item{.tokens = request.tokens,
                       .cache = &cache,
                       .memory = request.memory,
                       .recall = request.recall,
                       .scouts_end = static_cast<std::int64_t>(request.tokens.size()),
                       .taps = &taps};
  model::read_pass(w, {&item, 1}, request.adapter, sink);
  for (const auto& rows : cache.recalled()) {
    auto& births = run.recalled_births.emplace_back();
    for (const memory::RecalledRow& row : rows) births.push_back(row.birth);
  }
  to = &run.gen_logits;
  for (std::int64_t step = 0; step < request.steps; ++step) {
    const io::TokenId next = engine::greedy(last);
    run.greedy.push_back(next);
    const model::ReadItem one{.tokens = {&next, 1}, .cache = &cache, .memory = request.memory};
    model::read_pass(w, {&one, 1}, request.adapter, sink);
  }
  return run;
}

std::vector<float> stacked(const model::WrittenRows& written) {
  const std::int64_t n = written.layers.front().n;
  std::vector<float> all(written.layers.size() * static_cast<std::size_t>(n * written.width));
  for (std::size_t place = 0; place < written.layers.size(); ++place)
    written.layers[place].copy_hidden(all.data() + static_cast<std::int64_t>(place) * n * written.width,
                                      written.width);
  return all;
}

std::vector<float> slot_states(const memory::Memory& memory, std::int64_t layer) {
  const memory::Layout& layout = memory.layout();
  const memory::RowsView rows = memory.short_term(layer);
  std::vector<float> all;
  for (std::int64_t r = 0; r < rows.n; ++r)
    all.insert(all.end(), rows.hidden_row(layout, r), rows.hidden_row(layout, r) + layout.hidden);
  return all;
}

std::vector<io::TokenId> token_list(const Json& json) { return json.get<std::vector<io::TokenId>>(); }
std::vector<std::int64_t> integer_list(const Json& json) { return json.get<std::vector<std::int64_t>>(); }
std::vector<std::vector<std::int64_t>> integer_lists(const Json& json) {
  return json.get<std::vector<std::vector<std::int64_t>>>();
}

}  // namespace mplus::golden
