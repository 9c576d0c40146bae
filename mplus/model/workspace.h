// Everything a pass needs besides weights and sessions: kernels' context, rotary tables and activation
// buffers that grow to the largest batch seen and stay. One per engine; one thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "mplus/core/buffer.h"
#include "mplus/kernels/attention.h"
#include "mplus/kernels/context.h"
#include "mplus/kernels/kv.h"
#include "mplus/kernels/rope.h"
#include "mplus/model/weights.h"

namespace mplus::model {

struct ReadItem;

// One session's rows among those stacked in a read pass.
struct ReadShare {
  const ReadItem* item = nullptr;
  std::int64_t at = 0;  // first row
  std::int64_t T = 0;
};

struct RopeOptions {
  bool bf16_frequencies = false;  // reproduces the authors' rounding of the inverse frequencies
};

std::vector<float> inverse_frequencies(const io::ModelConfig& config, const RopeOptions& options = {});

class Workspace {
 public:
  Workspace(std::shared_ptr<const Weights> weights, kernels::Context& context,
            const RopeOptions& options = {});

  const Weights& weights() const { return *weights_; }
  kernels::Context& context() { return *context_; }
  kernels::RopeTable& rope() { return rope_; }
  kernels::KvShape kv_shape() const;

  // Makes room for `rows` stacked rows in every buffer below. Contents do not survive growing.
  void reserve(std::int64_t rows);
  void reserve_positions(std::int64_t positions) { rope_.reserve(positions); }

  // k and v of a layer's bos vector under an adapter, [kv] each; position 0, so RoPE leaves them alone.
  const float* bos_k(std::int64_t layer, Adapter adapter) const { return bos(layer, adapter, 0); }
  const float* bos_v(std::int64_t layer, Adapter adapter) const { return bos(layer, adapter, 1); }

  AlignedVector<float> x;                   // [rows, d]      the residual stream
  AlignedVector<float> xn;                  // [rows, d]      normed
  AlignedVector<float> q;                   // [rows, H·e]
  AlignedVector<float> k, v;                // [rows, G·e]
  AlignedVector<float> o;                   // [rows, H·e]
  AlignedVector<float> gate, up;            // [rows, F]
  AlignedVector<float> lora;                // [kProjections, rows, r]
  AlignedVector<float> query;               // [rows, d_r]
  AlignedVector<float> query_hidden;        // [rows, 2·d_r]
  AlignedVector<float> pool;                // [rows]         scouts' shares in one query vector
  AlignedVector<float> logits;              // [kLogitRows, V]
  AlignedVector<float> kv_keys, kv_values;  // one session's attention cache of one layer in a write pass
  std::vector<const void*> k_rows, v_rows;  // row pointers for append_rows

  std::vector<ReadShare> read_shares;
  std::vector<kernels::AttendItem> attend_items;

  static constexpr std::int64_t kLogitRows = 16;
  static constexpr std::size_t kProjections = 3;

 private:
  const float* bos(std::int64_t layer, Adapter adapter, std::int64_t which) const;
  void project_bos();

  std::shared_ptr<const Weights> weights_;
  kernels::Context* context_;
  kernels::RopeTable rope_;
  std::int64_t rows_ = 0;
  AlignedVector<float> bos_;  // [adapter write/read, L, k/v, kv]
};

// out[T, out] = x[T, in] · (base + scale·B·A)ᵀ + bias, or += , then its heads normed.
struct Projected {
  float* out = nullptr;
  const Projection* projection = nullptr;
  bool accumulate = false;
};
// At most Workspace::kProjections of the same x. `batched`: the bits of a row do not depend on its
// neighbours.
void project(Workspace& w, const float* x, std::int64_t T, std::initializer_list<Projected> outputs,
             Adapter adapter, bool batched);

// Retriever projection of normed rows: out[T, d_r].
void retriever_project(Workspace& w, float* out, const float* xn, std::int64_t T, const RetrieverHead& head,
                       bool batched);

// Throws corrupt where a pass gave NaN or infinity: the weights, or the rows of a memory, hold such values,
// and nothing that follows from them may be said or written. `layer`: −1 behind the last one.
void require_finite(const Workspace& w, std::int64_t layer, const char* what, const float* values,
                    std::int64_t n);
// The same of the queries of the first `active` stacked rows, and of the keys and values of all.
void require_finite_attention(const Workspace& w, std::int64_t layer, std::int64_t active, std::int64_t rows);

// x += o_proj(attention) ; x += mlp(norm(x)): the second half of a decoder layer, the same in every pass.
void finish_layer(Workspace& w, const Layer& layer, float* x, const float* attention, std::int64_t T,
                  Adapter adapter, bool batched);

}  // namespace mplus::model
