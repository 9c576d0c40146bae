#include "mplus/engine/run/runner.h"

#include <algorithm>

#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/memory/device/resident_store.h"

namespace mplus::engine {
namespace {

// Beyond so many, rows stacked in a pass bring nothing more, and its buffers grow. On the processor a chunk
// alone keeps the threads at work, and the rows of many leave its caches.
constexpr std::size_t kWritesTogether = 8;
constexpr std::int64_t kWriteRowsTogether = 1024;
constexpr std::int64_t kReadRowsTogether = 512;

Write& write_of(const WorkItem& item) { return std::get<Write>(*item.work); }
std::int64_t rows_of(const Write& write) { return std::ssize(write.chunk) + write.memory->layout().K; }

// Null: none that needs a pass.
const model::ReadItem* read_of(const Work& work) {
  if (const auto* decode = std::get_if<Decode>(&work)) return &decode->item;
  if (const auto* prefill = std::get_if<Prefill>(&work)) return &prefill->item;
  const auto* scout = std::get_if<Scout>(&work);
  return scout && scout->pass ? &scout->item : nullptr;
}

const ReadWork* tokens_of(const Work& work) {
  if (const auto* decode = std::get_if<Decode>(&work)) return decode;
  return std::get_if<Prefill>(&work);
}

template <class Doing>
void report(WorkItem& item, Doing&& doing) {
  try {
    doing();
  } catch (...) {
    if (!item.result.error) item.result.error = std::current_exception();
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
      queue_(pool_, options.numerics, options.device),
      workspace_(std::move(weights), queue_, options.rope, options.weights) {}

void Runner::step(std::span<WorkItem> items) {
  reads_.clear();
  writes_.clear();
  for (WorkItem& item : items) {
    item.result = {};
    if (read_of(*item.work)) reads_.push_back(&item);
    else if (const auto* scout = std::get_if<Scout>(item.work)) plan(item, *scout, {});
    else writes_.push_back(&item);
  }
  // Those that read a memory in one pass, those of the plain model in another; tokens before prompts, so that
  // all of them are in the first; short prompts, which are computed in another way, behind the others.
  const auto has_memory = [](const WorkItem* item) { return read_of(*item->work)->memory != nullptr; };
  const auto is_token = [](const WorkItem* item) { return std::holds_alternative<Decode>(*item->work); };
  const auto plain = std::partition(reads_.begin(), reads_.end(), has_memory);
  const auto is_long = [&](const WorkItem* item) { return !is_short(*item); };
  std::partition(std::partition(reads_.begin(), plain, is_token), plain, is_long);
  std::partition(std::partition(plain, reads_.end(), is_token), reads_.end(), is_long);
  read_in_passes({reads_.begin(), plain});
  read_in_passes({plain, reads_.end()});
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

bool Runner::is_short(const WorkItem& item) const {
  const model::ReadItem& read = *read_of(*item.work);
  return !read.as_long && std::ssize(read.tokens) <= workspace_.short_rows();
}

// How a prompt is computed follows from itself, mostly from its length: short ones and others are not in the
// same pass.
void Runner::read_in_passes(std::span<WorkItem* const> items) {
  while (!items.empty()) {
    std::size_t count = 0;
    bool with_long = false;
    for (std::int64_t rows = 0; count < items.size(); ++count) {
      const std::int64_t T = std::ssize(read_of(*items[count]->work)->tokens);
      rows += T;
      if (count > 0 && rows > kReadRowsTogether) break;
      if (T > 1 && with_long && is_short(*items[count])) break;
      with_long = with_long || !is_short(*items[count]);
    }
    read(items.first(count));
    items = items.subspan(count);
  }
}

void Runner::read(std::span<WorkItem* const> items) {
  batch_.clear();
  scouts_.resize(static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [](const WorkItem* item) {
    return std::holds_alternative<Scout>(*item->work);
  })));
  for (std::size_t i = 0, scout = 0; i < items.size(); ++i) {
    model::ReadItem& item = batch_.emplace_back(*read_of(*items[i]->work));
    if (item.memory) item.memory->settle(&pool_);
    if (std::holds_alternative<Scout>(*items[i]->work)) item.scout = &scouts_[scout++];
    if (items.size() > 1) item.stop = nullptr;  // would end the others', too
  }
  ++read_passes_;
  bool handed_out = false;
  try {
    model::read_pass(workspace_, batch_, adapter_of(batch_.front()),
                     [&](std::size_t i, std::int64_t token, std::span<const float> logits) {
                       handed_out = true;
                       const ReadWork& work = *tokens_of(*items[i]->work);
                       if (!work.logits) return;
                       report(*items[i], [&] { (*work.logits)(work.first_token + token, logits); });
                     });
  } catch (...) {
    for (const model::ReadItem& item : batch_) item.cache->roll_back();
    if (items.size() == 1 || handed_out) {
      for (WorkItem* item : items) item->result = {.done = true, .error = std::current_exception()};
    } else {  // somebody's failed: each by itself tells whose
      for (WorkItem* const& item : items) read({&item, 1});
    }
    return;
  }
  for (std::size_t i = 0, scout = 0; i < items.size(); ++i) {
    if (const auto* asks = std::get_if<Scout>(items[i]->work))
      plan(*items[i], *asks, scouts_[scout++].layers);
    else items[i]->result.done = true;
    if (const auto* prompt = std::get_if<Prefill>(items[i]->work)) bring_store(*prompt);
  }
}

void Runner::bring_store(const Prefill& prompt) {
  if (prompt.first_token > 0 || !prompt.item.memory || !prompt.item.recall) return;
  try {
    memory::bring_long_term(queue_, *prompt.item.memory, options_.store_bytes);
  } catch (const Error&) {  // damaged rows: who recalls them is told
  }
}

void Runner::plan(WorkItem& item, const Scout& work, std::span<const memory::LayerQueries> states) {
  if (work.item.memory) work.item.memory->settle(&pool_);
  const auto began = Clock::now();
  report(item, [&] {
    if (work.plan) work.plan(queue_, states);
  });
  if (on_recall_) on_recall_(seconds_since(began));
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
  if (!limited && !queue_.device().is_cpu()) return write_ahead(items);
  bool went_on = false;
  for (const WorkItem* first : items) {
    // A copy: where it ends, all leave it.
    const std::shared_ptr<model::WritePass> pass = write_of(*first).seat.pass();
    if (!pass || first->result.done || (limited && went_on && !pass->done())) continue;
    went_on = went_on || !pass->done();
    start_write(*pass, items);
    finish_write(pass, items);
  }
}

// The next pass is started before the last one's end is waited for.
void Runner::write_ahead(std::span<WorkItem* const> items) {
  std::shared_ptr<model::WritePass> first, next;
  for (const bool under_way : {true, false})
    for (const WorkItem* item : items) {
      const std::shared_ptr<model::WritePass>& pass = write_of(*item).seat.pass();
      if (!pass || pass->under_way() != under_way || pass == first) continue;
      if (!first) first = pass;
      else if (!next) next = pass;
    }
  if (!first) return;
  if (!first->under_way()) start_write(*first, items);
  if (next && !next->under_way()) start_write(*next, items);
  finish_write(first, items);
}

std::int64_t Runner::write_layers() const {
  return options_.write_layers > 0 ? options_.write_layers : workspace_.weights().config.layers;
}

void Runner::begin_writes(std::span<WorkItem* const> items) {
  std::vector<WorkItem*> batch;
  std::int64_t rows = 0;
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
    rows = 0;
  };
  for (WorkItem* item : items) {
    if (write_of(*item).seat.pass()) continue;
    const auto type = [](const WorkItem* of) { return write_of(*of).memory->layout().dtype; };
    const bool other = !batch.empty() && type(batch.front()) != type(item);
    const std::int64_t more = rows_of(write_of(*item));
    const bool full =
        batch.size() == kWritesTogether || (options_.device.is_cpu() && rows + more > kWriteRowsTogether);
    if (full || write_of(*item).alone || other) begin();
    batch.push_back(item);
    rows += more;
    if (write_of(*item).alone) begin();
  }
  begin();
}

namespace {

template <class F>
void for_writes_of(const model::WritePass& pass, std::span<WorkItem* const> items, const F& f) {
  for (WorkItem* item : items)
    if (write_of(*item).seat.pass().get() == &pass) f(*item);
}

// In the next step alone, where nobody shares the blame.
void leave_failed(const model::WritePass& pass, std::span<WorkItem* const> items) {
  const bool alone = pass.items() == 1;
  for_writes_of(pass, items, [&](WorkItem& item) {
    if (alone) item.result = {.done = true, .error = std::current_exception()};
    write_of(item).alone = true;
    write_of(item).seat = {};
  });
}

}  // namespace

void Runner::start_write(model::WritePass& pass, std::span<WorkItem* const> items) {
  try {
    pass.start(write_layers());
  } catch (...) {
    leave_failed(pass, items);
  }
}

void Runner::finish_write(const std::shared_ptr<model::WritePass>& pass, std::span<WorkItem* const> items) {
  if (!pass->under_way()) return;  // failed
  try {
    if (!pass->finish()) return;
    for_writes_of(*pass, items, [&](WorkItem& item) {
      Write& w = write_of(item);
      w.written = pass->take(w.seat.place());
      w.seat = {};
      item.result.done = true;
    });
  } catch (...) {
    leave_failed(*pass, items);
  }
}

}  // namespace mplus::engine
