// What differs between the processors and systems that the program runs on. Outside kernels/ nothing else
// asks which one it is (scripts/check_rooms.py).
#pragma once

#include <linux/audit.h>
#include <sys/mman.h>

#include <cstdint>

namespace mplus {

#if defined(__x86_64__)
inline void pause_spinning() { __builtin_ia32_pause(); }
// Of system calls as this program makes them, for seccomp; those of another word size have other numbers.
inline constexpr std::uint32_t kSystemCalls = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
inline void pause_spinning() { asm volatile("yield"); }
inline constexpr std::uint32_t kSystemCalls = AUDIT_ARCH_AARCH64;
#else
#error "how does this processor wait, and which system calls does it have?"
#endif

// Advice for madvise() that makes all pages at once; −1: headers older than it.
#if defined(MADV_POPULATE_WRITE)
inline constexpr int kMakePages = MADV_POPULATE_WRITE;
#else
inline constexpr int kMakePages = -1;
#endif

}  // namespace mplus
