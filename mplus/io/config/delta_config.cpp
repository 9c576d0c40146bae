// The metadata of an M+ delta: sizes, prompt form and recall, as strings.
#include <charconv>
#include <cmath>
#include <set>

#include "mplus/core/error.h"
#include "mplus/io/config/config_limits.h"
#include "mplus/io/config/memory_config.h"
#include "mplus/io/text/names.h"

namespace mplus::io {
namespace {

constexpr std::string_view kFormatVersion = "1";  // absent means 1
constexpr const char *kRecallOver = "recall_over", *kReadOver = "read_over", *kNoAnswer = "no_answer";
constexpr const char *kLongTerm = "long-term", *kEverything = "everything";
constexpr const char* kMemoryLayers = "memory_layers";  // absent: all
constexpr std::string_view kLayerPrefix = "model.layers.";

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const std::string_view codes = "ntr\\", values = "\n\t\r\\";
    const auto at = next == '\0' ? codes.npos : codes.find(next);
    out += at == codes.npos ? text[i] : values[at];
    if (at != codes.npos) ++i;
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const std::string_view codes = "ntr\\", values = "\n\t\r\\";
    const auto at = values.find(c);
    if (at != values.npos) out += '\\';
    out += at == values.npos ? c : codes[at];
  }
  return out;
}

// Reads values by key; remembers the file for messages.
class Fields {
 public:
  explicit Fields(const Safetensors& file) : values_(file.metadata()), file_(file.path().string()) {}

  std::optional<std::string> text(std::string_view key) const {
    const auto at = values_.find(key);
    if (at == values_.end()) return std::nullopt;
    return unescaped(at->second);
  }
  template <class T>
  std::optional<T> number(std::string_view key, T least, T most) const {
    const auto value = text(key);
    if (!value) return std::nullopt;
    T n{};
    const char* end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, n);
    if (error != std::errc{} || stop != end || !(n >= least && n <= most))
      fail(ErrorCode::corrupt, "{}: metadata '{}': expected a number from {} to {}, found {}", file_, key,
           least, most, shown(*value));
    return n;
  }
  std::int64_t size(std::string_view key, std::int64_t least) const {
    return number<std::int64_t>(key, least, kMostMemoryTokens).value_or(0);
  }
  std::int64_t required(std::string_view key) const {
    if (!values_.contains(key))
      fail(ErrorCode::corrupt, "{}: metadata '{}': expected a number, found nothing: not an M+ delta?", file_,
           key);
    return size(key, 1);
  }
  bool flag(std::string_view key) const {
    const std::string value = text(key).value_or("false");
    if (value != "true" && value != "false")
      fail(ErrorCode::corrupt, "{}: metadata '{}': expected true or false, found {}", file_, key,
           shown(value));
    return value == "true";
  }
  const std::string& file() const { return file_; }

 private:
  const StringMap& values_;
  std::string file_;
};

// The layer number of "model.layers.7.…", or nothing.
std::optional<std::int64_t> layer_of(std::string_view name) {
  if (!name.starts_with(kLayerPrefix)) return std::nullopt;
  name.remove_prefix(kLayerPrefix.size());
  std::int64_t layer = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc{} || stop == name.data() + name.size() || *stop != '.') return std::nullopt;
  return layer;
}

// What only the tensors' names tell.
void read_parts(const Safetensors& delta, MemoryConfig& m) {
  std::set<std::int64_t> layers, retrieving;
  bool two_deep = false;
  for (const auto& [name, tensor] : delta.tensors()) {
    const auto layer = layer_of(name);
    if (!layer) continue;
    layers.insert(*layer);
    m.has_read_lora |= name.ends_with(".lora_A.decoder_adapter.weight");
    m.has_encoder_query |= name.find(".encoder_query_proj.") != name.npos;
    if (name.find(".self_attn.key_proj.") != name.npos) retrieving.insert(*layer);
    two_deep |= name.ends_with(".key_proj.2.weight");
    const bool last = name.ends_with(".key_proj.2.weight") || name.ends_with(".key_proj.weight");
    if (last && m.d_r == 0 && !tensor.shape.empty()) m.d_r = tensor.shape[0];
    if (name.ends_with(".lora_A.default.weight") && m.lora.rank == 0 && !tensor.shape.empty())
      m.lora.rank = tensor.shape[0];
  }
  m.has_retriever = !retrieving.empty();
  m.selector_depth = two_deep || !m.has_retriever ? 2 : 1;
  if (retrieving != layers) m.selector_layers.assign(retrieving.begin(), retrieving.end());
  for (const std::int64_t layer : retrieving)
    if (!m.layers.contains(layer))
      fail(ErrorCode::corrupt, "{}: a retriever in layer {}, which keeps no memory by metadata '{}'",
           delta.path().string(), layer, kMemoryLayers);
}

