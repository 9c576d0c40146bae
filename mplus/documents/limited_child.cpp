#include "mplus/documents/limited_child.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/core/platform.h"

namespace mplus::documents {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kErrorBytes = 4096;
constexpr int kNotStarted = 127;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end, write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    fail(ErrorCode::io, "cannot make a pipe: {}", std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A file without a name: the child may take as long as it likes to read it, and may seek.
Descriptor make_input(std::string_view bytes) {
  Descriptor file(::memfd_create("mplus-document", MFD_CLOEXEC));
  if (file.get() < 0) fail(ErrorCode::io, "cannot make a file in memory: {}", std::strerror(errno));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail(ErrorCode::io, "cannot write a file in memory: {}", std::strerror(errno));
    done += static_cast<std::size_t>(wrote);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// All that the child needs, made before there is one: between fork and exec it may not allocate.
struct Plan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int input, output, errors;
  rlim_t memory_bytes, processor_seconds;
};

void limit(__rlimit_resource resource, rlim_t most) {
  const rlimit both{most, most};
  ::setrlimit(resource, &both);
}

// Sockets are refused, of whatever kind and way: a document may name a place, but nobody goes there.
void refuse_sockets() {
  std::array<sock_filter, 8> code{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch)},
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kSystemCalls},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_socket},
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_io_uring_setup},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EACCES},
  }};
  const sock_fprog filter{code.size(), code.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

// Between fork and exec: only calls that a signal handler may make.
[[noreturn]] void become(const Plan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // not left behind by a program that was killed
  ::setsid();
  const bool connected = ::dup2(plan.input, STDIN_FILENO) >= 0 && ::dup2(plan.output, STDOUT_FILENO) >= 0 &&
                         ::dup2(plan.errors, STDERR_FILENO) >= 0;
  if (!connected || ::chdir("/") != 0) ::_exit(kNotStarted);
  ::closefrom(STDERR_FILENO + 1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  limit(RLIMIT_AS, plan.memory_bytes);
  limit(RLIMIT_CPU, plan.processor_seconds);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  refuse_sockets();
  ::execve(plan.program, plan.arguments, plan.environment);
  ::_exit(kNotStarted);
}

class Child {
 public:
  explicit Child(const Plan& plan) : pid_(::fork()) {
    if (pid_ == 0) become(plan);
    if (pid_ < 0) fail(ErrorCode::io, "cannot make a process: {}", std::strerror(errno));
  }
  ~Child() {
    if (pid_ < 0) return;
    kill();
    while (!wait(0)) continue;  // a signal of ours came between
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() const { ::kill(pid_, SIGKILL); }

  // Whether it has ended; `status` is then what waitpid() says.
  bool wait(int options) {
    const pid_t got = ::waitpid(pid_, &status, options);
    if (got == 0 || (got < 0 && errno == EINTR)) return false;
    pid_ = -1;
    return true;
  }
  int status = 0;

 private:
  pid_t pid_;
};

// Appends what there is; false at the end of it.
bool take(int descriptor, std::string& to) {
  std::array<char, 1 << 16> block{};
  const ssize_t got = ::read(descriptor, block.data(), block.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  to.append(block.data(), static_cast<std::size_t>(got));
  return got > 0;
}

// At most, so that a clock is looked at now and then.
int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
}

using End = ChildResult::End;

// Takes all the child writes, until it has closed both ends or must be stopped.
End listen(Pipe& output, Pipe& errors, const ChildLimits& limits, ChildResult& result) {
  std::array<pollfd, 2> files{{{output.read_end.get(), POLLIN, 0}, {errors.read_end.get(), POLLIN, 0}}};
  const std::array<std::string*, 2> texts{&result.output, &result.errors};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (Clock::now() >= limits.deadline) return End::out_of_time;
    if (::poll(files.data(), files.size(), milliseconds_until(limits.deadline)) <= 0) continue;
    for (std::size_t i = 0; i < files.size(); ++i)
      if (files[i].revents != 0 && !take(files[i].fd, *texts[i])) files[i].fd = -1;  // poll() leaves it out
    if (result.output.size() > limits.output_bytes) return End::too_much_output;
    if (result.errors.size() > kErrorBytes) result.errors.resize(kErrorBytes);
  }
  return End::exited;
}

// It may close its output and stay: then it is waited for until the deadline.
End wait_for(Child& child, Clock::time_point deadline) {
  constexpr timespec kPause{0, 2'000'000};
  while (!child.wait(WNOHANG)) {
    if (Clock::now() >= deadline) return End::out_of_time;
    ::nanosleep(&kPause, nullptr);
  }
  return WIFSIGNALED(child.status) ? End::killed_by_signal : End::exited;
}

rlim_t seconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - Clock::now()).count();
  return static_cast<rlim_t>(std::max<std::int64_t>(left, 1));
}

}  // namespace

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    std::string program = fmt::format("{}/{}", folder, name);
    if (folder.starts_with('/') && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

ChildResult run_limited(const std::vector<std::string>& command, std::string_view input,
                        const ChildLimits& limits) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::string locale = "LC_ALL=C";
  const std::array<char*, 2> environment{locale.data(), nullptr};
  const Descriptor file = make_input(input);
  Pipe output = make_pipe(), errors = make_pipe();
  Child child({arguments[0], arguments.data(), environment.data(), file.get(), output.write_end.get(),
               errors.write_end.get(), limits.memory_bytes, seconds_until(limits.deadline)});
  output.write_end.close();
  errors.write_end.close();
  ChildResult result;
  result.end = listen(output, errors, limits, result);
  if (result.end == End::exited) result.end = wait_for(child, limits.deadline);
  if (result.end == End::exited) result.status = WEXITSTATUS(child.status);
  if (result.end == End::killed_by_signal) result.status = WTERMSIG(child.status);
  return result;
}

}  // namespace mplus::documents
