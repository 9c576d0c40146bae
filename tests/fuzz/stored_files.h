// A state and a segment loaded as a session store loads them, from files the store does not know.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/hash.h"
#include "mplus/store/segments/segment_file.h"
#include "tests/fuzz/memory_files.h"

namespace mplus::store::test {

inline std::filesystem::path seed_folder() { return "tests/fuzz/corpus"; }

// What the database would say of a segment.
inline SegmentFile expected_of(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  std::uint64_t length = 0;
  if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
  const std::size_t header = std::min(bytes.size(), sizeof length + static_cast<std::size_t>(length));
  return {path.filename().string(), static_cast<std::int64_t>(bytes.size()),
          fmt::format("{:016x}", io::xxh3(bytes.first(header)))};
}

inline engine::Session load_state(const std::filesystem::path& state, const std::filesystem::path& segment) {
  engine::Engine& engine = engine::test::tiny_engine();
  const io::Safetensors file = io::Safetensors::open(state);
  engine::StateParts parts;
  parts.segments.push_back(open_segment(segment, engine.layout(), expected_of(segment)));
  for (const std::int64_t id : engine::read_integers(file, "source_ids"))
    parts.sources.push_back(std::make_shared<const engine::Source>(
        engine::Source{fmt::format("source {}", id), engine::Speaker::document, std::string(64, 'x')}));
  return engine::load_state_file(engine, file, std::move(parts));
}

}  // namespace mplus::store::test
