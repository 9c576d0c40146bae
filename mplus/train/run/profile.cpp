#include "mplus/train/run/profile.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <fmt/core.h>

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

void Profile::before_step(std::int64_t steps_done, const std::string& stage, RunLog& log) {
  constexpr std::int64_t kFirst = 8;  // memory is asked for and matrix products are tried out in these
  if (steps_ <= 0) return;
  if (steps_done == kFirst) start();
  if (steps_done != kFirst + steps_ || !runs_) return;
  const std::vector<Cost> costs = stop();
  const double passed =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started_).count();
  double busy = 0;
  for (const Cost& cost : costs) busy += cost.milliseconds;
  log.say(fmt::format("{}: {} steps took {:.0f} ms, {:.0f} ms of them busy on {}", stage, steps_, passed,
                      busy, device_.str()));
  constexpr std::size_t kShown = 40;
  io::Json shown;
  for (std::size_t i = 0; i < std::min(kShown, costs.size()); ++i) {
    log.say(fmt::format("  {:5.1f} %  {:9.2f} ms  {:6} calls  {}", 100 * costs[i].milliseconds / busy,
                        costs[i].milliseconds, costs[i].calls, costs[i].name.substr(0, 150)));
    shown.push_back({{"name", costs[i].name}, {"ms", costs[i].milliseconds}, {"calls", costs[i].calls}});
  }
  log.record({{"stage", stage}, {"profile", shown}, {"steps", steps_}, {"ms", passed}});
}

void Profile::start() {
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  profiler::prepareProfiler(config, activities(device_));
  profiler::enableProfiler(config, activities(device_),
                           {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  runs_ = true;
  started_ = std::chrono::steady_clock::now();
}

std::vector<Profile::Cost> Profile::stop() {
  const auto result = profiler::disableProfiler();
  runs_ = false;
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
