#include "mplus/kernels/cuda/device/queue_state.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/kernels/cuda/device/check.h"

namespace mplus::kernels::cuda {
namespace {

constexpr std::size_t kAligned = 256;
constexpr std::size_t kMostUnsettled = 128;  // caches: those of one session; beyond them none is settled
constexpr int kNoNote = 0x7f;                // of every byte: larger than any number that is noted

std::size_t aligned(std::size_t size_bytes) { return (size_bytes + kAligned - 1) / kAligned * kAligned; }

// By the threads, where it is worth waking them.
void copy_bytes(ThreadPool& pool, std::byte* to, const std::byte* from, std::size_t size_bytes) {
  constexpr std::size_t kPiece = std::size_t{256} << 10;
  if (size_bytes <= 2 * kPiece) {
    std::memcpy(to, from, size_bytes);
    return;
  }
  pool.run(static_cast<std::int64_t>((size_bytes + kPiece - 1) / kPiece), [&](std::int64_t piece, int) {
    const std::size_t begin = static_cast<std::size_t>(piece) * kPiece;
    std::memcpy(to + begin, from + begin, std::min(kPiece, size_bytes - begin));
  });
}

// A note as the device has it; −1: none.
std::int32_t note_of(std::int32_t number) {
  std::int32_t none = 0;
  std::memset(&none, kNoNote, sizeof none);
  return number == none ? -1 : number;
}

// Memory that tensor() hands out bytes of.
std::byte* bytes_of(const Buffer& buffer) {
  return static_cast<std::byte*>(buffer.tensor(DType::i8, {0}).data);
}

}  // namespace

struct MarkedNotes {
  static constexpr std::size_t kMost = 16;
  Buffer memory;  // pinned
  std::uint32_t taken = 0;

  std::int32_t* note(std::size_t place) const {
    return reinterpret_cast<std::int32_t*>(bytes_of(memory)) + place;
  }
};

namespace {

class CudaMark final : public Mark {
 public:
  CudaMark(const DeviceMemory& memory, std::shared_ptr<MarkedNotes> notes)
      : memory_(&memory),
        notes_(std::move(notes)),
        place_(static_cast<std::size_t>(std::countr_one(notes_->taken))) {
    MPLUS_CHECK(place_ < MarkedNotes::kMost, "more than {} marks", MarkedNotes::kMost);
    check(cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming), "making an event");
    notes_->taken |= bit();
  }
  ~CudaMark() override {
    if (reached_) cudaEventDestroy(reached_);
    cudaGetLastError();
    notes_->taken &= ~bit();
  }
  std::int32_t wait() override {
    memory_->use();
    check(cudaEventSynchronize(reached_), "computing");
    return note_of(*note());
  }
  std::int32_t* note() const { return notes_->note(place_); }
  cudaEvent_t reached() const { return reached_; }

 private:
  std::uint32_t bit() const { return std::uint32_t{1} << place_; }

  const DeviceMemory* memory_;
  std::shared_ptr<MarkedNotes> notes_;
  std::size_t place_;
  cudaEvent_t reached_ = nullptr;
};

}  // namespace

CudaQueueState::CudaQueueState(const DeviceMemory& memory) : memory_(&memory), matmul_(memory) {
  memory.use();
  for (Slot& slot : slots_) {
    slot.memory = memory.allocate_host(kSlotBytes);
    check(cudaEventCreateWithFlags(&slot.sent, cudaEventDisableTiming), "making an event");
  }
  check(cudaStreamCreateWithFlags(&aside_, cudaStreamNonBlocking), "making a stream");
  check(cudaEventCreateWithFlags(&made_, cudaEventDisableTiming), "making an event");
  note_ = memory.allocate(sizeof(std::int32_t));
  marked_ = std::make_shared<MarkedNotes>();
  marked_->memory = memory.allocate_host(MarkedNotes::kMost * sizeof(std::int32_t));
  check(cudaMemsetAsync(note(), kNoNote, sizeof(std::int32_t), stream()), "clearing memory");
}

