#include "mplus/cli/eval/circumstances.h"

#include <unistd.h>

#include <cmath>
#include <ctime>
#include <fstream>

#include "mplus/cli/commit.h"
#include "mplus/engine/locate.h"
#include "mplus/kernels/queue.h"

namespace mplus::cli {
namespace {

std::string& command_line() {
  static std::string line;
  return line;
}

std::string shell_word(const std::string& word) {
  const bool plain =
      !word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+@%") ==
          std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return std::string(kernels::isa_name());  // aarch64 names no model there
}

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

void keep_command_line(int argc, char** argv) {
  std::string& line = command_line();
  line = "mplus";
  for (int i = 1; i < argc; ++i) line.append(" ").append(shell_word(argv[i]));
}

Json circumstances(const ModelOptions& model, const Device& device, int threads) {
  const model::ModelFiles files = engine::locate_model(model.model, model.delta);
  const double bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  Json json{{"command", command_line()}, {"written", now()}};
  json["program"] = {{"version", MPLUS_VERSION}, {"commit", MPLUS_COMMIT}};
  json["machine"] = {{"cpu", cpu_name()},
                     {"instruction_set", kernels::isa_name()},
                     {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
                     {"threads", threads},
                     {"device", device_name(device)},
                     {"memory_gb", std::lround(bytes / 1e9)}};
  json["model"] = {{"model", files.model.filename().string()},
                   {"delta", files.delta ? files.delta->filename().string() : "none"}};
  return json;
}

}  // namespace mplus::cli
