// Runs of the real program in one and in several processes (Gloo, on this machine): the same losses; one of
// them gone, and the others stop and can go on.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "mplus/core/files/file.h"
#include "mplus/io/config/memory_config.h"
#include "mplus/io/text/json.h"
#include "tests/train/tiny_files.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A program that runs; killed at the end if it still does.
class Process {
 public:
  Process(std::vector<std::string> arguments, std::vector<std::string> environment, fs::path errors)
      : errors_(std::move(errors)) {
    for (char** e = environ; *e; ++e) environment.emplace_back(*e);
    std::vector<char*> argv, env;
    for (std::string& a : arguments) argv.push_back(a.data());
    for (std::string& e : environment) env.push_back(e.data());
    argv.push_back(nullptr);
    env.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    const int failed = posix_spawn(&id_, argv[0], &files, nullptr, argv.data(), env.data());
    posix_spawn_file_actions_destroy(&files);
    EXPECT_EQ(failed, 0) << argv[0];
  }
  ~Process() {
    if (running_) {
      signal(SIGKILL);
      waitpid(id_, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const { kill(id_, number); }
  // The exit status; as shells have it, 128 and more where a signal ended it; −1 where it has not ended in
  // time.
  int wait(double seconds) {
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    int status = 0;
    while (waitpid(id_, &status, WNOHANG) == 0) {
      if (Clock::now() > end) return -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    running_ = false;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string errors() const { return read_text_file(errors_); }

 private:
  fs::path errors_;
  pid_t id_ = 0;
  bool running_ = true;
};

std::uint16_t free_port() {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(s, reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(s, reinterpret_cast<sockaddr*>(&address), &size);
  close(s);
  return ntohs(address.sin_port);
}

class Trainer {
 public:
  // One process, or so many that share the work.
  Trainer(const fs::path& recipe, const fs::path& out, int processes, std::vector<std::string> more = {}) {
    fs::create_directories(out);
    std::vector<std::string> arguments = {
        MPLUS_TRAIN_PROGRAM,        recipe, "--out", out, "--device", "cpu", "--report-steps", "1", "--cache",
        out.parent_path() / "cache"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string port = fmt::format("MASTER_PORT={}", free_port());
    for (int p = 0; p < processes; ++p) {
      std::vector<std::string> environment;
      if (processes > 1)
        environment = {fmt::format("WORLD_SIZE={}", processes), fmt::format("RANK={}", p),
                       fmt::format("LOCAL_RANK={}", p), "MASTER_ADDR=127.0.0.1", port};
      processes_.push_back(
          std::make_unique<Process>(arguments, environment, out / fmt::format("errors{}", p)));
    }
  }
  Process& operator[](std::size_t p) { return *processes_[p]; }
  void expect_success() {
    for (const auto& process : processes_) EXPECT_EQ(process->wait(kLongest), 0) << process->errors();
  }
  static constexpr double kLongest = 120;  // seconds

 private:
  std::vector<std::unique_ptr<Process>> processes_;
};

std::vector<io::Json> lines(const fs::path& out) {
  std::ifstream file(out / "log.jsonl");
  std::vector<io::Json> all;
  for (std::string line; std::getline(file, line);) all.push_back(io::Json::parse(line));
  return all;
}

// The lines of the log as numbers, without times and speeds.
void expect_same_log(const std::vector<io::Json>& a, const std::vector<io::Json>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].at("step"), b[i].at("step"));
    for (const char* key :
         {"loss", "gradient_norm", "nll", "nll_without_memory", "nll_held_out", "found", "found_first"}) {
      ASSERT_EQ(a[i].contains(key), b[i].contains(key)) << key;
      if (!a[i].contains(key)) continue;
      const io::Json x = a[i][key].flatten(), y = b[i][key].flatten();
      ASSERT_EQ(x.size(), y.size()) << a[i] << b[i];
      for (const auto& [name, value] : x.items()) {
        if (!value.is_number()) continue;  // no answers of any task
        EXPECT_NEAR(value.get<double>(), y.at(name).get<double>(), tolerance * std::abs(value.get<double>()))
            << "step " << a[i].at("step") << ' ' << key << name;
      }
    }
  }
}

// Sums over streams are taken in another order: a rounding of 6e-8 a step, which later steps magnify.
constexpr double kRounding = 1e-5;

TEST(TrainProcesses, TwoHaveTheLossesOfOneWithTheirStreams) {
  const TinyFiles files("processes");
  const fs::path recipe = files.recipe(14);
  Trainer(recipe, files.out("one"), 1).expect_success();
  Trainer(recipe, files.out("two"), 2).expect_success();
  EXPECT_GT(lines(files.out("one")).size(), 14u);
  expect_same_log(lines(files.out("one")), lines(files.out("two")), kRounding);
}

// Waits for the log to reach this step.
void wait_for_step(const fs::path& out, std::int64_t step) {
  for (int i = 0; i < 50 * Trainer::kLongest; ++i) {
    const std::vector<io::Json> all = lines(out);
    if (!all.empty() && all.back().at("step").get<std::int64_t>() >= step) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL() << "step " << step << " was not reached";
}

// The last of the lines of each step.
std::vector<io::Json> without_repeats(const std::vector<io::Json>& all) {
  std::map<std::pair<std::string, std::string>, io::Json> last;
  for (const io::Json& line : all)
    last[{line.at("stage"),
          fmt::format("{:6} {}", line.at("step").get<int>(), line.contains("found_first"))}] = line;
  std::vector<io::Json> out;
  for (const auto& [key, line] : last) out.push_back(line);
  return out;
}

TEST(TrainProcesses, OneKilledTheOtherStopsAndTheCheckpointGoesOn) {
  const TinyFiles files("killed");
  const fs::path recipe = files.recipe(30), out = files.out("two");
  {
    Trainer run(recipe, out, 2, {"--checkpoint-minutes", "0"});
    wait_for_step(out, 8);
    run[1].signal(SIGKILL);
    run[0].signal(SIGPIPE);          // a write to the one that is gone brings it, which depends on the moment
    constexpr double kNoticed = 10;  // seconds; the connection breaks at once
    EXPECT_EQ(run[0].wait(kNoticed), 1);
    EXPECT_NE(run[0].errors().find("process 0 of 2"), std::string::npos) << run[0].errors();
    EXPECT_NE(run[0].errors().find("another process has stopped"), std::string::npos) << run[0].errors();
  }
  Trainer(recipe, out, 1).expect_success();  // in another number of processes
  Trainer(recipe, files.out("straight"), 1).expect_success();
  expect_same_log(without_repeats(lines(files.out("straight"))), without_repeats(lines(out)), kRounding);
}

TEST(TrainProcesses, OneThatHangsIsGivenUp) {
  const TinyFiles files("hanging");
  const fs::path out = files.out("two");
  Trainer run(files.recipe(1000), out, 2, {"--process-timeout", "3"});
  wait_for_step(out, 2);
  run[1].signal(SIGSTOP);
  EXPECT_EQ(run[0].wait(30), 1);
  EXPECT_NE(run[0].errors().find("did not answer within 3 s"), std::string::npos) << run[0].errors();
}

TEST(TrainProcesses, ThoseThatNeverComeAreGivenUp) {
  const TinyFiles files("absent");
  Process alone({MPLUS_TRAIN_PROGRAM, files.recipe(2), "--out", files.out("run"), "--device", "cpu",
                 "--process-timeout", "2"},
                {"WORLD_SIZE=2", "RANK=0", "LOCAL_RANK=0", "MASTER_ADDR=127.0.0.1",
                 fmt::format("MASTER_PORT={}", free_port())},
                files.out("errors"));
  EXPECT_EQ(alone.wait(30), 1);
  EXPECT_NE(alone.errors().find("meeting the others"), std::string::npos) << alone.errors();
}

TEST(TrainProcesses, MoreThanTheStreamsAreRefused) {
  const TinyFiles files("streams");
  Trainer run(files.recipe(2), files.out("three"), 3);  // 5 streams, and 2 in lessons of long windows
  EXPECT_EQ(run[0].wait(Trainer::kLongest), 1);
  EXPECT_NE(run[0].errors().find("streams = 5: expected at least two for each of 3 processes"),
            std::string::npos)
      << run[0].errors();
}

TEST(TrainProcesses, AnotherRecipeIsRefusedUnlessAskedFor) {
  const TinyFiles files("recipe");
  const fs::path out = files.out("run"), changed = files.recipe(3, "least = 0.2");
  Trainer(files.recipe(3), out, 1).expect_success();
  Trainer refused(changed, out, 1);
  EXPECT_EQ(refused[0].wait(Trainer::kLongest), 1);
  EXPECT_NE(refused[0].errors().find("was made with another recipe"), std::string::npos)
      << refused[0].errors();
  Trainer(changed, out, 1, {"--changed-recipe"}).expect_success();
}

TEST(TrainProcesses, QuestionsGoneAstrayWouldMisleadTheRetriever) {
  const TinyFiles files("astray");
  Trainer run(files.recipe(2, "focus = 1\nastray = 0.5"), files.out("run"), 1);
  EXPECT_EQ(run[0].wait(Trainer::kLongest), 1);
  EXPECT_NE(run[0].errors().find("astray"), std::string::npos) << run[0].errors();
  EXPECT_NE(run[0].errors().find("retriever_loss"), std::string::npos) << run[0].errors();
}

TEST(TrainProcesses, ADeltaNamesWhatSaysThatThereIsNoAnswer) {
  const TinyFiles files("no-answer");
  Trainer(files.recipe(2), files.out("run"), 1).expect_success();
  const auto delta = io::Safetensors::open(files.out("run") / "delta.safetensors");
  EXPECT_EQ(io::delta_config(delta).recall.no_answer, "I do not know.");
}

// Weights and moments are rounded: the losses stay near those of a run that never stopped.
TEST(TrainTravels, APackedCheckpointGoesOnElsewhere) {
  const TinyFiles files("travels");
  const fs::path recipe = files.recipe(40), pieces = files.out("pieces");
  {
    Trainer run(recipe, files.out("here"), 1, {"--checkpoint-minutes", "0", "--travel", pieces});
    wait_for_step(files.out("here"), 12);
    run[0].signal(SIGINT);
    EXPECT_EQ(run[0].wait(Trainer::kLongest), 130) << run[0].errors();
  }
  Trainer(recipe, files.out("there"), 2, {"--travel", pieces}).expect_success();
  Trainer(recipe, files.out("straight"), 1).expect_success();
  const std::vector<io::Json> straight = lines(files.out("straight")), there = lines(files.out("there"));
  const std::size_t before = straight.size() - there.size();
  EXPECT_GE(before, 12u);
  expect_same_log({straight.begin() + static_cast<std::ptrdiff_t>(before), straight.begin() + 40},
                  {there.begin(), there.begin() + 40 - static_cast<std::ptrdiff_t>(before)}, 0.01);
}

}  // namespace
}  // namespace mplus::train
