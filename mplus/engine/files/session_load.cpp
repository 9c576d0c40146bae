// Reading a session from a file nobody vouches for. See session_file.h.
#include <algorithm>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"

namespace mplus::engine {
namespace {

// Turns tensors into a session, checking everything a hostile file could say.
class SessionLoader {
 public:
  SessionLoader(Engine& engine, io::Safetensors file)
      : engine_(engine), file_(std::move(file)), info_(session_file_info(file_)) {}

  Session load() {
    if (!is_session_file(file_))
      fail(ErrorCode::unsupported, "{}: a state of a session store, which is no memory by itself",
           file_name());
    check_model();
    SessionState state(engine_, info_.seed, info_.type.long_term);
    load_short_term(state.memory);
    state.memory.load_long_term(long_term_here());
    load_sources(state.record);
    return finish(std::move(state));
  }

  Session load(StateParts parts) {
    if (!is_state_file(file_)) fail(ErrorCode::corrupt, "{}: not a state file", file_name());
    check_model();
    SessionState state(engine_, info_.seed, info_.type.long_term);
    load_short_term(state.memory);
    state.memory.load_long_term(long_term_of(std::move(parts.segments)));
    if (static_cast<std::int64_t>(parts.sources.size()) != info_.sources)
      senseless("sources", "another number of sources than the store gave");
    for (auto& source : parts.sources) state.record.add_source(std::move(source));
    return finish(std::move(state));
  }

 private:
  static constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // of places and births

  std::string file_name() const { return file_.path().string(); }
  [[noreturn]] void senseless(const char* tensor, const char* what) const {
    fail(ErrorCode::corrupt, "{}: tensor \"{}\": {}", file_name(), tensor, what);
  }

  Session finish(SessionState state) {
    state.memory.set_updates(info_.updates);
    load_updates(state.record);
    load_window(state);
    state.turns = info_.turns;
    return {engine_, std::move(state)};
  }

  void check_model() {
    const auto compare = [&](const char* what, const std::string& expected, const std::string& found,
                             const char* advice) {
      if (expected != found)
        fail(ErrorCode::model_mismatch, "{}: made for another model: {} {} expected, {} found{}", file_name(),
             what, expected, found, advice);
    };
    compare("shape", engine_.shape_id(), info_.shape_id, "");
    compare("weights", engine_.weights_id(), info_.weights_id,
            "; the shapes fit: `mplus session rebuild` writes a session's texts again with these weights");
    if (info_.type.dtype != engine_.layout().dtype)
      fail(ErrorCode::model_mismatch, "{}: memory of type {}; this engine keeps {}", file_name(), info_.dtype,
           dtype_name(engine_.layout().dtype));
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
      fail(ErrorCode::corrupt, "{}: tensor \"{}\": {} rows, at most {} expected", file_name(), births.name, n,
           most);
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
        fail(ErrorCode::corrupt, "{}: tensor \"{}\": row {} was born at {}, after {} updates", file_name(),
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
      senseless("expiry", "expected one per layer");
    for (std::int64_t l = 0; l < layout.layers; ++l) {
      const auto at = static_cast<std::size_t>(l * width);
      const memory::Expiry threshold{.birth = expiry[at], .ordinal = width == 2 ? expiry[at + 1] : 0};
      const bool none = threshold.birth == memory::Expiry{}.birth;
      if ((!none && !is_birth(threshold.birth)) || threshold.ordinal < 0 || threshold.ordinal > kMost)
        senseless("expiry", "no row can be born or stand there");
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
          fail(ErrorCode::corrupt, "{}: segments: {} rows in layer {}, which keeps no memory", file_name(),
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
    if (n < 0 || n > layout.K) senseless("tail", "expected at most K rows a layer");
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
        senseless("sources", "a source lies outside the texts");
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
      senseless(tensor, "a place lies outside its source");
  }

  void load_updates(Record& record) {
    const std::vector<std::int64_t> spans = read_integers(file_, "update.spans", 5);
    const std::vector<std::int64_t> ends = read_integers(file_, "update.ends", 1);
    if (static_cast<std::int64_t>(ends.size()) != info_.updates)
      senseless("update.ends", "expected one per update");
    std::int64_t at = 0;
    for (std::int64_t end : ends) {
      if (end < at || end > static_cast<std::int64_t>(spans.size() / 5))
        senseless("update.ends", "out of range");
      std::vector<Span> update;
      for (; at < end; ++at) {
        const std::int64_t* v = spans.data() + at * 5;
        check_place(record, v[0], v[1], v[2], "update.spans");
        if (v[3] < 0 || v[3] > v[4] || v[4] > kMost) senseless("update.spans", "tokens that no source has");
        update.push_back({v[0], v[1], v[2], v[3], v[4]});
      }
      record.add_update(std::move(update));
    }
  }

  void load_window(SessionState& state) {
    const memory::Layout& layout = engine_.layout();
    const std::vector<std::int64_t> tokens = read_integers(file_, "window.tokens", 5);
    for (std::size_t i = 0; i < tokens.size(); i += 5) {
      if (tokens[i] < 0 || tokens[i] >= engine_.weights().config.vocab)
        senseless("window.tokens", "no such token");
      if (tokens[i + 2] < 0 || tokens[i + 2] > kMost)
        senseless("window.tokens", "a place that no source has");
      check_place(state.record, tokens[i + 1], tokens[i + 3], tokens[i + 4], "window.tokens");
      state.window.push_back(
          {static_cast<io::TokenId>(tokens[i]), tokens[i + 1], tokens[i + 2], tokens[i + 3], tokens[i + 4]});
    }
    const io::Tensor& k = file_.at("window.k");
    const std::int64_t n = k.shape.size() == 3 ? k.shape[1] : -1;
    if (n < 0 || n > std::ssize(state.window))
      senseless("window.k", "expected at most one row per window token");
    const auto k_bytes = column("window.k", layout.dtype, {layout.layers, n, layout.kv}, true);
    const auto v_bytes = column("window.v", layout.dtype, {layout.layers, n, layout.kv}, true);
    const std::size_t size = static_cast<std::size_t>(n) * layout.kv_bytes();
    for (std::int64_t l = 0; l < layout.layers; ++l) {
      const std::size_t at = static_cast<std::size_t>(l) * size;
      state.rows.load(l, k_bytes.subspan(at, size), v_bytes.subspan(at, size));
    }
    state.rows.commit(n);
  }

  Engine& engine_;
  io::Safetensors file_;
  SessionFileInfo info_;
};

}  // namespace

Session load_session_file(Engine& engine, const std::filesystem::path& path) {
  return SessionLoader(engine, io::Safetensors::open(path)).load();
}

Session load_state_file(Engine& engine, const io::Safetensors& file, StateParts parts) {
  return SessionLoader(engine, file).load(std::move(parts));
}

}  // namespace mplus::engine
