// Writing a session to a file. See session_file.h.
#include <algorithm>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/engine/files/metadata_checksum.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/hash.h"

namespace mplus::engine {
namespace {

// Tensors of the file to be: bytes stay where they are if they lie together, and are gathered if not.
class Tensors {
 public:
  template <class T>
  void add(std::string name, DType dtype, std::vector<std::int64_t> shape, std::vector<T> values) {
    auto held = std::make_shared<std::vector<T>>(std::move(values));
    tensors_.push_back({std::move(name), dtype, std::move(shape), std::as_bytes(std::span(*held))});
    held_.push_back(std::move(held));
  }
  void add(std::string name, DType dtype, std::vector<std::int64_t> shape, std::span<const std::byte> bytes) {
    tensors_.push_back({std::move(name), dtype, std::move(shape), bytes});
  }
  void write(const std::filesystem::path& path, io::StringMap metadata) const {
    for (const io::TensorData& t : tensors_)
      metadata["checksum." + t.name] = fmt::format("{:016x}", io::xxh3(t.bytes));
    metadata[kMetadataChecksum] = metadata_checksum(metadata);
    io::write_safetensors(path, tensors_, metadata);
  }

 private:
  std::vector<io::TensorData> tensors_;
  std::vector<std::shared_ptr<void>> held_;
};

void append_bytes(std::vector<std::byte>& to, const void* from, std::size_t size_bytes) {
  const auto* bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + size_bytes);
}

// Columns of one layer's rows under "<prefix>.<layer>.".
struct Columns {
  RowFormat format = RowFormat::plain;
  std::vector<std::byte> k, v, key;
  std::vector<std::int64_t> birth;
  std::vector<float> hidden;

  void append(const memory::Layout& layout, const memory::RowsView& rows, std::int64_t r) {
    append_bytes(k, rows.k_row(layout, r), layout.kv_bytes(format));
    append_bytes(v, rows.v_row(layout, r), layout.kv_bytes(format));
    if (rows.key) append_bytes(key, rows.key_row(layout, r), layout.key_bytes(format));
    birth.push_back(rows.birth[r]);
    if (rows.hidden) {
      const float* states = rows.hidden_row(layout, r);
      hidden.insert(hidden.end(), states, states + layout.hidden);
    }
  }
  void add_to(Tensors& tensors, const memory::Layout& layout, const std::string& prefix) && {
    const auto n = static_cast<std::int64_t>(birth.size());
    const auto add = [&](const char* name, std::int64_t width, std::size_t bytes,
                         std::vector<std::byte> rows) {
      if (format == RowFormat::plain)
        return tensors.add(prefix + name, layout.dtype, {n, width}, std::move(rows));
      tensors.add(prefix + name, DType::u8, {n, static_cast<std::int64_t>(bytes)}, std::move(rows));
    };
    add("k", layout.kv, layout.kv_bytes(format), std::move(k));
    add("v", layout.kv, layout.kv_bytes(format), std::move(v));
    if (layout.retriever > 0) add("key", layout.retriever, layout.key_bytes(format), std::move(key));
    tensors.add(prefix + "birth", DType::i64, {n}, std::move(birth));
    if (layout.keep_hidden) tensors.add(prefix + "hidden", DType::f32, {n, layout.hidden}, std::move(hidden));
  }
};

// Slots that nothing was dropped from lie together already.
void add_slots(Tensors& tensors, const memory::Layout& layout, const memory::RowsView& rows,
               const std::string& prefix) {
  if (rows.slots) {
    Columns columns;
    for (std::int64_t r = 0; r < rows.n; ++r) columns.append(layout, rows, r);
    return std::move(columns).add_to(tensors, layout, prefix);
  }
  const auto n = static_cast<std::size_t>(rows.n);
  tensors.add(prefix + "k", layout.dtype, {rows.n, layout.kv}, std::span(rows.k, n * layout.kv_bytes()));
  tensors.add(prefix + "v", layout.dtype, {rows.n, layout.kv}, std::span(rows.v, n * layout.kv_bytes()));
  if (layout.retriever > 0)
    tensors.add(prefix + "key", layout.dtype, {rows.n, layout.retriever},
                std::span(rows.key, n * layout.key_bytes()));
  tensors.add(prefix + "birth", DType::i64, {rows.n}, std::as_bytes(std::span(rows.birth, n)));
  if (layout.keep_hidden)
    tensors.add(prefix + "hidden", DType::f32, {rows.n, layout.hidden},
                std::as_bytes(std::span(rows.hidden, n * static_cast<std::size_t>(layout.hidden))));
}

void add_short_term(Tensors& tensors, const memory::Memory& memory) {
  const memory::Layout& layout = memory.layout();
  std::vector<float> tail;
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    add_slots(tensors, layout, memory.short_term(l), fmt::format("short_term.{}.", l));
    if (!layout.remembering.contains(l)) continue;
    const std::span<const float> hidden = memory.tail(l);
    tail.insert(tail.end(), hidden.begin(), hidden.end());
  }
  tensors.add("tail", DType::f32, {layout.remembering_layers(), memory.tail_rows(), layout.hidden},
              std::move(tail));
}