CudaQueueState::~CudaQueueState() {
  for (const Slot& slot : slots_)
    if (slot.sent) cudaEventDestroy(slot.sent);
  if (made_) cudaEventDestroy(made_);
  if (aside_) cudaStreamDestroy(aside_);
  cudaGetLastError();
}

void* CudaQueueState::scratch(Scratch purpose, std::size_t size_bytes) {
  Buffer& buffer = scratch_[static_cast<std::size_t>(purpose)];
  if (buffer.size_bytes() < size_bytes) {
    buffer = Buffer();  // nothing to keep
    buffer = memory_->allocate(size_bytes + size_bytes / 4);
  }
  return bytes_of(buffer);
}

Rounded CudaQueueState::round_along(const ConstTensor& x) {
  forget_rounded();
  const bool aligned = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
  if (x.dimensions != 2 || x.size(1) % 8 != 0 || !x.contiguous() || !aligned) return {};
  const Rounded rounded{room_to_round(x.elements(), operand_type_), operand_type_};
  operand_ = {static_cast<const float*>(x.data), x.elements(), x.size(1)};
  return rounded;
}

Rounded CudaQueueState::round_along(const ConstTensor& x, DType type) {
  operand_type_ = type;
  return round_along(x);
}

const void* CudaQueueState::rounded(const float* x, std::int64_t rows, std::int64_t width, DType type) {
  const bool known = x == operand_.x && width == operand_.width && rows * width <= operand_.elements;
  const bool same = type == operand_type_;
  operand_type_ = type;
  MPLUS_CHECK(!operand_.only || x != operand_.x || (known && same), "{} of {} rows were not kept as {}", rows,
              width, dtype_name(type));
  if (!same) forget_rounded();
  return known && same ? scratch(operand_room_, 0) : nullptr;
}

void* CudaQueueState::room_to_round(std::int64_t elements, DType type) {
  forget_rounded();
  operand_room_ = operand_room_ == Scratch::operand ? Scratch::other_operand : Scratch::operand;
  return scratch(operand_room_, row_bytes(type, elements));
}

void CudaQueueState::forget_rounded(const float* begin, const float* end) {
  if (begin < operand_.x + operand_.elements && operand_.x < end) forget_rounded();
}

std::byte* CudaQueueState::stage(std::size_t size_bytes) {
  MPLUS_CHECK(size_bytes <= kSlotBytes, "{} bytes at once", size_bytes);
  if (slots_[slot_].filled + aligned(size_bytes) > kSlotBytes) {
    check(cudaEventRecord(slots_[slot_].sent, stream()), "sending to the device");
    slot_ = (slot_ + 1) % slots_.size();
    check(cudaEventSynchronize(slots_[slot_].sent), "sending to the device");
    slots_[slot_].filled = 0;
  }
  std::byte* room = bytes_of(slots_[slot_].memory) + slots_[slot_].filled;
  slots_[slot_].filled += aligned(size_bytes);
  return room;
}

void CudaQueueState::send(void* to, const std::byte* staged, std::size_t size_bytes) {
  if (size_bytes == 0) return;
  check(cudaMemcpyAsync(to, staged, size_bytes, cudaMemcpyHostToDevice, stream()), "copying to the device");
}

void CudaQueueState::upload(ThreadPool& pool, void* to, const void* from, std::size_t size_bytes) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  while (size_bytes > 0) {
    const std::size_t part = std::min(size_bytes, kSlotBytes);
    std::byte* room = stage(part);
    copy_bytes(pool, room, source, part);
    send(target, room, part);
    source += part;
    target += part;
    size_bytes -= part;
  }
}

std::byte* CudaQueueState::land(std::size_t size_bytes) {
  for (; landing_ < landings_.size(); ++landing_, landed_ = 0)
    if (landed_ + size_bytes <= landings_[landing_].size_bytes()) break;
  if (landing_ == landings_.size()) {
    landings_.push_back(memory_->allocate_host(std::max(kSlotBytes, size_bytes)));
    landed_ = 0;
  }
  std::byte* room = bytes_of(landings_[landing_]) + landed_;
  landed_ += aligned(size_bytes);
  return room;
}

