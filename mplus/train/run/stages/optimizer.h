// AdamW over the tensors that are trained, clipping of their gradients and the schedule of the learning rate.
// No call waits for the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mplus/train/model/model.h"
#include "mplus/train/processes/processes.h"

namespace mplus::train {

struct Trained {
  std::string name;  // as in parameters()
  Tensor tensor;     // asks for a gradient
  double rate;       // learning rate where the schedule's factor is 1
  // [layers, in, in], symmetric: the tensor [layers, out, in] is W + Z · this, and Z is what steps are taken
  // in; no weight decay. Undefined: the tensor itself.
  Tensor evened = Tensor();
};

struct LearningRates {  // 0: not trained
  double base = 0, adapter = 0, vectors = 0, retriever = 0;
};
// Tensors of the parts with a rate; these ask for gradients from now on, the others no longer do.
std::vector<Trained> trained_tensors(Model& model, const LearningRates& rates);

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-8, weight_decay = 0;
};

// In a run of several processes each holds the moments of its piece of every tensor and steps that piece
// (ZeRO-1); weights are whole in all of them. Construction, clip(), step() and moments() are calls of all
// processes.
class AdamW {
 public:
  explicit AdamW(std::vector<Trained> trained, const AdamWOptions& options = {},
                 Processes* processes = nullptr);

  const std::vector<Trained>& trained() const { return trained_; }
  Processes* processes() const { return processes_; }
  // From now on steps of this tensor, one of trained(), go by evened inputs (Trained). For a process alone.
  void even_inputs(const Tensor& tensor, const Tensor& evened);
  // Adds up the gradients of all processes, before anything is done with them. All processes must have
  // gradients of the same tensors. A process alone only takes those of evened inputs to the space they step
  // in.
  void sum_gradients();
  // Scales all gradients so that their common norm is at most `most`; returns the norm before that (a scalar
  // tensor).
  Tensor clip(double most);
  // One step at rate · factor, then the gradients are gone. A tensor without a gradient stays as it is.
  void step(double factor);

  // First and second moment and number of steps of each tensor, in the order of trained(): for checkpoints.
  // Whole tensors, whatever the number of processes.
  struct Moments {
    Tensor first, second, steps;
  };
  std::vector<Moments> moments() const;
  void set_moments(std::size_t tensor, const Moments& moments);  // copied

 private:
  // Numbers of each process's piece of tensor i, the last one filled up.
  std::int64_t piece_size(std::size_t i) const;
  Tensor own_piece(std::size_t i, const Tensor& whole) const;  // a view: of all of it for a process alone
  Tensor gradient(std::size_t i) const;                        // of the own piece; undefined: none
  Tensor whole(std::size_t i, const Tensor& piece) const;
  void share_weights();

  std::vector<Trained> trained_;
  std::vector<Moments> moments_;  // of the own pieces
  AdamWOptions options_;
  Processes* processes_;
  std::vector<Tensor>
      sums_;  // several processes: gradients of the own pieces, from sum_gradients() to step()
};

// Linear warm-up over the first steps, then half a cosine from 1 down to `least` as progress goes from 0
// to 1.
double schedule_factor(std::int64_t step, std::int64_t warm_up_steps, double progress, double least);

}  // namespace mplus::train