// Neighbouring segments of one format make a run; there is always one.
std::vector<RowFormat> runs_of(const memory::Memory& memory) {
  std::vector<RowFormat> runs;
  for (const memory::SegmentUse& use : memory.long_term().segments())
    if (runs.empty() || runs.back() != use.segment->format()) runs.push_back(use.segment->format());
  if (runs.empty()) runs.push_back(memory.layout().long_term);
  return runs;
}

std::string run_names(const std::vector<RowFormat>& runs) {
  std::string names;
  for (const RowFormat format : runs)
    names += fmt::format("{}{}", names.empty() ? "" : ",", row_format_name(format));
  return names;
}

void add_runs(Tensors& tensors, const memory::Memory& memory, std::int64_t l,
              const std::vector<RowFormat>& runs) {
  const memory::Layout& layout = memory.layout();
  std::vector<Columns> columns(runs.size());
  for (std::size_t run = 0; run < runs.size(); ++run) columns[run].format = runs[run];
  std::vector<std::size_t> run_of;  // by segment
  for (const memory::SegmentUse& use : memory.long_term().segments()) {
    use.segment->touch(l, memory::SegmentPart::retriever_keys);
    const std::size_t run = run_of.empty() ? 0 : run_of.back();
    run_of.push_back(runs[run] == use.segment->format() ? run : run + 1);
  }
  memory.long_term().for_each(l, [&](memory::RowId id, std::int64_t) {
    columns[run_of[id.segment]].append(layout, memory.long_term().rows_of(l, id), id.row);
  });
  for (std::size_t run = 0; run < runs.size(); ++run)
    std::move(columns[run]).add_to(tensors, layout, long_term_prefix(l, run));
}

// Living rows alone, so a threshold needs no place among equal births.
void add_long_term(Tensors& tensors, const memory::Memory& memory, const std::vector<RowFormat>& runs) {
  const memory::Layout& layout = memory.layout();
  std::vector<std::int64_t> expiry;
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    expiry.push_back(memory.long_term().expiry(l).birth);
    if (layout.has_long_term()) add_runs(tensors, memory, l, runs);
  }
  tensors.add("expiry", DType::i64, {layout.layers}, std::move(expiry));
}

// Segments are kept elsewhere, expired rows included: thresholds with their places.
void add_expiry(Tensors& tensors, const memory::Memory& memory) {
  std::vector<std::int64_t> expiry;
  for (std::int64_t l = 0; l < memory.layout().layers; ++l) {
    const memory::Expiry threshold = memory.long_term().loaded_expiry(l);
    expiry.push_back(threshold.birth);
    expiry.push_back(threshold.ordinal);
  }
  tensors.add("expiry", DType::i64, {memory.layout().layers, 2}, std::move(expiry));
}

void add_window(Tensors& tensors, const std::vector<WindowToken>& window, const memory::WindowRows& rows,
                const memory::Layout& layout) {
  std::vector<std::int64_t> tokens;  // [n, 5]
  for (const WindowToken& t : window)
    for (std::int64_t value : {std::int64_t{t.id}, t.source, t.index, t.byte_begin, t.byte_end})
      tokens.push_back(value);
  tensors.add("window.tokens", DType::i64, {static_cast<std::int64_t>(window.size()), 5}, std::move(tokens));
  std::vector<std::byte> k, v;
  const std::size_t size = static_cast<std::size_t>(rows.size()) * rows.row_size_bytes();
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    append_bytes(k, rows.k(l), size);
    append_bytes(v, rows.v(l), size);
  }
  tensors.add("window.k", layout.dtype, {layout.layers, rows.size(), layout.kv}, std::move(k));
  tensors.add("window.v", layout.dtype, {layout.layers, rows.size(), layout.kv}, std::move(v));
}

