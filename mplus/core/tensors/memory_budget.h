// How much of a memory this process may take, and how much it has taken. Safe from many threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mplus {

// "22GB", "1.5 GiB", "500M", "4096": units of 1000, with i of 1024. None: that is no size.
std::optional<std::size_t> bytes_from_text(std::string_view text);
std::string bytes_as_text(std::size_t size_bytes);  // "21.9 GB"; rounded up

class MemoryBudget {
 public:
  // `what` is counted, and how a user sets the limit; both for messages.
  MemoryBudget(std::string_view what, std::string_view option) : what_(what), option_(option) {}

  void limit(std::size_t most_bytes) { most_ = most_bytes; }  // 0: none
  std::size_t limit() const { return most_; }
  std::size_t used() const { return used_; }
  std::size_t left() const;  // very much without a limit

  // So much in all is for what work cannot do without. What only makes it faster is taken and given back as
  // spare, too, and there is as much of it as the rest allows.
  void keep(std::size_t size_bytes) { kept_ = size_bytes; }
  std::size_t spare() const;  // very much without a limit
  std::size_t spare_used() const { return spare_used_; }
  void take_spare(std::size_t size_bytes) { spare_used_ += size_bytes; }
  void give_back_spare(std::size_t size_bytes) { spare_used_ -= size_bytes; }

  // Throws out_of_capacity, with what would be enough, where so much more is over the limit. Nothing is
  // taken: who changes several things asks for all of them first.
  void require(std::size_t more_bytes) const;
  void take(std::size_t size_bytes) { used_ += size_bytes; }
  void give_back(std::size_t size_bytes) { used_ -= size_bytes; }

 private:
  std::string_view what_, option_;
  std::atomic<std::size_t> most_{0}, used_{0}, kept_{0}, spare_used_{0};
};

MemoryBudget& device_budget();  // of devices other than the processor
MemoryBudget& host_budget();    // of memories' rows on the host, those in files aside

}  // namespace mplus
