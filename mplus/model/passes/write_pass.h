// The write pass: a chunk of text becomes K new rows in every layer that keeps a memory
// (docs/algorithm.md, "Update"). Sessions are stacked for the linear layers; what a session gets does not
// depend on its neighbours, bit for bit. While a device computes, the host moves what earlier updates left.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mplus/core/stop.h"
#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/device_buffer.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/memory/memory.h"
#include "mplus/model/passes/workspace.h"

namespace mplus::model {

class KeptRows;
using io::TokenId;

struct WriteItem {
  std::span<const TokenId> chunk;    // T ≥ 1 tokens
  memory::Memory* memory = nullptr;  // its tail is input; made ready for the update, otherwise not changed
  StopFlag stop = nullptr;           // looked at before every layer; throws cancelled
};

// What an update of one session stores: hidden states, and keys, values and retriever keys made of them as
// the memory keeps them, of the layers that keep one. Hidden states are on the host where the processor made
// them, or the memory keeps them.
struct WrittenRows {
  std::int64_t width = 0;                   // of hidden states
  std::vector<memory::NewRows> layers;      // the rest is there for as long as this is
  std::shared_ptr<const void> memory = {};  // keeps it on the device
};

// The pass in parts: it can be paused between layers, and other passes may use the workspace meanwhile. How
// it is cut changes no bit. The memories of the batch, all of one type, must stay as they are until it is
// done; the chunks need not outlive the constructor.
class WritePass {
 public:
  WritePass(Workspace& w, std::span<const WriteItem> batch);
  WritePass(const WritePass&) = delete;
  WritePass& operator=(const WritePass&) = delete;
  ~WritePass();

  // Goes on by so many layers; true: done. Where it throws, the pass is of no further use. In two halves: a
  // device is told what to do; then it is waited for, and meanwhile others may tell it more.
  bool advance(std::int64_t layers);
  void start(std::int64_t layers);
  bool finish();
  bool under_way() const { return checks_.has_value(); }  // started, not finished
  bool done() const { return next_ > highest_; }
  bool failed() const { return failed_; }
  std::size_t items() const { return stops_.size(); }
  // Nobody waits for this item any more: its memory is not looked at again.
  void leave(std::size_t item);
  WrittenRows take(std::size_t item) const;  // once done

 private:
  struct Stack;
  // What memories keep of a layer's written rows, all items stacked: on the device, as they are stored.
  struct Kept {
    Tensor k, v, key;
  };
  void run_layer(std::int64_t l);
  void keep_written(std::int64_t l, Tensor x);
  void project_pending();
  void bring_written();

  Workspace* w_;
  std::unique_ptr<Stack> stack_;
  Buffer residual_;
  Tensor x_;  // [rows, d] the residual stream, kept from one part to the next
  std::vector<StopFlag> stops_;
  kernels::Outgoing room_;              // of what is kept
  std::vector<Kept> kept_;              // [layers that keep a memory], those that are done
  std::unique_ptr<KeptRows> together_;  // of layers whose written rows are normed, and not yet projected:
  std::vector<std::int64_t> pending_;
  std::int64_t next_ = 0;
  std::int64_t highest_ = 0;  // no layer above writes
  bool failed_ = false;
  std::optional<Checks> checks_;  // of the part that is under way
};

// All of it at once.
std::vector<WrittenRows> write_pass(Workspace& w, std::span<const WriteItem> batch);

// Keys and values under `adapter`, and retriever keys, of hidden states of one layer: what memory keeps of
// them. `hidden` lies in host memory.
struct ProjectedRows {
  AlignedVector<float> k, v, key;
};
ProjectedRows project_rows(Workspace& w, std::int64_t layer, ConstTensor hidden,
                           Adapter adapter = Adapter::read);

// Write pass and memory update for several sessions. `drops`: recorded choices per item, or empty.
struct Injection {
  std::span<const TokenId> chunk;
  memory::Memory* memory = nullptr;
  const memory::Drops* drops = nullptr;
  StopFlag stop = nullptr;  // as in WriteItem; the memories are as they were then
};
void inject(Workspace& w, std::span<const Injection> batch);

}  // namespace mplus::model
