// The weights of a decoder with memory: immutable after loading, shared by every session, in the type of the
// file they came from and mostly still lying in it. Shapes are [rows, columns] as files have them: out = x ·
// wᵀ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/io/config/memory_config.h"
#include "mplus/io/config/model_config.h"

namespace mplus::model {

// Which low-rank set is active: `write` while a chunk is injected, `read` while text is read and generated.
enum class Adapter { none, write, read };

struct Lora {
  Matrix a;  // [r, in]
  Matrix b;  // [out, r]
};

// x · (base + B·A)ᵀ + bias, then each head of it normed: what RoPE is applied to, and what a memory stores of
// a key. Bias and norm only where the architecture has them.
struct Projection {
  Matrix base;  // [out, in]
  Lora write, read;
  ConstTensor bias;       // [out]
  ConstTensor head_norm;  // [e]
  const Lora* lora(Adapter adapter) const {
    if (adapter == Adapter::none) return nullptr;
    const Lora& chosen = adapter == Adapter::write ? write : read;
    return chosen.a.empty() ? nullptr : &chosen;
  }
};

// Linear → SiLU → Linear, or a single Linear where `second` is empty.
struct RetrieverHead {
  Matrix first;   // [2·d_r, d]
  Matrix second;  // [d_r, 2·d_r]
  bool empty() const { return first.empty(); }
};

struct Layer {
  ConstTensor attention_norm, mlp_norm;  // [d]
  Projection q, k, v, gate, up, down;
  Matrix o;
  RetrieverHead query, key, encoder_query;
  ConstTensor bos;   // [1, d]; empty without memory
  ConstTensor pool;  // [d]: a scout's share in the question's one vector; empty: not trained
};

// A memory that came with the checkpoint, as hidden states.
struct InitialMemory {
  struct LongTerm {
    Matrix hidden;            // [n, d]
    Matrix key;               // [n, d_r]
    std::vector<float> ages;  // [n]
  };
  std::vector<Matrix> short_term;   // [L] of [N, d]
  std::vector<LongTerm> long_term;  // [L] or empty
};

struct Weights {
  std::string files;  // what they were read from, for messages
  io::ModelConfig config;
  std::optional<io::MemoryConfig> memory;  // nullopt: a plain decoder
  std::vector<Layer> layers;
  Matrix embedding;                  // [V, d]
  Matrix head;                       // [V, d]; the embedding where tied
  ConstTensor final_norm;            // [d]
  ConstTensor positional;            // [d], added to the rows an update writes
  std::vector<double> vote_weights;  // [L] or empty; 0 where a layer keeps no memory
  ConstTensor talk;                  // [d + 1], the last one alone: MemoryConfig::talk; empty: none
  bool has_vector_pool = false;      // every layer that keeps a memory has one
  std::optional<InitialMemory> initial_memory;
  float lora_scale = 0;  // α / r

  std::vector<std::shared_ptr<const void>>
      owners;  // mapped files, and copies where a file's form does not fit
};

}  // namespace mplus::model
