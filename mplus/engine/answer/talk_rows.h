// What the base model read for its last answer in a conversation, so that its next one reads only what is
// new. Nothing depends on whether these rows are there: a row's bits follow from the tokens up to it alone
// (docs/talk.md#what-is-kept). Never saved; forks share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/memory/window.h"

namespace mplus::engine {

class TalkRows {
 public:
  // Of the tokens in front of an answer; `start` of them were the template's, read by themselves. Null: there
  // is no room.
  static std::shared_ptr<const TalkRows> kept(std::vector<io::TokenId> ids, std::int64_t start,
                                              const memory::WindowRows& rows);
  TalkRows(const TalkRows&) = delete;
  TalkRows& operator=(const TalkRows&) = delete;
  ~TalkRows();

  std::int64_t size() const { return rows_.size(); }
  // How many rows of another conversation these are.
  std::int64_t common(std::span<const io::TokenId> ids, std::int64_t start) const;
  memory::WindowRows first(std::int64_t count) const;

 private:
  TalkRows(std::vector<io::TokenId> ids, std::int64_t start, const memory::WindowRows& rows,
           std::size_t size_bytes);

  std::vector<io::TokenId> ids_;
  std::int64_t start_;
  memory::WindowRows rows_;
  std::size_t size_bytes_;
};

}  // namespace mplus::engine
