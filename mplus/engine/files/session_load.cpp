// Reading a session from a file nobody vouches for. See session_file.h.
#include <algorithm>
#include <charconv>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/engine/files/metadata_checksum.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/session.h"
#include "mplus/io/text/hash.h"

namespace mplus::engine {
namespace {

using Reader = io::Safetensors;

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // of counts, places and births

std::string name_of(const Reader& file) { return file.path().string(); }

const std::string& field(const Reader& file, const char* name) {
  const auto at = file.metadata().find(name);
  if (at == file.metadata().end())
    fail(ErrorCode::corrupt, "{}: metadata field \"{}\" is missing", name_of(file), name);
  return at->second;
}

template <class T>
T number(const Reader& file, const char* name) {
  const std::string& text = field(file, name);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail(ErrorCode::corrupt, "{}: metadata field \"{}\": expected a number, found \"{}\"", name_of(file),
         name, text);
  return value;
}

std::int64_t count(const Reader& file, const char* name) {
  const auto value = number<std::int64_t>(file, name);
  if (value < 0 || value > kMost)
    fail(ErrorCode::corrupt, "{}: metadata field \"{}\": {} makes no sense", name_of(file), name, value);
  return value;
}

[[noreturn]] void senseless(const Reader& file, const char* tensor, const char* what) {
  fail(ErrorCode::corrupt, "{}: tensor \"{}\": {}", name_of(file), tensor, what);
}

// Version 1 knows plain rows only, and does not say so. A type that nobody knows fits no engine.
void read_formats(const Reader& file, SessionFileInfo& info) {
  const auto unknown = [&](const char* name) {
    fail(ErrorCode::unsupported, "{}: metadata field \"{}\": \"{}\" is not known", name_of(file), name,
         field(file, name));
  };
  const auto type = memory_type_from_name(info.dtype);
  if (!type) unknown("dtype");
  info.type = *type;
  if (info.version == kSessionFormatVersion) {
    if (type->long_term != RowFormat::plain) unknown("dtype");
    info.long_term = {RowFormat::plain};
    return;
  }
  const std::string& runs = field(file, "long_term");
  for (std::size_t begin = 0; begin <= runs.size();) {
    const std::size_t end = std::min(runs.find(',', begin), runs.size());
    const auto format = row_format_from_name(std::string_view(runs).substr(begin, end - begin));
    if (!format) unknown("long_term");
    info.long_term.push_back(*format);
    begin = end + 1;
  }
}

}  // namespace

void verify_tensor(const Reader& file, const io::Tensor& tensor) {
  const auto expected = field(file, ("checksum." + tensor.name).c_str());
  const std::string found = fmt::format("{:016x}", io::xxh3(tensor.bytes));
  if (expected != found)
    fail(ErrorCode::corrupt, "{}: tensor \"{}\": checksum {} expected, {} found: the file is damaged",
         name_of(file), tensor.name, expected, found);
}

std::string metadata_checksum(const io::StringMap& metadata) {
  std::string bytes;
  for (const auto& [key, value] : metadata)
    if (key != kMetadataChecksum) bytes += fmt::format("{} {} {} {} ", key.size(), key, value.size(), value);
  return fmt::format("{:016x}", io::xxh3(std::as_bytes(std::span(bytes))));
}

std::vector<std::int64_t> read_integers(const Reader& file, const std::string& name, std::int64_t width) {
  const io::Tensor& tensor = file.at(name);
  const bool fits =
      tensor.dtype == DType::i64 &&
      (width == 1 ? tensor.shape.size() == 1 : tensor.shape.size() == 2 && tensor.shape[1] == width);
  if (!fits)
    fail(ErrorCode::corrupt, "{}: tensor \"{}\": expected I64 of width {}, found {} {}", name_of(file), name,
         width, dtype_name(tensor.dtype), io::shape_text(tensor.shape));
  verify_tensor(file, tensor);
  std::vector<std::int64_t> values(tensor.bytes.size() / sizeof(std::int64_t));
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::string read_bytes(const Reader& file, const std::string& name) {
  const io::Tensor& tensor = file.at(name);
  if (tensor.dtype != DType::u8 || tensor.shape.size() != 1) senseless(file, name.c_str(), "expected bytes");
  verify_tensor(file, tensor);
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

bool is_state_file(const io::Safetensors& file) {
  const auto at = file.metadata().find("format");
  return at != file.metadata().end() && at->second == kStateFormat;
}

bool is_session_file(const io::Safetensors& file) {
  const auto at = file.metadata().find("format");
  return at != file.metadata().end() && at->second == kSessionFormat;
}

SessionFileInfo session_file_info(const io::Safetensors& file) {
  const bool state = is_state_file(file);
  if (!is_session_file(file) && !state)
    fail(ErrorCode::corrupt, "{}: not a memory file: metadata field \"format\" is not \"{}\"", name_of(file),
         kSessionFormat);
  SessionFileInfo info;
  info.version = static_cast<int>(count(file, "version"));
  if (info.version != kSessionFormatVersion && info.version != kSmallRowsFormatVersion)
    fail(ErrorCode::unsupported, "{}: memory file of version {}; this program reads versions {} and {}",
         name_of(file), info.version, kSessionFormatVersion, kSmallRowsFormatVersion);
  if (const auto expected = file.metadata().find(kMetadataChecksum); expected != file.metadata().end())
    if (const std::string found = metadata_checksum(file.metadata()); found != expected->second)
      fail(ErrorCode::corrupt, "{}: metadata: checksum {} expected, {} found: the file is damaged",
           name_of(file), expected->second, found);
  info.shape_id = field(file, "shape_id");
  info.weights_id = field(file, "weights_id");
  info.numerics_id = field(file, "numerics_id");
  info.dtype = field(file, "dtype");
  read_formats(file, info);
  info.layers = count(file, "layers");
  info.K = count(file, "K");
  info.N = count(file, "N");
  info.updates = count(file, "updates");
  info.turns = count(file, "turns");
  info.seed = number<std::uint64_t>(file, "seed");
  info.sources = state ? count(file, "sources") : file.at("sources").elements() / 3;
  info.window_tokens = file.at("window.tokens").elements() / 5;
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.ends_with(".birth")) continue;
    std::int64_t& most = name.starts_with("short_term.") ? info.short_term_rows : info.long_term_rows;
    most = std::max(most, tensor.elements());
  }
  return info;
}

void verify_session_file(const io::Safetensors& file) {
  session_file_info(file);
  for (const auto& [name, tensor] : file.tensors()) verify_tensor(file, tensor);
}

// Turns tensors into a session, checking everything a hostile file could say.
class SessionFile {
 public:
  SessionFile(Engine& engine, io::Safetensors file)
      : engine_(engine), file_(std::move(file)), info_(session_file_info(file_)) {}

