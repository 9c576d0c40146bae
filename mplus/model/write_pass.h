// The write pass: a chunk of text becomes K new rows in every layer that keeps a memory
// (docs/architecture.md, "Update"). Sessions are stacked for the linear layers; what a session gets does not
// depend on its neighbours, bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mplus/core/buffer.h"
#include "mplus/core/stop.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/memory/memory.h"
#include "mplus/model/workspace.h"

namespace mplus::model {

using io::TokenId;

struct WriteItem {
  std::span<const TokenId> chunk;          // T ≥ 1 tokens
  const memory::Memory* memory = nullptr;  // its tail is input; nothing is changed
  StopFlag stop = nullptr;                 // looked at before every layer; throws cancelled
};

// The hidden states an update writes, of the layers that keep a memory, for one session.
struct WrittenRows {
  std::int64_t n = 0;
  std::vector<AlignedVector<float>> hidden;  // [layers] of [n, d]
};

std::vector<WrittenRows> write_pass(Workspace& w, std::span<const WriteItem> batch);

// Keys and values under `adapter`, and retriever keys, of hidden states of one layer: what memory keeps of
// them.
struct ProjectedRows {
  AlignedVector<float> k, v, key;
};
ProjectedRows project_rows(Workspace& w, std::int64_t layer, const float* hidden, std::int64_t n,
                           Adapter adapter = Adapter::read);

// What an update stores: hidden states, and what is projected from them, of the layers that keep a memory.
class ChunkRows {
 public:
  ChunkRows(Workspace& w, const WrittenRows& written);  // which must outlive it
  std::span<const memory::NewRows> layers() const { return rows_; }

 private:
  std::vector<ProjectedRows> projected_;
  std::vector<memory::NewRows> rows_;
};

// Write pass, projection and memory update for several sessions. `drops`: recorded choices per item, or
// empty.
struct Injection {
  std::span<const TokenId> chunk;
  memory::Memory* memory = nullptr;
  const memory::Drops* drops = nullptr;
  StopFlag stop = nullptr;  // as in WriteItem; the memories are as they were then
};
void inject(Workspace& w, std::span<const Injection> batch);

}  // namespace mplus::model
