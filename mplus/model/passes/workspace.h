// Everything a pass needs besides weights and sessions: the kernels' queue, rotary tables and buffers for
// activations that grow to the largest batch seen and stay. One per engine; one thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/kernels/attention/attention.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/linear.h"
#include "mplus/kernels/queue.h"
#include "mplus/kernels/rows/outgoing.h"
#include "mplus/kernels/rows/tokens.h"
#include "mplus/model/placement.h"
#include "mplus/model/weights.h"

namespace mplus::model {

struct ReadItem;

// One session's rows among those stacked in a read pass.
struct ReadShare {
  const ReadItem* item = nullptr;
  std::size_t place = 0;  // among the pass's items
  std::int64_t at = 0;    // first row
  std::int64_t T = 0;
};

// What the scouts of an item ask in a layer; empty where there is none.
struct ScoutTensors {
  std::int64_t T = 0;
  Tensor retriever;  // [T, d_r]
  Tensor attention;  // [T, H·e], before RoPE
  Tensor pool;       // [T]
};

// Keys and values before RoPE, [n, G·e] each.
struct RowTensors {
  Tensor k, v;
};

struct RopeOptions {
  bool bf16_frequencies = false;  // reproduces the authors' rounding of the inverse frequencies
};

std::vector<float> inverse_frequencies(const io::ModelConfig& config, const RopeOptions& options = {});

// The tensors of a pass over n stacked rows.
struct Activations {
  Tensor x;             // [n, d]      the residual stream
  Tensor xn;            // [n, d]      normed
  Tensor q, o;          // [n, H·e]
  Tensor k, v;          // [n, G·e]
  Tensor gate, up;      // [n, F]
  Tensor query_hidden;  // [n, 2·d_r]
  Tensor pool;          // [n]         scouts' shares in one query vector
};

// How a pass computes: under which adapter, and whether the bits of a row may depend on its neighbours.
struct PassKind {
  Adapter adapter = Adapter::none;
  kernels::Rows rows = kernels::Rows::few;
};

class Workspace {
 public:
  Workspace(std::shared_ptr<const Weights> weights, kernels::Queue& queue, const RopeOptions& options = {},
            WeightForm form = WeightForm::values);

  const Weights& weights() const { return *weights_; }  // on the queue's device
  kernels::Queue& queue() { return *queue_; }
  kernels::RopeTable& rope() { return rope_; }
  kernels::KvShape kv_shape() const;

  // Makes room for so many stacked rows. Contents do not survive growing.
  void reserve(std::int64_t rows);
  void reserve_positions(std::int64_t positions) { rope_.reserve(*queue_, positions); }
  Activations rows(std::int64_t n) const;                    // of the first n ≤ reserved
  Tensor low(std::size_t projection, std::int64_t n) const;  // [n, r], inside its adapter
  Tensor query_hidden(std::int64_t n) const { return all_.query_hidden.rows(0, n); }
  DType cache_type() const;         // of attention caches on the queue's device
  std::int64_t short_rows() const;  // prompts of up to so many tokens have a way of their own; 0: none
  kernels::KvCache chunk_cache(std::int64_t rows);  // one session's, of one layer, in a write pass

  // k and v of a layer's bos vector under an adapter, [1, kv] each; position 0, so RoPE leaves them alone.
  ConstTensor bos_k(std::int64_t layer, Adapter adapter) const { return bos(layer, adapter, 0); }
  ConstTensor bos_v(std::int64_t layer, Adapter adapter) const { return bos(layer, adapter, 1); }

  // Names what may turn out not to be finite (require_finite).
  struct Checked {
    std::int64_t layer = 0;
    const char* what = nullptr;
  };
  std::vector<Checked> checked;
  std::vector<kernels::Note> notes;  // of one require_finite

  // What read passes give to the host: at their end, with what lies there for which layer and share, in that
  // order; in the middle; logits, and the tokens chosen by them.
  kernels::HostPool host_pool;
  kernels::Outgoing outgoing, asked, logits, chosen;
  std::vector<ScoutTensors> scouts;
  std::vector<RowTensors> kept;  // of tokens, in the window's precision

  // What a read gathers of a memory.
  std::vector<kernels::RowBlock> blocks;
  std::vector<kernels::RowPlace> places;
  std::vector<std::int32_t> slots;
  AlignedVector<float> expanded;  // keys, then values, of rows that are kept in few bits
  std::vector<ReadShare> read_shares;
  std::vector<kernels::TokenRows> token_rows;
  std::vector<kernels::AttendItem> attend_items;

  static constexpr std::int64_t kLogitRows = 16;
  static constexpr std::size_t kProjections = 3;

 private:
  Tensor bos(std::int64_t layer, Adapter adapter, std::int64_t which) const;
  void project_bos();
  Buffer room(std::int64_t floats) const;

  std::shared_ptr<const Weights> weights_;
  kernels::Queue* queue_;
  kernels::RopeTable rope_;
  std::int64_t rows_ = 0;
  Activations all_;  // of all rows there is room for
  Tensor low_;       // [kProjections, rows, r]
  std::vector<Buffer> buffers_;
  Buffer chunk_keys_, chunk_values_;
  Buffer bos_;  // [adapter write/read, L, k/v, kv]
};

// out[T, out] = x[T, in] · (base + scale·B·A)ᵀ + bias, or += , then its heads normed.
struct Projected {
  Tensor out;
  const Projection* projection = nullptr;
  bool accumulate = false;
};
// At most Workspace::kProjections of the same x, or of its first rows.
void project(Workspace& w, ConstTensor x, std::initializer_list<Projected> outputs, const PassKind& kind);

// The type of all matrices of the products, where they have one.
std::optional<DType> common_type(std::initializer_list<const Projection*> projections, Adapter adapter);

// The bias and the norm of heads, behind the products.
void finish_projection(Workspace& w, Tensor out, const Projection& projection);

// Retriever projection of normed rows: out[T, d_r].
void retriever_project(Workspace& w, Tensor out, ConstTensor xn, const RetrieverHead& head,
                       kernels::Rows rows);

// NaN or infinity in a pass: the weights, or the rows of a memory, hold such values, and nothing that follows
// from them may be said or written. The processor throws corrupt at once; another device goes on, and
// end_checks() throws. `layer`: −1 behind the last one.
void require_finite(Workspace& w, std::int64_t layer, const char* what, ConstTensor values);
struct Finite {
  std::int64_t layer = -1;
  const char* what = nullptr;
  ConstTensor values;
};
void require_finite(Workspace& w, std::span<const Finite> checks);  // all at once
void begin_checks(Workspace& w);  // forgets those of a pass that did not come to its end
void end_checks(Workspace& w);    // waits; before anything of the pass is given away
// In two halves, for a pass that others may follow meanwhile: what ends its checks, and the wait.
struct Checks {
  std::unique_ptr<kernels::Mark> mark;
  std::vector<Workspace::Checked> checked;
};
Checks mark_checks(Workspace& w);
void end_checks(const Workspace& w, const Checks& checks);

// The same of a pass's queries, keys and values.
void require_finite_attention(Workspace& w, std::int64_t layer, ConstTensor q, const Activations& a);
// The same where append_tokens will look at them: the first of their three numbers.
std::int32_t expect_finite_attention(Workspace& w, std::int64_t layer);

// x += o_proj(attention) ; x += mlp(norm(x)): the second half of a decoder layer, the same in every pass.
void finish_layer(Workspace& w, const Layer& layer, Tensor x, ConstTensor attention, const PassKind& kind);

}  // namespace mplus::model
