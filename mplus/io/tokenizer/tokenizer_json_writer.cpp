// A tokenizer.json that `tokenizers` and read_tokenizer_json() take for the same tokenizer.
#include "mplus/core/error.h"
#include "mplus/io/text/json.h"
#include "mplus/io/tokenizer/tokenizer_spec.h"

namespace mplus::io {
namespace {

// ByteLevel comes last in every byte-level tokenizer, and has GPT-2's pattern and the space in front built
// in.
Json pre_tokenizer(const TokenizerSpec& spec) {
  using CutKind = PreTokenizerStep::CutKind;
  std::vector<PreTokenizerStep> steps = spec.steps;
  const bool regex =
      !steps.empty() && steps.back().kind == CutKind::pattern && steps.back().pattern == kGpt2Pattern;
  if (regex) steps.pop_back();
  const bool space = !steps.empty() && steps.back().kind == CutKind::prefix_space;
  if (space) steps.pop_back();
  Json list = Json::array();
  for (const PreTokenizerStep& step : steps) {
    switch (step.kind) {
      case CutKind::digits:
      case CutKind::digit_runs:
        list.push_back({{"type", "Digits"}, {"individual_digits", step.kind == CutKind::digits}});
        break;
      case CutKind::pattern:
        list.push_back({{"type", "Split"},
                        {"pattern", {{"Regex", step.pattern}}},
                        {"behavior", "Isolated"},
                        {"invert", false}});
        break;
      case CutKind::prefix_space:
        fail(ErrorCode::unsupported,
             "{}: a space is put in front before the text is cut by another rule than GPT-2's; a "
             "tokenizer.json "
             "cannot say that",
             spec.name);
    }
  }
  list.push_back(
      {{"type", "ByteLevel"}, {"add_prefix_space", space}, {"trim_offsets", true}, {"use_regex", regex}});
  return {{"type", "Sequence"}, {"pretokenizers", list}};
}

Json added_tokens(const TokenizerSpec& spec) {
  Json list = Json::array();
  for (const AddedToken& token : spec.added)
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", false},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  return list;
}

Json bpe(const TokenizerSpec& spec) {
  Json vocabulary = Json::object(), merges = Json::array();
  for (std::size_t id = 0; id < spec.tokens.size(); ++id)
    if (!spec.tokens[id].empty()) vocabulary[spec.tokens[id]] = id;
  const auto token = [&](TokenId id) { return spec.tokens[static_cast<std::size_t>(id)]; };
  for (const Merge& merge : spec.merges)
    merges.push_back(fmt::format("{} {}", token(merge.left), token(merge.right)));
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", spec.ignore_merges},
          {"vocab", vocabulary},
          {"merges", merges}};
}

}  // namespace

std::string write_tokenizer_json(const TokenizerSpec& spec) {
  const Json json = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added_tokens(spec)},
      {"normalizer", spec.nfc ? Json{{"type", "NFC"}} : Json()},
      {"pre_tokenizer", pre_tokenizer(spec)},
      {"post_processor", nullptr},
      {"decoder",
       {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}}},
      {"model", bpe(spec)}};
  try {
    return json.dump();
  } catch (const Json::exception&) {
    fail(ErrorCode::unsupported, "{}: a token is not valid UTF-8; a tokenizer.json cannot hold it",
         spec.name);
  }
}

}  // namespace mplus::io