  Session load() {
    if (!is_session_file(file_))
      fail(ErrorCode::unsupported, "{}: a state of a session store, which is no memory by itself",
           name_of(file_));
    check_model();
    Session session(engine_, info_.seed, info_.type.long_term);
    load_short_term(session.memory_);
    session.memory_.load_long_term(long_term_here());
    load_sources(session.record_);
    return finish(std::move(session));
  }

  Session load(StateParts parts) {
    if (!is_state_file(file_)) fail(ErrorCode::corrupt, "{}: not a state file", name_of(file_));
    check_model();
    Session session(engine_, info_.seed, info_.type.long_term);
    load_short_term(session.memory_);
    session.memory_.load_long_term(long_term_of(std::move(parts.segments)));
    if (static_cast<std::int64_t>(parts.sources.size()) != info_.sources)
      senseless(file_, "sources", "another number of sources than the store gave");
    for (auto& source : parts.sources) session.record_.add_source(std::move(source));
    return finish(std::move(session));
  }

 private:
  Session finish(Session session) {
    session.memory_.set_updates(info_.updates);
    load_updates(session.record_);
    load_window(session);
    session.turns_ = info_.turns;
    return session;
  }

  void check_model() {
    const auto compare = [&](const char* what, const std::string& expected, const std::string& found,
                             const char* advice) {
      if (expected != found)
        fail(ErrorCode::model_mismatch, "{}: made for another model: {} {} expected, {} found{}",
             name_of(file_), what, expected, found, advice);
    };
    compare("shape", engine_.shape_id(), info_.shape_id, "");
    compare("weights", engine_.weights_id(), info_.weights_id,
            "; the shapes fit: `mplus session rebuild` writes a session's texts again with these weights");
    if (info_.type.dtype != engine_.layout().dtype)
      fail(ErrorCode::model_mismatch, "{}: memory of type {}; this engine keeps {}", name_of(file_),
           info_.dtype, dtype_name(engine_.layout().dtype));
  }

  std::span<const std::byte> column(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                                    bool check) {
    const DType types[] = {dtype};
    const io::Tensor& tensor = file_.at(name, types, shape);
    if (check) verify_tensor(file_, tensor);
    return tensor.bytes;
  }

  // A column of n keys or values: elements, or the bytes of small rows.
  const std::byte* row_column(const std::string& name, const memory::RowsView& rows, std::int64_t width,
                              std::size_t bytes, bool check) {
    const bool plain = rows.format == RowFormat::plain;
    return column(name, plain ? engine_.layout().dtype : DType::u8,
                  {rows.n, plain ? width : static_cast<std::int64_t>(bytes)}, check)
        .data();
  }

