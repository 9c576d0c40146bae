// A tokenizer out of a GGUF's metadata. The file names its way of cutting text instead of describing it;
// names that are not in the table below are refused, since guessing would give wrong tokens without a sign.
#include <array>

#include "mplus/core/error.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/text/names.h"
#include "mplus/io/tokenizer/tokenizer_spec.h"

namespace mplus::io {
namespace {

enum class TokenType : std::int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct PreRule {
  std::string_view name;  // tokenizer.ggml.pre
  bool each_digit;
  std::string_view pattern;
  bool ignore_merges;
  bool nfc;
};
constexpr auto kRules = std::to_array<PreRule>({
    {"smollm", true, kGpt2Pattern, false, false},
    {"gpt-2", false, kGpt2Pattern, false, false},
    {"llama-bpe", false, kLlama3Pattern, true, false},
    {"llama3", false, kLlama3Pattern, true, false},
    {"llama-v3", false, kLlama3Pattern, true, false},
    {"qwen2", false, kQwen2Pattern, false, true},
});

void read_rule(const Gguf& file, TokenizerSpec& spec) {
  const std::string pre = file.get_string("tokenizer.ggml.pre").value_or("");
  for (const PreRule& rule : kRules) {
    if (rule.name != pre) continue;
    if (rule.each_digit) spec.steps.push_back({PreTokenizerStep::CutKind::digits, {}});
    if (file.get_bool("tokenizer.ggml.add_space_prefix").value_or(false))
      spec.steps.push_back({PreTokenizerStep::CutKind::prefix_space, {}});
    spec.steps.push_back({PreTokenizerStep::CutKind::pattern, std::string(rule.pattern)});
    spec.ignore_merges = rule.ignore_merges;
    spec.nfc = rule.nfc;
    return;
  }
  std::string known;
  for (const PreRule& rule : kRules) known += fmt::format("{}{}", known.empty() ? "" : ", ", rule.name);
  fail(ErrorCode::unsupported, "{}: tokenizer.ggml.pre: expected one of {}, found {}", spec.name, known,
       shown(pre));
}

void read_types(const Gguf& file, TokenizerSpec& spec) {
  const auto types = file.get_i32s("tokenizer.ggml.token_type");
  if (!types) return;
  if (types->size() != spec.tokens.size())
    fail(ErrorCode::corrupt, "{}: tokenizer.ggml.token_type: expected {} values, found {}", spec.name,
         spec.tokens.size(), types->size());
  for (std::size_t id = 0; id < types->size(); ++id) {
    std::string& token = spec.tokens[id];
    switch (static_cast<TokenType>((*types)[id])) {
      case TokenType::normal:
        break;
      case TokenType::unknown:
      case TokenType::control:
        spec.added.push_back({static_cast<TokenId>(id), token, true, false, false, false});
        break;
      case TokenType::user_defined:
        spec.added.push_back({static_cast<TokenId>(id), token, false, false, false, false});
        break;
      case TokenType::unused:
        token.clear();
        break;
      default:
        fail(ErrorCode::unsupported, "{}: tokenizer.ggml.token_type[{}]: expected 1 to 5, found {}",
             spec.name, id, (*types)[id]);
    }
  }
}

std::optional<TokenId> read_id(const Gguf& file, std::string_view key, const TokenizerSpec& spec) {
  const auto id = file.get_u64(key);
  if (id && *id >= spec.tokens.size())
    fail(ErrorCode::corrupt, "{}: {}: expected an id under {}, found {}", spec.name, key, spec.tokens.size(),
         *id);
  return id ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
}

std::vector<std::string> required_strings(const Gguf& file, std::string_view key, const TokenizerSpec& spec) {
  auto strings = file.get_strings(key);
  if (!strings)
    fail(ErrorCode::not_found, "{}: {}: expected a list of strings, found nothing", spec.name, key);
  return *std::move(strings);
}

}  // namespace

TokenizerSpec read_tokenizer_gguf(const Gguf& file) {
  TokenizerSpec spec;
  spec.name = file.path().string();
  const std::string model = file.get_string("tokenizer.ggml.model").value_or("");
  if (model != "gpt2")
    fail(ErrorCode::unsupported, "{}: tokenizer.ggml.model: expected gpt2 (byte-level BPE), found {}",
         spec.name, shown(model));
  read_rule(file, spec);
  spec.tokens = required_strings(file, "tokenizer.ggml.tokens", spec);
  if (spec.tokens.size() > INT32_MAX)
    fail(ErrorCode::unsupported, "{}: tokenizer.ggml.tokens: found {}", spec.name, spec.tokens.size());
  read_types(file, spec);
  const TokenIndex index(spec.tokens, spec.name);
  const std::vector<std::string> merges = required_strings(file, "tokenizer.ggml.merges", spec);
  spec.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) spec.merges.push_back(index.merge(merges[i], i));
  spec.bos = read_id(file, "tokenizer.ggml.bos_token_id", spec);
  spec.eos = read_id(file, "tokenizer.ggml.eos_token_id", spec);
  return spec;
}

}  // namespace mplus::io
