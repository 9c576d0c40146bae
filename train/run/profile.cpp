#include "mplus/train/run/profile.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <map>

namespace mplus::train {
namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

std::set<ActivityType> activities(torch::Device device) {
  if (device.is_cuda()) return {ActivityType::CPU, ActivityType::CUDA};
  return {ActivityType::CPU};
}

}  // namespace

Profile::Profile(torch::Device device) : device_(device) {
  profiler::prepareProfiler(
      torch::profiler::impl::ProfilerConfig(torch::profiler::impl::ProfilerState::KINETO),
      activities(device));
}

void Profile::start() {
  profiler::enableProfiler(
      torch::profiler::impl::ProfilerConfig(torch::profiler::impl::ProfilerState::KINETO),
      activities(device_), {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
}

std::vector<Profile::Cost> Profile::stop() {
  const auto result = profiler::disableProfiler();
  std::map<std::string, Cost> by_name;
  for (const profiler::KinetoEvent& event : result->events()) {
    if (event.deviceType() != device_.type()) continue;
    Cost& cost = by_name[event.name()];
    cost.milliseconds += static_cast<double>(event.durationNs()) * 1e-6;
    ++cost.calls;
  }
  std::vector<Cost> costs;
  for (auto& [name, cost] : by_name) {
    cost.name = name;
    costs.push_back(cost);
  }
  std::sort(costs.begin(), costs.end(),
            [](const Cost& a, const Cost& b) { return a.milliseconds > b.milliseconds; });
  return costs;
}

}  // namespace mplus::train
