#include "mplus/train/run/stages/step.h"

#include "mplus/train/gpu/upload.h"
#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"

namespace mplus::train {
namespace {

enum : std::uint32_t { kThroughWrites = 63, kRecalls };  // purposes of draws; kRecalls and up: of each read

// A read on the device, with the positions whose successor is a target.
struct DeviceRead {
  Tensor tokens;              // [B, T], int64
  Tensor positions;           // [n], into B·T
  Tensor targets;             // [n]
  Tensor weight, task;        // [n]
  Tensor asks;                // [B, T], weights of the tokens that ask
  Tensor update, distractor;  // [B]
};

DeviceRead on_device(const Read& read, torch::Device device) {
  const auto B = static_cast<std::int64_t>(read.update.size());
  const std::int64_t T = read.T;
  std::vector<std::int64_t> positions, targets, tasks;
  std::vector<float> weights, asks(read.tokens.size(), 0);
  for (std::int64_t b = 0; b < B; ++b) {
    const auto stream = static_cast<std::size_t>(b);
    for (std::int64_t t = 0; t + 1 < T; ++t) {
      const auto next = static_cast<std::size_t>(b * T + t + 1);
      if (read.weight[next] <= 0) continue;
      positions.push_back(b * T + t);
      targets.push_back(read.tokens[next]);
      weights.push_back(read.weight[next]);
      tasks.push_back(read.task[stream]);
    }
    const float each = 1 / static_cast<float>(read.to[stream] - read.from[stream]);
    for (std::int64_t t = read.from[stream]; t < read.to[stream]; ++t)
      asks[static_cast<std::size_t>(b * T + t)] = each;
  }
  const auto n = static_cast<std::int64_t>(positions.size());
  return {.tokens = upload(read.tokens, {B, T}, torch::kInt32, device).to(torch::kInt64),
          .positions = upload(positions, {n}, torch::kInt64, device),
          .targets = upload(targets, {n}, torch::kInt64, device),
          .weight = upload(weights, {n}, torch::kFloat32, device),
          .task = upload(tasks, {n}, torch::kInt64, device),
          .asks = upload(asks, {B, T}, torch::kFloat32, device),
          .update = upload(read.update, {B}, torch::kInt64, device),
          .distractor = upload(read.distractor, {B}, torch::kInt64, device)};
}

// Rows of the chunk that holds the answer, then of the distractor, then any: what a good retriever finds, and
// by chance what a bad one finds. Of the store, or of everything, slots numbered behind its rows.
struct ChunksRecalled {
  double right = 1;  // chance of the right one
  std::int64_t most = 0;
  bool everything = false;
};
Recall recall_chunks(const Model& model, const StreamMemory& memory, const Lesson& lesson,
                     const DeviceRead& read, const ChunksRecalled& how) {
  const torch::NoGradGuard constant;
  // Drawn for all streams, whoever has them.
  const auto lots = [&](std::int64_t layers, std::int64_t rows) {
    return torch::rand({layers, lesson.streams, rows}, torch::TensorOptions(model.device()))
        .narrow(1, lesson.first, memory.streams());
  };
  const Tensor found = lots(1, 1) < how.right;  // [1, B, 1]
  // For all layers at once: [M, B, rows].
  std::vector<Tensor> births;
  for (std::int64_t m = 0; m < model.memory_layers(); ++m) {
    std::vector<Tensor> rows;
    if (memory.stored() > 0) rows.push_back(memory.long_term(m).birth.view());
    if (how.everything) rows.push_back(memory.births(m));
    births.push_back(torch::cat(rows, 1));
  }
  const std::int64_t there = births.front().size(1);
  const Tensor chunk = torch::stack(births).floor_divide(model.memory.K);
  const Tensor is_wanted =
      (chunk == read.update.unsqueeze(1)).to(torch::kFloat32) * torch::where(found, 2., -1.);
  const Tensor score = is_wanted + (chunk == read.distractor.unsqueeze(1)).to(torch::kFloat32) +
                       0.5 * lots(model.memory_layers(), there);
  const Tensor chosen = std::get<1>(score.topk(std::min(how.most, there), -1));
  return recall_given(chosen.unbind(0));
}

Tensor answer_nll(const Model& model, const ReadResult& read, const DeviceRead& asked) {
  const Tensor rows = read.hidden.flatten(0, 1).index_select(0, asked.positions);  // [n, d]
  return token_nll(model, rows, asked.targets);
}

}  // namespace

Tally::Tally(torch::Device device)
    : sums_(torch::zeros({static_cast<std::int64_t>(task_names().size()), 2},
                         torch::TensorOptions(device).dtype(torch::kFloat32))) {}

void Tally::add(const Tensor& nll, const Tensor& weight, const Tensor& task) {
  const torch::NoGradGuard constant;
  const Tensor answer = (weight > kOtherWeight).to(torch::kFloat32);
  sums_.index_add_(0, task, torch::stack({nll.detach().to(torch::kFloat32) * answer, answer}, 1));
}

std::vector<Tally::Line> Tally::take(Processes* processes) {
  const Tensor sums = sum_over(processes, sums_).to(torch::kCPU, torch::kFloat64);
  sums_.zero_();
  std::vector<Line> lines;
  for (std::size_t i = 0; i < task_names().size(); ++i) {
    const Tensor row = sums[static_cast<std::int64_t>(i)];
    const double tokens = row[1].item<double>();
    if (tokens > 0) lines.push_back({std::string(task_names()[i]), row[0].item<double>() / tokens, tokens});
  }
  return lines;
}

namespace {

// Writes of B streams at once; gradients go through some of them.
void write_lesson(const Model& model, const Lesson& lesson, double gradient, StreamMemory& memory) {
  const auto B = static_cast<std::int64_t>(lesson.reads.at(0).update.size());
  const bool through_writes =
      Random(static_cast<std::uint64_t>(lesson.step), {.purpose = kThroughWrites}).chance(gradient);
  const torch::AutoGradMode mode(through_writes && torch::GradMode::is_enabled());
  const PassWeights writing = merge(model, Adapter::write);
  for (const std::vector<std::int32_t>& tokens : lesson.writes) {
    const Tensor chunk =
        upload(tokens, {B, static_cast<std::int64_t>(tokens.size()) / B}, torch::kInt32, model.device());
    const auto rows = write_pass(model, writing, memory, chunk.to(torch::kInt64));
    memory.update(model, rows,
                  memory.draw_drops(rows[0].size(1), std::nullopt, lesson.streams, lesson.first));
  }
}

}  // namespace

Tensor lesson_loss(const Model& model, const Lesson& lesson, const StepOptions& options,
                   std::optional<StreamMemory>& live, Tally& tally, Processes* processes) {
  const torch::Device device = model.device();
  const PassWeights reading = merge(model, Adapter::read);
  std::optional<StreamMemory> fresh;
  StreamMemory* memory = nullptr;
  if (lesson.memory != MemoryUse::none) {
    const auto B = static_cast<std::int64_t>(lesson.reads.at(0).update.size());
    std::optional<StreamMemory>& own = lesson.memory == MemoryUse::live ? live : fresh;
    if (lesson.begins) own.emplace(model, B, lesson.memory == MemoryUse::live ? options.store : 0);
    memory = &own.value();
    write_lesson(model, lesson, options.gradient, *memory);
  }
  const ProjectedSlots slots = memory ? project_slots(model, reading, *memory) : ProjectedSlots{};
  std::vector<Tensor> losses;
  for (const Read& read : lesson.reads) {
    DeviceRead asked = on_device(read, device);
    ReadRequest request{.tokens = asked.tokens, .memory = memory, .slots = memory ? &slots : nullptr};
    // Which reads recall is drawn on the host: shapes depend on it.
    Random draw(static_cast<std::uint64_t>(lesson.step),
                {.purpose = kRecalls + static_cast<std::uint32_t>(losses.size())});
    request.over_recalled = memory && read.focused;
    if (request.over_recalled)  // a text goes on behind all of short-term memory
      asked.weight = asked.weight * (asked.task != next_task());
    if (request.over_recalled || (memory && memory->stored() > 0 && draw.chance(options.recall)))
      request.recall = recall_chunks(
          model, *memory, lesson, asked,
          {options.right,
           draw.chance(options.alone) ? std::min(model.memory.K, model.memory.K0) : model.memory.K0,
           request.over_recalled});
    request.keep_normed = memory && options.retriever_loss > 0;
    const ReadResult result = read_pass(model, reading, request);
    const Tensor nll = answer_nll(model, result, asked);
    tally.add(nll, asked.weight, asked.task);
    Tensor loss = (nll * asked.weight).sum() / sum_over(processes, asked.weight.sum()).clamp_min(1e-3);
    if (request.keep_normed) {
      std::vector<Tensor> right;
      for (std::int64_t m = 0; m < model.memory_layers(); ++m)
        right.push_back(memory->births(m).floor_divide(model.memory.K) == asked.update.unsqueeze(1));
      loss = loss + options.retriever_loss *
                        retriever_loss(slot_scores(model, *memory, model.query, result.normed, {asked.asks}),
                                       right, processes);
      // The second one asks with the newest rows: once a step, and what they were written from is right.
      if (model.memory.has_encoder_query && losses.empty()) {
        std::vector<Tensor> newest;
        for (std::int64_t m = 0; m < model.memory_layers(); ++m)
          newest.push_back(memory->births(m).floor_divide(model.memory.K) == memory->updates() - 1);
        loss = loss + options.retriever_loss *
                          retriever_loss(encoder_slot_scores(model, *memory), newest, processes);
      }
    }
    losses.push_back(loss);
  }
  if (lesson.memory == MemoryUse::live) live->detach();
  return torch::stack(losses).mean();
}

void tally_without_memory(const Model& model, const Lesson& lesson, Tally& tally) {
  const torch::NoGradGuard constant;
  const PassWeights reading = merge(model, Adapter::read);
  for (const Read& read : lesson.reads) {
    const DeviceRead asked = on_device(read, model.device());
    const ReadResult result = read_pass(model, reading, {.tokens = asked.tokens});
    tally.add(answer_nll(model, result, asked), asked.weight, asked.task);
  }
}

}  // namespace mplus::train