LayerSet read_layers(const Fields& fields) {
  const auto text = fields.text(kMemoryLayers);
  if (!text) return {};
  const auto layers = LayerSet::parse(*text);
  if (!layers)
    fail(ErrorCode::corrupt, "{}: metadata '{}': expected layers such as 0-3,7, found {}", fields.file(),
         kMemoryLayers, shown(*text));
  return *layers;
}

// One of two words; the first is the default.
bool is_second(const Fields& fields, std::string_view key, std::string_view first, std::string_view second) {
  const std::string word = fields.text(key).value_or(std::string(first));
  if (word != first && word != second)
    fail(ErrorCode::unsupported, "{}: metadata '{}': expected {} or {}, found {}", fields.file(), key, first,
         second, shown(word));
  return word == second;
}

// One of several names.
template <class T>
T named(const Fields& fields, const char* key, std::optional<T> (*from_name)(std::string_view), T silent,
        std::string_view known) {
  const auto name = fields.text(key);
  if (!name || name->empty()) return silent;
  const std::optional<T> value = from_name(*name);
  if (!value)
    fail(ErrorCode::unsupported, "{}: metadata '{}': expected {}, found {}", fields.file(), key, known,
         shown(*name));
  return *value;
}

RecallPolicy read_recall(const Fields& fields) {
  RecallPolicy p;
  p.rule = named(fields, "recall", recall_rule_from_name, p.rule, "one of " + recall_rule_names());
  p.vote_top = fields.size("vote_top", 0);
  p.over_everything = is_second(fields, kRecallOver, kLongTerm, kEverything);
  p.margin = fields.number<double>("recall_margin", 0.0, 1e9).value_or(p.margin);
  p.no_answer = fields.text(kNoAnswer).value_or("");
  p.attempts = fields.number<std::int64_t>("read_turns", 1, 1000).value_or(p.attempts);
  p.lean = fields.number<double>("turn_lean", 0.0, 1e3).value_or(0);
  p.lag = fields.number<double>("turn_lag", 0.0, 1e3).value_or(0);
  p.read_over = named(fields, kReadOver, read_over_from_name, p.read_over,
                      fmt::format("{}, {} or {}", kReadOverNames[0], kReadOverNames[1], kReadOverNames[2]));
  p.evidence = named(fields, "evidence", evidence_from_name, p.evidence,
                     fmt::format("{} or {}", kEvidenceNames[0], kEvidenceNames[1]));
  p.hops = fields.number<std::int64_t>("hops", 1, kMostHops).value_or(p.hops);
  if (p.read_over != ReadOver::everything && !p.over_everything)
    fail(ErrorCode::unsupported,
         "{}: metadata '{}': {} needs '{}' = {}: short-term memory would never be seen", fields.file(),
         kReadOver, read_over_name(p.read_over), kRecallOver, kEverything);
  if (p.read_over == ReadOver::attempts && p.no_answer.empty())
    fail(ErrorCode::unsupported, "{}: metadata '{}': {} needs '{}', what says that there is no answer",
         fields.file(), kReadOver, read_over_name(p.read_over), kNoAnswer);
  return p;
}

TalkProbe read_talk(const Fields& fields) {
  TalkProbe talk;
  talk.layer = fields.required("talk_layer");
  talk.sure = fields.number<double>("talk_sure", -1e6, 1e6).value_or(talk.sure);
  talk.unsure = fields.number<double>("talk_unsure", -1e6, 1e6).value_or(talk.unsure);
  if (talk.unsure > talk.sure)
    fail(ErrorCode::corrupt, "{}: metadata 'talk_unsure': expected at most talk_sure = {}, found {}",
         fields.file(), talk.sure, talk.unsure);
  return talk;
}

