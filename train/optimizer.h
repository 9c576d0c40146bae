// AdamW over the tensors that are trained, clipping of their gradients and the schedule of the learning rate.
// No call waits for the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mplus/train/model.h"

namespace mplus::train {

struct Trained {
  std::string name;  // as in parameters()
  Tensor tensor;     // asks for a gradient
  double rate;       // learning rate where the schedule's factor is 1
};

struct LearningRates {  // 0: not trained
  double base = 0, adapter = 0, vectors = 0, retriever = 0;
};
// Tensors of the parts with a rate; these ask for gradients from now on, the others no longer do.
std::vector<Trained> trained_tensors(Model& model, const LearningRates& rates);

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-8, weight_decay = 0;
};

class AdamW {
 public:
  explicit AdamW(std::vector<Trained> trained, const AdamWOptions& options = {});

  const std::vector<Trained>& trained() const { return trained_; }
  // Scales all gradients so that their common norm is at most `most`; returns the norm before that (a scalar
  // tensor).
  Tensor clip(double most);
  // One step at rate · factor, then the gradients are gone. A tensor without a gradient stays as it is.
  void step(double factor);

  // First and second moment and number of steps of each tensor, in the order of trained(): for checkpoints.
  struct Moments {
    Tensor first, second, steps;
  };
  std::vector<Moments>& moments() { return moments_; }

 private:
  std::vector<Trained> trained_;
  std::vector<Moments> moments_;
  AdamWOptions options_;
};

// Linear warm-up over the first steps, then half a cosine from 1 down to `least` as progress goes from 0
// to 1.
double schedule_factor(std::int64_t step, std::int64_t warm_up_steps, double progress, double least);

}  // namespace mplus::train
