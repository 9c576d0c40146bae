#include "mplus/kernels/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "mplus/core/error.h"
#include "mplus/kernels/queue.h"

// With MPLUS_PORTABLE_KERNELS neither is defined.
#if defined(__x86_64__) && !defined(MPLUS_PORTABLE_KERNELS)
#define MPLUS_KERNELS_X86
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && !defined(MPLUS_PORTABLE_KERNELS)
#define MPLUS_KERNELS_ARM
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace mplus::kernels {

namespace portable {
extern const Table kTable;
}
#if defined(MPLUS_KERNELS_X86)
namespace avx2 {
extern const Table kTable;
}
namespace avx512vnni {
extern const Table kTable;
}
namespace avx512amx {
extern const Table kTable;
}
#elif defined(MPLUS_KERNELS_ARM)
namespace neon {
extern const Table kTable;
}
namespace neon_dot {
extern const Table kTable;
}
namespace neon_i8mm {
extern const Table kTable;
}
#endif

namespace {

// Part of every numerics id: raise it when a change alters any result's bits.
constexpr int kExactVersion = 1;
// 2: both int8 terms of an activation in one integer; 3: bf16 for batches where there are instructions for
// it; 4: small keys scored by matrix instructions, with a sigmoid of their own, where there are some; 5, on
// x86 alone: batches in integers of 16 bits, one row of codes summed as in a batch, short sigmoids; 6, on
// AVX2 alone: short sigmoids end in a division; 7, on AVX-512 without tiles, and 8, on AVX2 alone: short
// prompts in the integers of one row
int fast_version([[maybe_unused]] const Table& set) {
#if defined(MPLUS_KERNELS_X86)
  if (&set == &avx512vnni::kTable) return 7;
  return &set == &avx2::kTable ? 8 : 5;
#else
  return 4;
#endif
}

#if defined(MPLUS_KERNELS_X86)
// Tiles are there if the processor has them and the kernel lets this process use them; once asked for,
// threads that begin later may, too.
bool has_tiles() {
  constexpr unsigned kFamily = 7, kTile = 1u << 24, kInt8 = 1u << 25, kBf16Tiles = 1u << 22, kBf16 = 1u << 5;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(kFamily, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kAll = kTile | kInt8 | kBf16Tiles;
  if ((edx & kAll) != kAll) return false;
  if (__get_cpuid_count(kFamily, 1, &eax, &ebx, &ecx, &edx) == 0 || (eax & kBf16) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

std::vector<const Table*> runnable() {
  std::vector<const Table*> tables;
#if defined(MPLUS_KERNELS_X86)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool has_avx512 =
      has_avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vnni") != 0;
  if (has_avx512 && has_tiles()) tables.push_back(&avx512amx::kTable);
  if (has_avx512) tables.push_back(&avx512vnni::kTable);
  if (has_avx2) tables.push_back(&avx2::kTable);
#elif defined(MPLUS_KERNELS_ARM)
  constexpr unsigned long kMatrices = HWCAP2_I8MM | HWCAP2_BF16;
  const bool has_dot = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  if (has_dot && (getauxval(AT_HWCAP2) & kMatrices) == kMatrices) tables.push_back(&neon_i8mm::kTable);
  if (has_dot) tables.push_back(&neon_dot::kTable);
  tables.push_back(&neon::kTable);
#endif
  tables.push_back(&portable::kTable);
  return tables;
}

const Table* find(std::string_view name) {
  for (const Table* t : runnable())
    if (name == t->name) return t;
  fail(ErrorCode::invalid_argument, "MPLUS_ISA: this machine runs {}, got '{}'",
       fmt::join(runnable_isas(), ", "), name);
}

std::atomic<const Table*>& current() {
  static std::atomic<const Table*> chosen = [] {
    const char* wanted = std::getenv("MPLUS_ISA");
    return wanted != nullptr && *wanted != '\0' ? find(wanted) : runnable().front();
  }();
  return chosen;
}

}  // namespace

const Table& table() { return *current().load(std::memory_order_relaxed); }

std::vector<std::string_view> runnable_isas() {
  std::vector<std::string_view> names;
  for (const Table* t : runnable()) names.emplace_back(t->name);
  return names;
}

void force_isa(std::string_view name) { current().store(find(name)); }

std::string_view isa_name() { return table().name; }

std::string isa_numerics_id(Numerics numerics) {
  const bool exact = numerics == Numerics::exact;
  const int version = exact ? kExactVersion : fast_version(table());
  return fmt::format("k{}-{}-{}", version, isa_name(), exact ? "exact" : "fast");
}

}  // namespace mplus::kernels
