// The processes of one run, on one machine or several, and what they tell each other: c10d, with Gloo for
// tensors of the host and NCCL for those of a GPU. They are started the way torchrun starts them, one for
// each GPU, and find each other by the environment: WORLD_SIZE, RANK, LOCAL_RANK, MASTER_ADDR, MASTER_PORT.
//
// Every call is collective: all processes make the same calls in the same order, each from one thread. A
// process that is gone, or does not answer in time, ends the call of every other one with an Error.
//
// Everywhere else a pointer to this is null in a run of one process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mplus/train/processes/share.h"
#include "mplus/train/torch.h"

namespace mplus::train {

// Where the environment puts this process.
struct ProcessPlace {
  Share share;
  std::int64_t on_machine = 0;  // its number among those of its machine
  std::string address;          // where the first process listens
  std::uint16_t port = 0;
};
ProcessPlace process_place();  // one process, where WORLD_SIZE is not set

class Processes {
 public:
  Processes(const ProcessPlace& place, torch::Device device, double timeout_seconds);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  const Share& share() const { return place_.share; }
  bool is_first() const { return place_.share.process == 0; }  // the one that writes files and speaks

  void sum(const Tensor& values);            // in place
  Tensor sum_of_rows(const Tensor& rows);    // [processes, n]: the sum of this process's row, [n]
  Tensor rows_of_all(const Tensor& row);     // [n] of each: [processes, n]
  bool any(bool value);                      // whether it is true in some process
  bool all_equal(const std::string& value);  // whether it is the same text in all processes
  void wait_for_all();

 private:
  struct Groups;
  template <class Talk>
  void with_others(const char* what, Talk&& talk);

  ProcessPlace place_;
  double timeout_seconds_;
  std::unique_ptr<Groups> groups_;
};

// The sum over all processes of a value without gradient; the value itself where there is one process.
inline Tensor sum_over(Processes* processes, const Tensor& value) {
  if (!processes) return value;
  Tensor sum = value.detach().clone();
  processes->sum(sum);
  return sum;
}

}  // namespace mplus::train
