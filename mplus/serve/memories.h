// The sessions that requests work on: opened when first asked for, put away when nobody has used them for a
// while or others need the room. On the engine's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <set>
#include <string>

#include "mplus/serve/run/job.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::serve {

struct MemoriesOptions {
  std::size_t most_open = 16;
  std::chrono::seconds idle{30};  // then other programs may write it
};

// An open session. Whoever keeps it keeps it open.
struct OpenMemory {
  OpenMemory(store::Store& store, engine::Engine& engine, const std::string& name,
             const store::StoredOptions& options)
      : session(store, engine, name, store.read_only() ? store::Access::read : store::Access::write, options,
                store::StoredSession::InSteps{}) {}

  store::StoredSession session;
  enum class Stage { new_here, opening, opened, failed };
  Stage stage = Stage::new_here;
  bool changing = false;  // by a turn, a document or a remaking
  bool remade = false;    // it is being made again: nobody may look at it
  int readers = 0;        // that look at it as it is, so it cannot be remade
  bool doubtful = false;  // a change was left by an exception
  std::chrono::steady_clock::time_point used = std::chrono::steady_clock::now();
};

// The right to change a memory (one at a time), to remake it (undo, forget: nobody may be reading), or to
// read it.
class Using {
 public:
  enum class How { read, change, remake };
  static bool possible(const OpenMemory& memory, How how) {
    if (how == How::read) return !memory.remade;
    return !memory.changing && (how == How::change || memory.readers == 0);
  }
  Using(std::shared_ptr<OpenMemory> memory, How how) : memory_(std::move(memory)), how_(how) {
    if (how == How::read) {
      ++memory_->readers;
    } else {
      memory_->changing = true;
      memory_->remade = how == How::remake;
    }
  }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;
  ~Using() {
    if (how_ == How::read) {
      --memory_->readers;
    } else {
      memory_->changing = memory_->remade = false;
      memory_->doubtful = memory_->doubtful || std::uncaught_exceptions() > exceptions_;
    }
    memory_->used = std::chrono::steady_clock::now();
  }

 private:
  std::shared_ptr<OpenMemory> memory_;
  How how_;
  int exceptions_ = std::uncaught_exceptions();  // when it began
};

class Memories {
 public:
  Memories(store::Store& store, engine::Engine& engine, MemoriesOptions options)
      : store_(store), engine_(engine), options_(options) {}

  // Throws ApiError where it does not exist and is not to be made, another program writes it, or all places
  // are taken. `shown`: what messages call it. What its journal has behind its newest state is written in
  // steps; others who ask for it meanwhile wait.
  engine::Steps<std::shared_ptr<OpenMemory>> open(Job& job, std::string name, std::string shown, bool create);
  const OpenMemory* peek(const std::string& name) const;  // null: it is not open
  std::size_t open_count() const { return open_.size(); }
  // After an exception that left a change: where it was the server's or the disk's fault, memories that it
  // may have left unusable are opened again when they are asked for next.
  void after_failure(bool our_fault);
  // Before it is deleted. Throws ApiError while a request uses it.
  void close(const std::string& name);
  // Before it is forked: the fork then opens without a replay.
  void save(const std::string& name);
  void put_away_idle();
  void put_away_all();

 private:
  using Place = std::list<std::pair<std::string, std::shared_ptr<OpenMemory>>>::iterator;
  Place find(const std::string& name);
  std::shared_ptr<OpenMemory> entry(const std::string& name, const std::string& shown, bool create);
  void put_away(Place place);
  void make_room();

  store::Store& store_;
  engine::Engine& engine_;
  MemoriesOptions options_;
  std::list<std::pair<std::string, std::shared_ptr<OpenMemory>>> open_;
  std::set<std::string> to_reopen_;
};

}  // namespace mplus::serve
