// Lessons made ahead by other threads, handed out in order.
#pragma once

#include <deque>
#include <future>

#include "mplus/train/lessons/lesson.h"

namespace mplus::train {

class LessonQueue {
 public:
  LessonQueue(const LessonMaker& maker, std::int64_t first, std::int64_t end, std::int64_t ahead)
      : maker_(maker), next_(first), end_(end), ahead_(ahead) {
    start();
  }
  Lesson next() {
    Lesson lesson = waiting_.front().get();
    waiting_.pop_front();
    start();
    return lesson;
  }

 private:
  void start() {
    for (; next_ < end_ && static_cast<std::int64_t>(waiting_.size()) < ahead_; ++next_)
      waiting_.push_back(
          std::async(std::launch::async, [this, step = next_] { return maker_.lesson(step); }));
  }
  const LessonMaker& maker_;
  std::int64_t next_, end_, ahead_;
  std::deque<std::future<Lesson>> waiting_;
};

}  // namespace mplus::train
