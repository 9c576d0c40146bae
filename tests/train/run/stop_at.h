// Ctrl-C in a run that goes on in this process.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "mplus/core/files/file.h"
#include "mplus/train/run/run.h"

namespace mplus::train {

// Sets `stop` as soon as the log has this text.
class StopAt {
 public:
  StopAt(RunOptions& options, std::string text)
      : watcher_([this, log = options.out / "log.jsonl", text] {
          while (!over_ &&
                 (!std::filesystem::exists(log) || read_text_file(log).find(text) == std::string::npos))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          stop_ = true;
        }) {
    options.stop = &stop_;
  }
  ~StopAt() {
    over_ = true;
    watcher_.join();
  }
  StopAt(const StopAt&) = delete;
  StopAt& operator=(const StopAt&) = delete;

 private:
  std::atomic<bool> stop_ = false, over_ = false;
  std::thread watcher_;
};

}  // namespace mplus::train