void CudaQueueState::download(void* to, const void* from, std::size_t size_bytes) {
  if (size_bytes == 0) return;
  cudaPointerAttributes attributes{};
  const bool pinned =
      cudaPointerGetAttributes(&attributes, to) == cudaSuccess && attributes.type == cudaMemoryTypeHost;
  cudaGetLastError();
  void* room = to;
  if (!pinned) {
    std::byte* landing = land(size_bytes);
    pending_.push_back({to, landing, size_bytes});
    room = landing;
  }
  check(cudaMemcpyAsync(room, from, size_bytes, cudaMemcpyDeviceToHost, stream()), "copying from the device");
}

void CudaQueueState::download_aside(void* to, const void* from, std::size_t size_bytes) {
  if (size_bytes == 0) return;
  check(cudaEventRecord(made_, stream()), "copying from the device");
  check(cudaStreamWaitEvent(aside_, made_), "copying from the device");
  check(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToHost, aside_), "copying from the device");
}

void CudaQueueState::wait() {
  std::vector<Landing> arriving;
  std::swap(arriving, pending_);  // of a device that has failed nothing arrives later
  landing_ = landed_ = 0;
  check(cudaStreamSynchronize(stream()), "computing");
  check(cudaStreamSynchronize(aside_), "copying from the device");
  unsettled_.clear();
  for (Slot& slot : slots_) slot.filled = 0;
  for (const Landing& landing : arriving) std::memcpy(landing.to, landing.from, landing.size_bytes);
  arriving.clear();
  std::swap(arriving, pending_);  // keeps its room
}

void CudaQueueState::note_rows(const KvCache& cache) {
  if (unsettled_.size() > kMostUnsettled) return;
  const auto* begin = static_cast<const std::byte*>(cache.keys.data);
  const auto* end = begin + row_bytes(cache.keys.dtype, cache.keys.size(0) * cache.keys.stride(0));
  for (UnsettledRows& rows : unsettled_) {
    if (end <= rows.begin || rows.end <= begin) continue;
    rows.first = begin == rows.begin ? std::min(rows.first, cache.rows) : 0;
    return;
  }
  unsettled_.push_back({begin, end, cache.rows});
}

std::int64_t CudaQueueState::settled_rows(const KvCache& cache) const {
  if (unsettled_.size() > kMostUnsettled) return 0;
  const auto* begin = static_cast<const std::byte*>(cache.keys.data);
  for (const UnsettledRows& rows : unsettled_)
    if (rows.begin <= begin && begin < rows.end)
      return begin == rows.begin ? std::min(rows.first, cache.rows) : 0;
  return cache.rows;
}

void CudaQueueState::wait_aside() { check(cudaStreamSynchronize(aside_), "copying from the device"); }

std::uint32_t* CudaQueueState::counters(std::size_t n) {
  const std::size_t size_bytes = n * sizeof(std::uint32_t);
  if (counters_.size_bytes() < size_bytes) {
    counters_ = memory_->allocate(size_bytes);
    check(cudaMemsetAsync(bytes_of(counters_), 0, size_bytes, stream()), "clearing memory");
  }
  return reinterpret_cast<std::uint32_t*>(bytes_of(counters_));
}

std::int32_t* CudaQueueState::note() { return reinterpret_cast<std::int32_t*>(bytes_of(note_)); }

std::int32_t CudaQueueState::take_note() {
  std::int32_t number = 0;
  download(&number, note(), sizeof number);
  check(cudaMemsetAsync(note(), kNoNote, sizeof number, stream()), "clearing memory");
  wait();
  return note_of(number);
}

std::unique_ptr<Mark> CudaQueueState::mark() {
  auto mark = std::make_unique<CudaMark>(*memory_, marked_);
  constexpr std::size_t kBytes = sizeof(std::int32_t);
  check(cudaMemcpyAsync(mark->note(), note(), kBytes, cudaMemcpyDeviceToHost, stream()), "computing");
  check(cudaMemsetAsync(note(), kNoNote, kBytes, stream()), "clearing memory");
  check(cudaEventRecord(made_, stream()), "computing");
  check(cudaStreamWaitEvent(aside_, made_), "computing");
  check(cudaEventRecord(mark->reached(), aside_), "computing");
  return mark;
}

}  // namespace mplus::kernels::cuda
