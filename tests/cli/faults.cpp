// A library to be preloaded into the program: counts what it does to files below a folder, and at a given
// count kills the process, or lets this and all later writes fail. So a test can be at every moment between
// two operations of the operating system.
//
//   MPLUS_FAULT_FOLDER   only files below it count
//   MPLUS_FAULT          kill:N, full:N (no space left), once:N (the same, for this one) or error:N (I/O
//   error); 0:
//                        only count
//   MPLUS_FAULT_WHILE    a file: only while it is there, operations count and fail
//   MPLUS_FAULT_COUNT    a file that gets the count when the process ends
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> operations{0};

struct Plan {
  const char* folder = std::getenv("MPLUS_FAULT_FOLDER");
  const char* only_while = std::getenv("MPLUS_FAULT_WHILE");
  long at = 0;
  int error = 0;  // 0: kill
  bool once = false;
  Plan() {
    const char* plan = std::getenv("MPLUS_FAULT");
    if (!plan) return;
    if (std::strncmp(plan, "full:", 5) == 0) error = ENOSPC;
    if (std::strncmp(plan, "error:", 6) == 0) error = EIO;
    once = std::strncmp(plan, "once:", 5) == 0;
    if (once) error = ENOSPC;
    if (const char* number = std::strchr(plan, ':')) at = std::atol(number + 1);
  }
};

const Plan& plan() {
  static const Plan plan;
  return plan;
}

struct Report {
  ~Report() {
    const char* file = std::getenv("MPLUS_FAULT_COUNT");
    if (!file) return;
    if (std::FILE* out = std::fopen(file, "w")) {
      std::fprintf(out, "%ld\n", operations.load());
      std::fclose(out);
    }
  }
} report;

bool counts(const char* path) {
  return plan().folder && std::strncmp(path, plan().folder, std::strlen(plan().folder)) == 0;
}

bool counts(int descriptor) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = ::readlink(link, path, sizeof path - 1);
  if (size <= 0) return false;
  path[size] = 0;
  return counts(path);
}

// True: the operation is to fail, errno is set. May not return.
bool fails(bool counted, bool needs_space) {
  if (!counted || (plan().only_while && ::access(plan().only_while, F_OK) != 0)) return false;
  const long number = ++operations;
  if (plan().at == 0 || number < plan().at || (plan().once && number > plan().at)) return false;
  if (plan().error == 0) ::raise(SIGKILL);
  if (plan().error == ENOSPC && !needs_space) return false;
  errno = plan().error;
  return true;
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t size) {
  if (fails(counts(descriptor), true)) return -1;
  return next<decltype(write)>("write")(descriptor, data, size);
}
ssize_t pwrite(int descriptor, const void* data, size_t size, off_t at) {
  if (fails(counts(descriptor), true)) return -1;
  return next<decltype(pwrite)>("pwrite")(descriptor, data, size, at);
}
ssize_t pwrite64(int descriptor, const void* data, size_t size, off64_t at) {
  if (fails(counts(descriptor), true)) return -1;
  return next<decltype(pwrite64)>("pwrite64")(descriptor, data, size, at);
}
int fsync(int descriptor) {
  if (fails(counts(descriptor), true)) return -1;
  return next<decltype(fsync)>("fsync")(descriptor);
}
int fdatasync(int descriptor) {
  if (fails(counts(descriptor), true)) return -1;
  return next<decltype(fdatasync)>("fdatasync")(descriptor);
}
int ftruncate(int descriptor, off_t size) {
  if (fails(counts(descriptor), true)) return -1;
  return next<decltype(ftruncate)>("ftruncate")(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) {
  if (fails(counts(descriptor), true)) return -1;
  return next<decltype(ftruncate64)>("ftruncate64")(descriptor, size);
}
int rename(const char* from, const char* to) {
  if (fails(counts(to), false)) return -1;
  return next<decltype(rename)>("rename")(from, to);
}
int unlink(const char* path) {
  if (fails(counts(path), false)) return -1;
  return next<decltype(unlink)>("unlink")(path);
}
int remove(const char* path) {
  if (fails(counts(path), false)) return -1;
  return next<decltype(remove)>("remove")(path);
}

}  // extern "C"
