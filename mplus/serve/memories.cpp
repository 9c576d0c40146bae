#include "mplus/serve/memories.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/io/text/names.h"
#include "mplus/serve/error.h"

namespace mplus::serve {

Memories::Place Memories::find(const std::string& name) {
  return std::find_if(open_.begin(), open_.end(), [&](const auto& entry) { return entry.first == name; });
}

const OpenMemory* Memories::peek(const std::string& name) const {
  for (const auto& [open, memory] : open_)
    if (open == name && memory->stage == OpenMemory::Stage::opened) return memory.get();
  return nullptr;
}

engine::Steps<std::shared_ptr<OpenMemory>> Memories::open(Job& job, std::string name, std::string shown,
                                                          bool create) {
  using Stage = OpenMemory::Stage;
  for (;;) {
    const std::shared_ptr<OpenMemory> memory = entry(name, shown, create);
    co_await job.until([&] { return memory->stage != Stage::opening; });
    if (memory->stage == Stage::opened) co_return memory;
    if (memory->stage == Stage::failed) continue;  // for somebody else: what it is, this one finds out
    memory->stage = Stage::opening;
    try {
      co_await memory->session.open_steps();
    } catch (...) {
      memory->stage = Stage::failed;
      open_.remove_if([&](const auto& other) { return other.second == memory; });
      throw;
    }
    memory->stage = Stage::opened;
    co_return memory;
  }
}

std::shared_ptr<OpenMemory> Memories::entry(const std::string& name, const std::string& shown, bool create) {
  if (const Place at = find(name);
      at != open_.end() && to_reopen_.contains(name) && at->second.use_count() == 1)
    put_away(at);
  if (const Place at = find(name); at != open_.end()) {
    at->second->used = std::chrono::steady_clock::now();
    return at->second;
  }
  const auto info = store_.find(name);
  if (!info && !create)
    throw ApiError{404, "not_found", fmt::format("there is no memory {}", io::shown(shown))};
  if (info && info->writer)
    throw ApiError{
        409, "memory_in_use",
        fmt::format("memory {} is being written by {}: end that, or wait", io::shown(shown), *info->writer)};
  if (!info && store_.read_only()) throw read_only_error();
  make_room();
  store::StoredOptions options;
  options.warn = [](const std::string& message) { spdlog::warn("{}", message); };
  auto memory = std::make_shared<OpenMemory>(store_, engine_, name, options);
  open_.emplace_back(name, memory);
  return memory;
}

// The one that was used longest ago, if nobody uses it now.
void Memories::make_room() {
  while (open_.size() >= options_.most_open) {
    Place oldest = open_.end();
    for (Place at = open_.begin(); at != open_.end(); ++at)
      if (at->second.use_count() == 1 && (oldest == open_.end() || at->second->used < oldest->second->used))
        oldest = at;
    if (oldest == open_.end())
      throw ApiError{429, "too_many_memories",
                     fmt::format("{} memories are in use at once, which is the most (--sessions-in-memory)",
                                 open_.size())};
    put_away(oldest);
  }
}

void Memories::put_away(Place place) {
  const auto [name, memory] = std::move(*place);
  open_.erase(place);
  to_reopen_.erase(name);
  try {
    memory->session.close();
  } catch (const Error& error) {  // the journal has everything; the next opening replays it
    spdlog::warn("memory {}: {}", io::shown(name), error.what());
  }
}

void Memories::after_failure(bool our_fault) {
  for (const auto& [name, memory] : open_)
    if (std::exchange(memory->doubtful, false) && our_fault) to_reopen_.insert(name);
}

void Memories::close(const std::string& name) {
  const Place at = find(name);
  if (at == open_.end()) return;
  if (at->second.use_count() > 1)
    throw ApiError{409, "memory_in_use", std::string("the memory is in use by another request")};
  put_away(at);
}

void Memories::save(const std::string& name) {
  const Place at = find(name);
  if (at == open_.end() || at->second->changing || at->second->stage != OpenMemory::Stage::opened) return;
  at->second->session.save_state();
}

void Memories::put_away_idle() {
  const auto now = std::chrono::steady_clock::now();
  for (Place at = open_.begin(); at != open_.end();) {
    const Place next = std::next(at);
    if (at->second.use_count() == 1 && now - at->second->used > options_.idle) put_away(at);
    at = next;
  }
}

void Memories::put_away_all() {
  while (!open_.empty()) put_away(open_.begin());
}

}  // namespace mplus::serve