  memory::RowsView rows(const std::string& prefix, std::int64_t most, bool check,
                        RowFormat format = RowFormat::plain) {
    const memory::Layout& layout = engine_.layout();
    const io::Tensor& births = file_.at(prefix + "birth");
    const std::int64_t n = births.elements();
    if (n > most)
      fail(ErrorCode::corrupt, "{}: tensor \"{}\": {} rows, at most {} expected", name_of(file_), births.name,
           n, most);
    memory::RowsView view{.n = n, .format = format};
    view.birth =
        reinterpret_cast<const std::int64_t*>(column(prefix + "birth", DType::i64, {n}, true).data());
    view.k = row_column(prefix + "k", view, layout.kv, layout.kv_bytes(format), check);
    view.v = row_column(prefix + "v", view, layout.kv, layout.kv_bytes(format), check);
    if (layout.retriever > 0)
      view.key = row_column(prefix + "key", view, layout.retriever, layout.key_bytes(format), check);
    if (layout.keep_hidden)
      view.hidden = reinterpret_cast<const float*>(
          column(prefix + "hidden", DType::f32, {n, layout.hidden}, check).data());
    check_births(view, births.name);
    return view;
  }

  bool is_birth(std::int64_t value) const {
    return value >= -kMost && value < info_.updates * engine_.layout().K;
  }

  void check_births(const memory::RowsView& view, const std::string& name) {
    for (std::int64_t r = 0; r < view.n; ++r)
      if (!is_birth(view.birth[r]))
        fail(ErrorCode::corrupt, "{}: tensor \"{}\": row {} was born at {}, after {} updates", name_of(file_),
             name, r, view.birth[r], info_.updates);
  }

  void load_short_term(memory::Memory& memory) {
    const memory::Layout& layout = engine_.layout();
    std::vector<memory::RowsView> slots;
    for (std::int64_t l = 0; l < layout.layers; ++l)
      slots.push_back(
          rows(fmt::format("short_term.{}.", l), layout.remembering.contains(l) ? layout.N : 0, true));
    memory.load_short_term(slots);
    load_tail(memory);
  }

  // The store with its thresholds, which are set before its rows come.
  memory::LongTermStore empty_store(std::int64_t width) {
    const memory::Layout& layout = engine_.layout();
    memory::LongTermStore store(layout);
    const std::vector<std::int64_t> expiry = read_integers(file_, "expiry", width);
    if (static_cast<std::int64_t>(expiry.size()) != layout.layers * width)
      senseless(file_, "expiry", "expected one per layer");
    for (std::int64_t l = 0; l < layout.layers; ++l) {
      const auto at = static_cast<std::size_t>(l * width);
      const memory::Expiry threshold{.birth = expiry[at], .ordinal = width == 2 ? expiry[at + 1] : 0};
      const bool none = threshold.birth == memory::Expiry{}.birth;
      if ((!none && !is_birth(threshold.birth)) || threshold.ordinal < 0 || threshold.ordinal > kMost)
        senseless(file_, "expiry", "no row can be born or stand there");
      store.set_expiry(l, threshold);
    }
    return store;
  }

  memory::LongTermStore long_term_here() {
    const memory::Layout& layout = engine_.layout();
    memory::LongTermStore store = empty_store(1);
    if (!layout.has_long_term()) return store;
    for (std::size_t run = 0; run < info_.long_term.size(); ++run) {
      std::vector<memory::RowsView> views;
      std::vector<std::int64_t> counts;
      for (std::int64_t l = 0; l < layout.layers; ++l) {
        views.push_back(rows(long_term_prefix(l, run),
                             layout.remembering.contains(l) ? std::numeric_limits<std::int32_t>::max() : 0,
                             false, info_.long_term[run]));
        counts.push_back(views.back().n);
      }
      store.adopt(std::make_shared<memory::Segment>(std::move(views), file_.owner()), counts);
    }
    return store;
  }

  memory::LongTermStore long_term_of(std::vector<memory::LongTermStore::Replacement> segments) {
    memory::LongTermStore store = empty_store(2);
    for (auto& segment : segments) {
      for (std::int64_t l = 0; l < engine_.layout().layers; ++l) {
        memory::RowsView view = segment.segment->rows(l);
        view.n = segment.rows[static_cast<std::size_t>(l)];
        if (view.n > 0 && !engine_.layout().remembering.contains(l))
          fail(ErrorCode::corrupt, "{}: segments: {} rows in layer {}, which keeps no memory", name_of(file_),
               view.n, l);
        check_births(view, "segments");
      }
      store.adopt(std::move(segment.segment), segment.rows);
    }
    return store;
  }

  void load_tail(memory::Memory& memory) {
    const memory::Layout& layout = engine_.layout();
    const io::Tensor& tail = file_.at("tail");
    const std::int64_t n = tail.shape.size() == 3 ? tail.shape[1] : -1;
    if (n < 0 || n > layout.K) senseless(file_, "tail", "expected at most K rows a layer");
    const auto bytes = column("tail", DType::f32, {layout.remembering_layers(), n, layout.hidden}, true);
    memory.load_tail(n, {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)});
  }

