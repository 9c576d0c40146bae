#include "mplus/train/questions/make_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/text_side.h"
#include "mplus/train/lessons/random.h"
#include "mplus/train/model/device.h"
#include "mplus/train/model/files/load.h"
#include "mplus/train/questions/passages.h"

namespace mplus::train {
namespace {

std::string line_of(const TextPassage& passage, const PosedQuestion& posed) {
  nlohmann::ordered_json line{{"source", passage.source}};
  if (!passage.title.empty()) line["title"] = passage.title;
  line["context"] = passage.text;
  line["question"] = posed.question;
  line["answers"] = nlohmann::ordered_json::array({posed.answer});
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

void make_questions(const MakeQuestionsOptions& options) {
  const torch::Device device = device_named(options.device);
  const std::optional<io::TextSide> text = io::read_text_side(options.model);
  if (!text) fail(ErrorCode::not_found, "{}: brings no tokenizer", options.model.string());
  std::vector<TextPassage> passages;
  for (const std::filesystem::path& file : options.texts) {
    std::vector<TextPassage> more = read_passages(file, options.passages);
    fmt::print(stderr, "{}: {} passages\n", file.string(), more.size());
    std::move(more.begin(), more.end(), std::back_inserter(passages));
  }
  // In no order, so that a run that is stopped has asked about everything a little.
  Random draw(options.seed, {});
  for (std::size_t i = passages.size(); i > 1; --i)
    std::swap(passages[i - 1], passages[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(i)))]);
  Model model = load_model({.model = options.model, .delta = options.delta}).model;
  place(model, device, device.is_cuda() ? torch::kBFloat16 : torch::kFloat32);
  std::ofstream out(options.out, std::ios::trunc);
  if (!out) fail(ErrorCode::io, "{}: cannot be written", options.out.string());
  torch::manual_seed(options.seed);
  const QuestionMaker maker(model, text->tokenizer, options.pose);
  const std::size_t at_once = static_cast<std::size_t>(options.at_once > 0 ? options.at_once
                                                       : device.is_cuda()  ? 512
                                                                           : 8);
  const auto start = Clock::now();
  auto told = start;
  std::int64_t usable = 0, kept = 0;
  for (std::size_t first = 0; first < passages.size(); first += at_once) {
    if (options.stop && options.stop->load())
      fail(ErrorCode::cancelled, "stopped; {} has the {} questions made so far", options.out.string(), kept);
    const std::size_t end = std::min(passages.size(), first + at_once);
    std::vector<std::string> texts;
    for (std::size_t i = first; i < end; ++i) texts.push_back(passages[i].text);
    const std::vector<PosedOnPassage> posed = maker.make(texts);
    for (std::size_t i = first; i < end; ++i) {
      usable += posed[i - first].usable;
      kept += std::ssize(posed[i - first].kept);
      for (const PosedQuestion& question : posed[i - first].kept)
        out << line_of(passages[i], question) << '\n';
    }
    if (!out.flush()) fail(ErrorCode::io, "{}: cannot be written: is the disk full?", options.out.string());
    const auto now = Clock::now();
    if (end < passages.size() && now - told < std::chrono::seconds(5)) continue;
    told = now;
    const double seconds = std::chrono::duration<double>(now - start).count();
    fmt::print(stderr, "{} of {} passages: {} questions of {} kept, {:.0f} s left\n", end, passages.size(),
               kept, usable, seconds / static_cast<double>(end) * static_cast<double>(passages.size() - end));
  }
  fmt::print(stderr, "{}: {} questions on {} passages in {:.0f} s\n", options.out.string(), kept,
             passages.size(), std::chrono::duration<double>(Clock::now() - start).count());
}

}  // namespace mplus::train
