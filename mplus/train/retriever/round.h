// A round of the retriever's stage: memory rows of many chunks and the states of questions about them, made
// once by the frozen model and kept on the device, and what a step draws from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mplus/train/lessons/chunk_maker.h"
#include "mplus/train/model/model.h"
#include "mplus/train/processes/share.h"

namespace mplus::train {

struct RetrieverStageOptions {
  std::int64_t rounds = 4;           // new chunks and questions are made so often: few overfit
  std::int64_t updates = 64;         // chunks of a stream in a round
  std::int64_t questions = 4;        // on each chunk
  std::int64_t asked_at_once = 192;  // questions of a step; their chunks are each other's candidates
  std::int64_t others = 64;          // candidates nobody asks for
  std::int64_t rows = 32;            // of each candidate that are scored, of K
  std::int64_t vote_top = 16;        // a chunk's best scores that count, of K; 0: all
  double same_kind = .5;             // steps with candidates of one kind only
  double each_layer = .3;            // weight of the loss of every layer for itself
  double vote_rate = 1;              // the layers' weights and factors learn so many times faster
  bool even_inputs = false;          // steps by inputs evened out (conditioning.h)
  double renew_below = 0;            // layers that find fewer first, alone, begin again; 0: none
  double vector = 0;                 // weight of the loss of one vector a chunk; 0: it is not trained
};

// What a round holds on the device.
struct RetrieverCache {
  Tensor rows;                      // [M, chunks·K, d], normed
  Tensor states;                    // [M, places, T, d], normed, of the read adapter over other memories
  Tensor asks;                      // [places, T]: weights of the tokens that ask
  std::vector<std::int64_t> place;  // of each question in states and asks
  std::vector<std::int64_t> chunk;  // each question is about
  std::vector<ChunkKind> kind;      // of each chunk
};
RetrieverCache make_retriever_cache(const Model& model, const ChunkMaker& maker, std::int64_t streams,
                                    const RetrieverStageOptions& options, std::uint32_t round,
                                    std::uint64_t seed);

// One step's draw from a cache: questions, and candidates whose first ones are the questions' own chunks.
struct RetrieverBatch {
  std::vector<std::int64_t> questions, candidates, right;  // right: index into candidates, of each question
};
// `only`: of this kind, whatever the options say; no questions where there are none of it.
RetrieverBatch draw_batch(const RetrieverCache& cache, const RetrieverStageOptions& options, Random& random,
                          std::optional<ChunkKind> only);

// Leaves this process's questions of a batch, all candidates with them; returns their part of all questions.
// Votes for one question do not depend on the others, so the losses of the parts, weighted, add up.
double take_share(RetrieverBatch& batch, const Share& share);

}  // namespace mplus::train
