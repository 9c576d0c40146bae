// The device a model is on, by the names people give it.
#pragma once

#include <cstdint>
#include <string>

#include "mplus/train/torch.h"

namespace mplus::train {

// "cpu", "cuda", or "auto": a GPU where torch finds one. `number`: which of a machine's GPUs.
torch::Device device_named(const std::string& name, std::int64_t number = 0);

std::string device_name(torch::Device device);  // of the product, where it is known
double device_gigabytes(torch::Device device);  // most that was taken of a GPU's memory; 0 on a CPU

}  // namespace mplus::train
