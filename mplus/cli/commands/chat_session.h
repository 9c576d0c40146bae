// A conversation: one memory, and the lines a person types. Turns and the
// commands that begin with a slash end up here; reading lines is the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mplus/cli/interrupt.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"

namespace mplus::cli {

struct ChatOptions {
  ModelOptions model;
  MemoryOptions memory;
  AnswerOptions answer;
  std::uint64_t seed = 0;
  std::string system;
  std::int64_t reread = 0;
  bool json = false;
};

class ChatSession {
 public:
  explicit ChatSession(ChatOptions options);

  // A message, or a command. False: the conversation is over. Throws Error; the conversation can go on then.
  bool handle(const std::string& line, Interrupt& interrupt);

 private:
  void print(std::string_view text) const;  // what a command says
  void say(const std::string& message, Interrupt& interrupt);
  bool command(std::string_view name, const std::string& argument, Interrupt& interrupt);
  void remember(const std::string& place, Interrupt& interrupt);
  void show_why(const std::string& argument) const;
  void show_sources() const;
  void show_stats() const;
  void fork(const std::string& name);
  void forget(const std::string& argument);
  void undo(const std::string& argument);
  void save_copy(const std::string& file);
  store::StoredSession& stored(
      std::string_view command) const;  // throws where there is no session of the store

  ChatOptions options_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<OpenMemory> memory_;
  std::optional<engine::Answer> last_;
};

}  // namespace mplus::cli
