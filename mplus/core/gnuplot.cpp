#include "mplus/core/gnuplot.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

extern char** environ;

namespace mplus {
namespace {

constexpr GnuplotLook kLooks[] = {
    {"#000000", 1, 7}, {"#b2182b", 2, 5}, {"#2166ac", 3, 9}, {"#1b7837", 4, 13}, {"#762a83", 5, 11},
    {"#bf812d", 2, 4}, {"#35978f", 3, 6}, {"#c51b7d", 4, 8}, {"#4d4d4d", 5, 10}, {"#542788", 1, 12},
    {"#006837", 2, 1}, {"#8c510a", 3, 2}, {"#053061", 4, 3}, {"#67001f", 5, 14}, {"#40004b", 1, 15}};

// A file without a name; a pipe would end this program when nobody reads it.
using Unnamed = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
Unnamed unnamed_file() { return {std::tmpfile(), &std::fclose}; }

std::string first_line(std::FILE* file) {
  std::rewind(file);
  char text[200] = "";
  while (std::fgets(text, sizeof text, file))  // gnuplot begins with an empty line
    if (text[0] != '\n') break;
  text[std::strcspn(text, "\n")] = '\0';
  return text;
}

// The exit status, or −1 where it had to be ended.
int wait_for(pid_t process, double most_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(most_seconds);
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() > end) {
      ::kill(process, SIGKILL);
      ::waitpid(process, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::string gnuplot_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out += '\'';
}

const GnuplotLook& gnuplot_look(std::size_t number) { return kLooks[number % std::size(kLooks)]; }

std::string run_gnuplot(std::string_view script, double most_seconds) {
  const Unnamed input = unnamed_file(), errors = unnamed_file();
  if (!input || !errors || std::fwrite(script.data(), 1, script.size(), input.get()) != script.size())
    return "no room for gnuplot's script in the folder of temporary files";
  std::rewind(input.get());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ::fileno(input.get()), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ::fileno(errors.get()), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // its own: Ctrl-C does not reach it
  posix_spawnattr_setpgroup(&attributes, 0);
  char name[] = "gnuplot";
  char* const arguments[] = {name, nullptr};
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, name, &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return fmt::format("gnuplot cannot be started: {}", std::strerror(error));
  const int status = wait_for(process, most_seconds);
  if (status == 0) return "";
  const std::string said = first_line(errors.get());
  return status < 0 ? fmt::format("gnuplot was ended after {:.0f} s or died", most_seconds)
                    : fmt::format("gnuplot failed: {}", said);
}

}  // namespace mplus