void add_sources(Tensors& tensors, const Record& record) {
  std::vector<std::byte> names, texts;
  std::vector<std::int64_t> sources;  // [S, 3]: end of name, end of text, speaker
  for (std::int64_t s = 0; s < record.sources(); ++s) {
    const Source& source = record.source(s);
    append_bytes(names, source.name.data(), source.name.size());
    append_bytes(texts, source.text.data(), source.text.size());
    sources.push_back(static_cast<std::int64_t>(names.size()));
    sources.push_back(static_cast<std::int64_t>(texts.size()));
    sources.push_back(static_cast<std::int64_t>(source.speaker));
  }
  // Sizes first: in a call the vector may be moved from before its size is asked for.
  const auto name_bytes = static_cast<std::int64_t>(names.size());
  const auto text_bytes = static_cast<std::int64_t>(texts.size());
  tensors.add("source.names", DType::u8, {name_bytes}, std::move(names));
  tensors.add("source.texts", DType::u8, {text_bytes}, std::move(texts));
  tensors.add("sources", DType::i64, {record.sources(), 3}, std::move(sources));
}

void add_updates(Tensors& tensors, const Record& record) {
  std::vector<std::int64_t> spans, ends;  // [n, 5] and, per update, where its spans end
  for (std::int64_t u = 0; u < record.updates(); ++u) {
    for (const Span& s : record.spans(u))
      for (std::int64_t value : {s.source, s.byte_begin, s.byte_end, s.token_begin, s.token_end})
        spans.push_back(value);
    ends.push_back(static_cast<std::int64_t>(spans.size() / 5));
  }
  const auto span_count = static_cast<std::int64_t>(spans.size() / 5);
  tensors.add("update.spans", DType::i64, {span_count, 5}, std::move(spans));
  tensors.add("update.ends", DType::i64, {record.updates()}, std::move(ends));
}

void write_file(const Session& session, const std::filesystem::path& path, bool whole,
                const FileExtras& extras) {
  if (session.is_memoryless())
    fail(ErrorCode::invalid_argument, "save: this session was made without a memory");
  const memory::Memory& memory = session.memory();
  const memory::Layout& layout = memory.layout();
  Tensors tensors;
  const std::vector<RowFormat> runs = whole ? runs_of(memory) : std::vector{layout.long_term};
  const bool small =
      std::any_of(runs.begin(), runs.end(), [](RowFormat f) { return f != RowFormat::plain; }) ||
      layout.long_term != RowFormat::plain;
  add_short_term(tensors, memory);
  add_window(tensors, session.window(), session.window_rows(), layout);
  add_updates(tensors, session.record());
  if (whole) {
    add_long_term(tensors, memory, runs);
    add_sources(tensors, session.record());
  } else {
    add_expiry(tensors, memory);
  }
  for (const auto& [name, values] : extras.integers)
    tensors.add(name, DType::i64, {static_cast<std::int64_t>(values.size())},
                std::as_bytes(std::span(values)));
  for (const auto& [name, bytes] : extras.bytes)
    tensors.add(name, DType::u8, {static_cast<std::int64_t>(bytes.size())}, std::as_bytes(std::span(bytes)));
  io::StringMap metadata{{"format", whole ? kSessionFormat : kStateFormat},
                         {"version", std::to_string(small ? kSmallRowsFormatVersion : kSessionFormatVersion)},
                         {"shape_id", session.engine().shape_id()},
                         {"weights_id", session.engine().weights_id()},
                         {"numerics_id", session.numerics_id()},
                         {"dtype", memory_type_name(layout.type())},
                         {"hidden_states", layout.keep_hidden ? "kept" : "dropped"},
                         {"layers", std::to_string(layout.layers)},
                         {"K", std::to_string(layout.K)},
                         {"N", std::to_string(layout.N)},
                         {"M", layout.M == memory::kUnlimited ? "unlimited" : std::to_string(layout.M)},
                         {"seed", std::to_string(session.seed())},
                         {"updates", std::to_string(memory.updates())},
                         {"turns", std::to_string(session.turns())}};
  if (small) metadata["long_term"] = run_names(runs);
  metadata.insert(extras.metadata.begin(), extras.metadata.end());
  tensors.write(path, std::move(metadata));
}

}  // namespace

std::string long_term_prefix(std::int64_t layer, std::size_t run) {
  return run == 0 ? fmt::format("long_term.{}.", layer) : fmt::format("long_term.{}.{}.", layer, run);
}

void save_session_file(const Session& session, const std::filesystem::path& path, const FileExtras& extras) {
  write_file(session, path, true, extras);
}

void save_state_file(const Session& session, const std::filesystem::path& path, const FileExtras& extras) {
  write_file(session, path, false, extras);
}

}  // namespace mplus::engine
