#define USE_C10D_GLOO
#include "mplus/train/processes/processes.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <charconv>
#include <chrono>
#include <cstdlib>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/train/processes/gpu_group.h"

namespace mplus::train {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value) fail(ErrorCode::invalid_argument, "WORLD_SIZE is set, so {} must be, too (see torchrun)", name);
  return value;
}

std::int64_t number(const char* name, std::int64_t below) {
  const std::string text = variable(name);
  std::int64_t value = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 0 || value >= below)
    fail(ErrorCode::invalid_argument, "{}={}: expected a number from 0 to {}", name, text, below - 1);
  return value;
}

// torchrun keeps a store of its own at the address, one name space for each time it starts the processes.
bool agent_keeps_store() {
  const char* value = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  return value && std::string_view(value) == "True";
}

}  // namespace

ProcessPlace process_place() {
  constexpr std::int64_t kMostProcesses = 1 << 16;
  ProcessPlace place;
  if (!std::getenv("WORLD_SIZE")) return place;
  place.share.processes = number("WORLD_SIZE", kMostProcesses);
  if (place.share.processes == 0) fail(ErrorCode::invalid_argument, "WORLD_SIZE=0: expected 1 or more");
  place.share.process = number("RANK", place.share.processes);
  if (place.share.processes == 1) return place;
  place.on_machine = number("LOCAL_RANK", place.share.processes);
  place.address = variable("MASTER_ADDR");
  place.port = static_cast<std::uint16_t>(number("MASTER_PORT", 1 << 16));
  return place;
}

struct Processes::Groups {
  c10::intrusive_ptr<c10d::Backend> host, gpu;

  c10d::Backend& of(const Tensor& tensor) const {
    if (!tensor.is_cuda()) return *host;
    MPLUS_CHECK(gpu, "tensors of a GPU in processes that were joined on the host");
    return *gpu;
  }
};

// Whatever goes wrong while the others are talked to is theirs or the network's.
template <class Talk>
void Processes::with_others(const char* what, Talk&& talk) {
  try {
    talk();
  } catch (const std::exception& e) {
    if (groups_->gpu) groups_->gpu->abort();  // else the GPU waits on for a process that is gone
    const std::string_view text = e.what();
    fail(ErrorCode::cancelled,
         "process {} of {}, {}: another process has stopped or did not answer within {:.0f} s ({}). Started "
         "again, all of them go on from the last checkpoint",
         place_.share.process, place_.share.processes, what, timeout_seconds_,
         text.substr(0, text.find('\n')));
  }
}

Processes::Processes(const ProcessPlace& place, torch::Device device, double timeout_seconds)
    : place_(place), timeout_seconds_(timeout_seconds), groups_(std::make_unique<Groups>()) {
  if (device.is_cuda()) require_gpu_group();
  const std::chrono::milliseconds timeout(static_cast<std::int64_t>(1e3 * timeout_seconds));
  const auto rank = static_cast<int>(place.share.process), size = static_cast<int>(place.share.processes);
  with_others("meeting the others", [&] {
    c10d::TCPStoreOptions options;
    options.port = place.port;
    options.isServer = rank == 0 && !agent_keeps_store();
    options.numWorkers = static_cast<std::size_t>(size);
    options.waitWorkers = !agent_keeps_store();
    options.timeout = timeout;
    c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
    if (agent_keeps_store()) {
      const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
      store = c10::make_intrusive<c10d::PrefixStore>(
          fmt::format("/worker/attempt_{}", attempt ? attempt : "0"), store);
    }
    const auto gloo = c10d::ProcessGroupGloo::Options::create(timeout);
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    gloo->devices.push_back(interface ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                                      : c10d::ProcessGroupGloo::createDefaultDevice());
    groups_->host = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("host", store), rank, size, gloo);
    if (device.is_cuda()) groups_->gpu = join_gpus(store, place.share, timeout, device);
  });
}

Processes::~Processes() = default;

void Processes::sum(const Tensor& values) {
  with_others("adding up", [&] {
    std::vector<Tensor> tensors = {values};
    groups_->of(values).allreduce(tensors)->wait();
  });
}

Tensor Processes::sum_of_rows(const Tensor& rows) {
  Tensor in = rows.reshape({-1}), sum = torch::empty({rows.size(1)}, rows.options());
  with_others("adding up gradients", [&] { groups_->of(rows)._reduce_scatter_base(sum, in)->wait(); });
  return sum;
}

Tensor Processes::rows_of_all(const Tensor& row) {
  Tensor in = row, all = torch::empty({place_.share.processes * row.size(0)}, row.options());
  with_others("collecting", [&] { groups_->of(row)._allgather_base(all, in)->wait(); });
  return all.view({place_.share.processes, -1});
}

bool Processes::any(bool value) {
  const Tensor count = torch::full({1}, value ? 1 : 0, torch::kInt64);
  sum(count);
  return count.item<std::int64_t>() > 0;
}

bool Processes::all_equal(const std::string& value) {
  const auto hash = static_cast<std::int64_t>(io::xxh3(std::as_bytes(std::span(value))));
  const Tensor hashes = rows_of_all(torch::full({1}, hash, torch::kInt64));
  return (hashes == hash).all().item<bool>();
}

void Processes::wait_for_all() { any(false); }

}  // namespace mplus::train
