#include "mplus/engine/run/runner.h"

#include <algorithm>

#include "mplus/core/error.h"

namespace mplus::engine {
namespace {

// Beyond so many, rows stacked in a write pass bring nothing more, and its buffers grow.
constexpr std::size_t kWritesTogether = 8;

Write& write_of(const WorkItem& item) { return std::get<Write>(*item.work); }

template <class Doing>
void report(WorkItem& item, Doing&& doing) {
  try {
    doing();
  } catch (...) {
    item.result.error = std::current_exception();
  }
  item.result.done = true;
}

// A memory is read with the adapter that was trained for it; without one the model is what it was before.
model::Adapter adapter_of(const model::ReadItem& item) {
  return item.memory ? model::Adapter::read : model::Adapter::none;
}

}  // namespace

Runner::Runner(std::shared_ptr<const model::Weights> weights, const RunnerOptions& options)
    : options_(options),
      pool_(options.threads > 0 ? options.threads : default_thread_count()),
      context_(pool_, options.numerics),
      workspace_(std::move(weights), context_, options.rope) {}

void Runner::step(std::span<WorkItem> items) {
  decodes_.clear();
  writes_.clear();
  for (WorkItem& item : items) {
    item.result = {};
    if (std::holds_alternative<Decode>(*item.work)) decodes_.push_back(&item);
    if (std::holds_alternative<Write>(*item.work)) writes_.push_back(&item);
  }
  // Those that read a memory in one pass, those of the plain model in another.
  const auto plain = std::partition(decodes_.begin(), decodes_.end(), [](const WorkItem* item) {
    return std::get<Decode>(*item->work).item.memory != nullptr;
  });
  if (plain != decodes_.begin()) decode({decodes_.begin(), plain});
  if (plain != decodes_.end()) decode({plain, decodes_.end()});
  for (WorkItem& item : items) {
    if (const auto* prefill = std::get_if<Prefill>(item.work)) read(item, *prefill);
    if (const auto* asks = std::get_if<Scout>(item.work)) scout(item, *asks);
  }
  if (!writes_.empty()) write(writes_);
}

void Runner::finish(std::span<Work> works) {
  std::vector<WorkItem> items;
  for (Work& work : works) items.push_back({&work});
  while (!items.empty()) {
    step(items);
    for (const WorkItem& item : items)
      if (item.result.error) std::rethrow_exception(item.result.error);
    std::erase_if(items, [](const WorkItem& item) { return item.result.done; });
  }
}

void Runner::decode(std::span<WorkItem* const> batch) {
  batch_.clear();
  for (const WorkItem* item : batch) batch_.push_back(std::get<Decode>(*item->work).item);
  try {
    model::read_pass(workspace_, batch_, adapter_of(batch_.front()),
                     [&](std::size_t i, std::int64_t token, std::span<const float> logits) {
                       const Decode& work = std::get<Decode>(*batch[i]->work);
                       if (work.logits) (*work.logits)(work.first_token + token, logits);
                     });
    for (WorkItem* item : batch) item->result.done = true;
  } catch (...) {
    if (batch.size() == 1) {
      batch[0]->result = {.done = true, .error = std::current_exception()};
      return;
    }
    // Somebody's failed: each by itself tells whose.
    for (const model::ReadItem& item : batch_) item.cache->roll_back();
    for (WorkItem* const& item : batch) decode({&item, 1});
  }
}

void Runner::read(WorkItem& item, const ReadWork& work) {
  report(item, [&] {
    model::read_pass(workspace_, {&work.item, 1}, adapter_of(work.item),
                     [&](std::size_t, std::int64_t token, std::span<const float> logits) {
                       if (work.logits) (*work.logits)(work.first_token + token, logits);
                     });
  });
}

void Runner::scout(WorkItem& item, const Scout& work) {
  report(item, [&] {
    model::ScoutStates states;
    if (work.pass) states = model::scout_pass(workspace_, work.item, adapter_of(work.item));
    if (work.plan) work.plan(context_, states.layers);
  });
}

void Runner::write(std::span<WorkItem* const> items) {
  const auto under_way = [](const WorkItem* item) { return write_of(*item).seat.pass() != nullptr; };
  const bool limited = options_.write_layers > 0;
  for (const WorkItem* item : items) {
    if (!under_way(item) || !write_of(*item).seat.pass()->failed()) continue;
    write_of(*item).seat = {};  // in a step without this one
    write_of(*item).alone = true;
  }
  if (!limited || std::none_of(items.begin(), items.end(), under_way)) begin_writes(items);
  bool went_on = false;
  for (const WorkItem* first : items) {
    // A copy: where it ends, all leave it.
    const std::shared_ptr<model::WritePass> pass = write_of(*first).seat.pass();
    if (!pass || first->result.done || (limited && went_on && !pass->done())) continue;
    went_on = went_on || !pass->done();
    advance_write(pass, items);
  }
}

void Runner::begin_writes(std::span<WorkItem* const> items) {
  std::vector<WorkItem*> batch;
  const auto begin = [&] {
    if (batch.empty()) return;
    std::vector<model::WriteItem> together;
    for (const WorkItem* item : batch) {
      const Write& w = write_of(*item);
      together.push_back({w.chunk, w.memory, batch.size() == 1 ? w.stop : nullptr});
    }
    const auto pass = std::make_shared<model::WritePass>(workspace_, together);
    for (std::size_t i = 0; i < batch.size(); ++i) write_of(*batch[i]).seat = {pass, i};
    batch.clear();
  };
  for (WorkItem* item : items) {
    if (write_of(*item).seat.pass()) continue;
    if (batch.size() == kWritesTogether || write_of(*item).alone) begin();
    batch.push_back(item);
    if (write_of(*item).alone) begin();
  }
  begin();
}

void Runner::advance_write(const std::shared_ptr<model::WritePass>& pass, std::span<WorkItem* const> items) {
  std::vector<WorkItem*> mine;
  for (WorkItem* item : items)
    if (write_of(*item).seat.pass() == pass) mine.push_back(item);
  const std::int64_t layers =
      options_.write_layers > 0 ? options_.write_layers : workspace_.weights().config.layers;
  try {
    if (pass->advance(layers)) project_written(*pass, mine);
  } catch (...) {
    for (WorkItem* item : mine) {
      write_of(*item).seat = {};
      write_of(*item).alone = true;  // in the next step
      if (pass->items() == 1) item->result = {.done = true, .error = std::current_exception()};
    }
  }
}

void Runner::project_written(model::WritePass& pass, std::span<WorkItem* const> items) {
  for (const WorkItem* item : items) {
    Write& w = write_of(*item);
    w.written = std::make_unique<WrittenChunk>(workspace_, pass.take(w.seat.place()));
  }
  for (WorkItem* item : items) {
    write_of(*item).seat = {};
    item->result.done = true;
  }
}

}  // namespace mplus::engine