  void load_sources(Record& record) {
    const std::string names = read_bytes(file_, "source.names");
    const std::string texts = read_bytes(file_, "source.texts");
    const std::vector<std::int64_t> sources = read_integers(file_, "sources", 3);
    std::int64_t name_at = 0, text_at = 0;
    for (std::size_t s = 0; s < sources.size(); s += 3) {
      const std::int64_t name_end = sources[s], text_end = sources[s + 1], speaker = sources[s + 2];
      if (name_end < name_at || name_end > static_cast<std::int64_t>(names.size()) || text_end < text_at ||
          text_end > static_cast<std::int64_t>(texts.size()) || speaker < 0 ||
          speaker > static_cast<std::int64_t>(Speaker::assistant))
        senseless(file_, "sources", "a source lies outside the texts");
      record.add_source(
          {names.substr(static_cast<std::size_t>(name_at), static_cast<std::size_t>(name_end - name_at)),
           static_cast<Speaker>(speaker),
           texts.substr(static_cast<std::size_t>(text_at), static_cast<std::size_t>(text_end - text_at))});
      name_at = name_end;
      text_at = text_end;
    }
  }

  void check_place(const Record& record, std::int64_t source, std::int64_t begin, std::int64_t end,
                   const char* tensor) {
    if (source < 0 || source >= record.sources() || begin < 0 || begin > end ||
        end > static_cast<std::int64_t>(record.source(source).text.size()))
      senseless(file_, tensor, "a place lies outside its source");
  }

  void load_updates(Record& record) {
    const std::vector<std::int64_t> spans = read_integers(file_, "update.spans", 5);
    const std::vector<std::int64_t> ends = read_integers(file_, "update.ends", 1);
    if (static_cast<std::int64_t>(ends.size()) != info_.updates)
      senseless(file_, "update.ends", "expected one per update");
    std::int64_t at = 0;
    for (std::int64_t end : ends) {
      if (end < at || end > static_cast<std::int64_t>(spans.size() / 5))
        senseless(file_, "update.ends", "out of range");
      std::vector<Span> update;
      for (; at < end; ++at) {
        const std::int64_t* v = spans.data() + at * 5;
        check_place(record, v[0], v[1], v[2], "update.spans");
        if (v[3] < 0 || v[3] > v[4] || v[4] > kMost)
          senseless(file_, "update.spans", "tokens that no source has");
        update.push_back({v[0], v[1], v[2], v[3], v[4]});
      }
      record.add_update(std::move(update));
    }
  }

  void load_window(Session& session) {
    const memory::Layout& layout = engine_.layout();
    const std::vector<std::int64_t> tokens = read_integers(file_, "window.tokens", 5);
    for (std::size_t i = 0; i < tokens.size(); i += 5) {
      if (tokens[i] < 0 || tokens[i] >= engine_.weights().config.vocab)
        senseless(file_, "window.tokens", "no such token");
      if (tokens[i + 2] < 0 || tokens[i + 2] > kMost)
        senseless(file_, "window.tokens", "a place that no source has");
      check_place(session.record_, tokens[i + 1], tokens[i + 3], tokens[i + 4], "window.tokens");
      session.window_.push_back(
          {static_cast<io::TokenId>(tokens[i]), tokens[i + 1], tokens[i + 2], tokens[i + 3], tokens[i + 4]});
    }
    const io::Tensor& k = file_.at("window.k");
    const std::int64_t n = k.shape.size() == 3 ? k.shape[1] : -1;
    if (n < 0 || n > session.window_size())
      senseless(file_, "window.k", "expected at most one row per window token");
    const auto k_bytes = column("window.k", layout.dtype, {layout.layers, n, layout.kv}, true);
    const auto v_bytes = column("window.v", layout.dtype, {layout.layers, n, layout.kv}, true);
    const std::size_t size = static_cast<std::size_t>(n) * layout.kv_bytes();
    for (std::int64_t l = 0; l < layout.layers; ++l) {
      const std::size_t at = static_cast<std::size_t>(l) * size;
      session.rows_.load(l, k_bytes.subspan(at, size), v_bytes.subspan(at, size));
    }
    session.rows_.commit(n);
  }

  Engine& engine_;
  io::Safetensors file_;
  SessionFileInfo info_;
};

Session Session::load(Engine& engine, const std::filesystem::path& file) {
  return SessionFile(engine, io::Safetensors::open(file)).load();
}

Session Session::load_state(Engine& engine, const io::Safetensors& file, StateParts parts) {
  return SessionFile(engine, file).load(std::move(parts));
}

}  // namespace mplus::engine