void add_talk(StringMap& out, const TalkProbe& talk) {
  out.emplace("talk_layer", fmt::format("{}", talk.layer));
  out.emplace("talk_sure", fmt::format("{}", talk.sure));
  out.emplace("talk_unsure", fmt::format("{}", talk.unsure));
}

// What differs from a policy nobody spoke of.
void add_recall(StringMap& out, const RecallPolicy& p) {
  const RecallPolicy silent;
  if (p.rule != silent.rule) out.emplace("recall", recall_rule_name(p.rule));
  if (p.vote_top > 0) out.emplace("vote_top", fmt::format("{}", p.vote_top));
  if (p.margin != kNoMargin) out.emplace("recall_margin", fmt::format("{}", p.margin));
  if (p.over_everything) out.emplace(kRecallOver, kEverything);
  if (p.read_over != silent.read_over) out.emplace(kReadOver, read_over_name(p.read_over));
  if (p.read_over == ReadOver::attempts) out.emplace("read_turns", fmt::format("{}", p.attempts));
  for (const auto& [key, nats] : {std::pair{"turn_lean", p.lean}, {"turn_lag", p.lag}})
    if (nats > 0) out.emplace(key, fmt::format("{}", nats));
  if (p.evidence != silent.evidence) out.emplace("evidence", evidence_name(p.evidence));
  if (p.hops != silent.hops) out.emplace("hops", fmt::format("{}", p.hops));
  if (!p.no_answer.empty()) out.emplace(kNoAnswer, escaped(p.no_answer));
}

}  // namespace

MemoryConfig delta_config(const Safetensors& delta) {
  const Fields fields(delta);
  if (const auto version = fields.text("format_version"); version && *version != kFormatVersion)
    fail(ErrorCode::unsupported,
         "{}: metadata 'format_version': expected {}, found {}: made by a newer program?", fields.file(),
         kFormatVersion, shown(*version));
  MemoryConfig m;
  m.K = fields.required("K");
  m.N = fields.required("N");
  m.K0 = fields.size("K0", 0);
  m.M = fields.size("M", 0);
  m.C = fields.size("C", 1);
  m.W = fields.size("W", 1);
  m.d_r = fields.size("d_r", 0);
  m.lora.rank = fields.number<std::int64_t>("r", 0, kMostRank).value_or(0);
  m.layers = read_layers(fields);
  read_parts(delta, m);
  m.lora.alpha = fields.number<double>("alpha", 0.0, 1e9).value_or(static_cast<double>(m.lora.rank));
  m.recall = read_recall(fields);
  m.prompt = fields.text("prompt").value_or("");
  m.stop = fields.text("stop").value_or("");
  m.chunk_form = fields.text("chunk_form").value_or("");
  m.chat_trained = fields.flag("chat_trained");
  m.base = fields.text("base").value_or("");
  if (delta.find("talk")) m.talk = read_talk(fields);
  if (m.N < m.K)
    fail(ErrorCode::corrupt, "{}: metadata 'N': expected at least K = {}, found {}", fields.file(), m.K, m.N);
  return m;
}

StringMap delta_metadata(const MemoryConfig& m) {
  StringMap out{{"format_version", std::string(kFormatVersion)},
                {"K", fmt::format("{}", m.K)},
                {"N", fmt::format("{}", m.N)},
                {"K0", fmt::format("{}", m.K0)},
                {"M", fmt::format("{}", m.M)},
                {"d_r", fmt::format("{}", m.d_r)},
                {"r", fmt::format("{}", m.lora.rank)},
                {"alpha", fmt::format("{}", m.lora.alpha)},
                {"chat_trained", m.chat_trained ? "true" : "false"}};
  if (!m.layers.is_all()) out.emplace(kMemoryLayers, m.layers.text());
  add_recall(out, m.recall);
  if (m.talk) add_talk(out, *m.talk);
  for (const auto& [key, n] : {std::pair{"C", m.C}, {"W", m.W}})
    if (n > 0) out.emplace(key, fmt::format("{}", n));
  for (const auto& [key, text] :
       {std::pair{"prompt", &m.prompt}, {"stop", &m.stop}, {"chunk_form", &m.chunk_form}, {"base", &m.base}})
    if (!text->empty()) out.emplace(key, escaped(*text));
  return out;
}

}  // namespace mplus::io
