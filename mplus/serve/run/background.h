// A few threads for work that is neither the connections' nor the engine's: documents of other kinds become
// text here.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mplus::serve {

class Background {
 public:
  explicit Background(std::size_t threads = 2, std::size_t most_waiting = 32);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();  // what has not begun is dropped

  // False: too much waits already. It must not throw.
  bool submit(std::function<void()> work);

 private:
  void run();

  std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mplus::serve
