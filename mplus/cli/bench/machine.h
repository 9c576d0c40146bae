// What this machine can do, measured: the limits a speed is shown beside.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mplus/engine/engine.h"

namespace mplus::cli {

struct Spread {
  double median = 0, least = 0, most = 0;
};
Spread spread_of(std::vector<double> values);  // at least one

double seconds_of(const std::function<void()>& work);

double read_bytes_per_second(kernels::Queue& queue);  // its memory, which no cache holds

// Arithmetic of a matrix product with many rows, on a matrix of the model (its own element type), in
// operations a second.
double gemm_flops(engine::Engine& engine, std::int64_t rows);

struct ModelCost {
  double weight_bytes = 0;  // read for one decoded token
  double read_flop = 0;     // for one token read, head aside
};
ModelCost model_cost(const model::Weights& weights);

}  // namespace mplus::cli
