#include "mplus/eval/data/chunks.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::eval {
namespace {

constexpr std::size_t kBytesPerToken = 8;  // enough for ordinary text; more is looked at where it is not

bool starts_character(std::string_view text, std::size_t at) {
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}

std::size_t word_start(std::string_view text, std::size_t at) {  // at or after `at`
  if (at == 0) return 0;
  const std::size_t space = text.find_first_of(" \n", at - 1);
  return space == std::string_view::npos ? text.size() : space + 1;
}

}  // namespace

Chunker::Beginning Chunker::first(std::string_view text) const {
  const auto C = static_cast<std::size_t>(C_);
  io::Tokenizer::Offsets offsets;
  for (std::size_t look = C * kBytesPerToken;; look *= 2) {
    std::size_t bytes = std::min(look, text.size());
    while (!starts_character(text, bytes)) --bytes;
    offsets = tokenizer_.encode_with_offsets(text.substr(0, bytes));
    if (offsets.ids.size() > C || bytes == text.size()) break;
  }
  for (std::size_t n = std::min(C, offsets.ids.size()); n > 0; --n) {
    const std::size_t end = offsets.ends[n - 1];
    if (!starts_character(text, end)) continue;
    const auto tokens = static_cast<std::size_t>(count(text.substr(0, end)));
    if (tokens <= C) return {end, static_cast<std::int64_t>(tokens)};
  }
  return {};
}

std::string_view Chunker::last(std::string_view text, std::int64_t n) const {
  if (n <= 0 || text.empty()) return {};
  const auto wanted = static_cast<std::size_t>(n);
  std::size_t from = text.size() > wanted * kBytesPerToken ? text.size() - wanted * kBytesPerToken : 0;
  while (!starts_character(text, from)) ++from;
  const std::string_view tail = text.substr(from);
  const auto offsets = tokenizer_.encode_with_offsets(tail);
  if (offsets.ids.size() <= wanted && from == 0) return tail;
  const std::size_t skip = offsets.ids.size() > wanted ? offsets.ends[offsets.ids.size() - wanted - 1] : 0;
  return tail.substr(word_start(tail, std::max<std::size_t>(skip, 1)));
}

std::int64_t Chunker::count(std::string_view text) const {
  return static_cast<std::int64_t>(tokenizer_.encode(text).size());
}

std::string_view chunk_form_name(ChunkForm form) { return form == ChunkForm::filled ? "filled" : "paper"; }

PassageChunk fill_chunk(const Chunker& chunker, std::string_view before, std::string_view passage,
                        std::string_view after, std::string_view answer) {
  const std::int64_t own = chunker.count(passage);
  if (own >= chunker.size()) {  // a window of it with the answer in the middle
    const std::size_t at = answer.empty() ? std::string_view::npos : passage.find(answer);
    const std::size_t half =
        passage.size() * static_cast<std::size_t>(chunker.size()) / static_cast<std::size_t>(own) / 2;
    std::size_t begin = at == std::string_view::npos || at < half ? 0 : at - half;
    begin = std::min(word_start(passage, begin), at == std::string_view::npos ? 0 : at);
    const std::size_t bytes = chunker.first(passage.substr(begin)).bytes;
    return {std::string(passage.substr(begin, bytes)), 0, bytes};
  }
  std::int64_t room = (chunker.size() - own) / 2 - 1;  // a line break on each side
  for (;; room -= 2) {
    PassageChunk chunk;
    const std::string_view front = chunker.last(before, room);
    if (!front.empty()) chunk.text.append(front).append("\n");
    chunk.begin = chunk.text.size();
    chunk.end = chunk.begin + passage.size();
    chunk.text.append(passage);
    if (!after.empty()) chunk.text.append("\n").append(after);
    chunk.text.resize(chunker.first(chunk.text).bytes);
    if (chunk.text.size() >= chunk.end || room <= 0) {
      chunk.end = std::min(chunk.end, chunk.text.size());
      return chunk;
    }
  }
}

PassageChunk paper_chunk(const Chunker& chunker, std::string_view passage) {
  constexpr std::string_view kBefore = "Context: ";
  std::string text(kBefore);
  text.append(passage);
  text.resize(chunker.first(text).bytes);
  const std::size_t end = text.size();
  return {std::move(text), std::min(kBefore.size(), end), end};
}

}  // namespace mplus::eval
