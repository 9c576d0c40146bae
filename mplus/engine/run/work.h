// Pieces of work that sessions ask for and a Runner does. Each is plain data: who asks (a Generation, an
// Ingestion) keeps it, with all it points to, until its result was taken, or drops it.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "mplus/model/passes/read_pass.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::engine {

// The place of a write in a pass that was begun, perhaps with others. When it goes, the pass goes on without
// it.
class WriteSeat {
 public:
  WriteSeat() = default;
  WriteSeat(std::shared_ptr<model::WritePass> pass, std::size_t place)
      : pass_(std::move(pass)), place_(place) {}
  WriteSeat(WriteSeat&& other) noexcept : pass_(std::move(other.pass_)), place_(other.place_) {}
  WriteSeat& operator=(WriteSeat&& other) noexcept {
    leave();
    pass_ = std::move(other.pass_);
    place_ = other.place_;
    return *this;
  }
  ~WriteSeat() { leave(); }

  const std::shared_ptr<model::WritePass>& pass() const { return pass_; }
  std::size_t place() const { return place_; }

 private:
  void leave() {
    if (pass_) pass_->leave(place_);
    pass_.reset();
  }

  std::shared_ptr<model::WritePass> pass_;
  std::size_t place_ = 0;
};

// A chunk of text through the write pass. The update is made by whoever asked for it.
struct Write {
  std::span<const io::TokenId> chunk;
  memory::Memory* memory = nullptr;
  const memory::Drops* drops = nullptr;  // recorded ones, for the update
  StopFlag stop = nullptr;               // looked at in every layer where nobody shares the pass
  // The runner's:
  model::WrittenRows written = {};  // once done: the rows of the update
  WriteSeat seat = {};
  bool alone = false;  // a pass with others failed, maybe through them
};

// Decides what to recall: by a scout pass if one is wanted, else by what is known without.
struct Scout {
  model::ReadItem item;
  bool pass = true;
  std::function<void(kernels::Queue&, std::span<const memory::LayerQueries>)> plan;
};

using TokenLogits = std::function<void(std::int64_t token, std::span<const float> logits)>;

struct ReadWork {
  model::ReadItem item;
  const TokenLogits* logits = nullptr;  // from item.logits_from on
  std::int64_t first_token = 0;         // what the item's first one is called there
};
struct Prefill : ReadWork {};  // a block of a prompt
struct Decode : ReadWork {};   // one token

using Work = std::variant<Write, Scout, Prefill, Decode>;

struct WorkResult {
  bool done = false;         // false: a write that goes on in a later step
  std::exception_ptr error;  // done, and failed: nothing has changed
};

struct WorkItem {
  Work* work = nullptr;
  WorkResult result = {};
};

}  // namespace mplus::engine
