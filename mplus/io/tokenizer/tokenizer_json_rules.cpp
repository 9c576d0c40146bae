#include "mplus/core/error.h"
#include "mplus/io/text/names.h"
#include "mplus/io/tokenizer/tokenizer_json.h"

namespace mplus::io {
namespace {

constexpr std::size_t kMostSteps = 16;  // of a pre-tokenizer; files have up to five

void read_normalizer(const JsonFields& normalizer, TokenizerSpec& spec) {
  const std::string type = required_string(normalizer, "type");
  if (type == "NFC") {
    spec.nfc = true;
  } else if (type == "Sequence") {
    for (const Json& part : required_list(normalizer, "normalizers"))
      read_normalizer(JsonFields(part, spec.name, "normalizer.normalizers"), spec);
  } else {
    fail(ErrorCode::unsupported, "{}: expected NFC or none, found {}", normalizer.label("type"), shown(type));
  }
}

PreTokenizerStep read_split(const JsonFields& split) {
  const std::string behavior = required_string(split, "behavior");
  if (behavior != "Isolated")  // the others drop text or move it: no byte-level tokenizer in use wants that
    fail(ErrorCode::unsupported, "{}: expected Isolated, found {}", split.label("behavior"), shown(behavior));
  const JsonFields pattern = required_object(split, "pattern");
  if (const auto regex = pattern.string("Regex")) return {PreTokenizerStep::CutKind::pattern, *regex};
  const std::string literal = required_string(pattern, "String");
  if (literal.find("\\E") != literal.npos)
    fail(ErrorCode::unsupported, "{}: found {}", pattern.label("String"), shown(literal));
  return {PreTokenizerStep::CutKind::pattern, "\\Q" + literal + "\\E"};
}

void add_step(TokenizerSpec& spec, PreTokenizerStep step) {
  if (spec.steps.size() == kMostSteps)
    fail(ErrorCode::unsupported, "{}: pre_tokenizer: expected at most {} steps, found more", spec.name,
         kMostSteps);
  spec.steps.push_back(std::move(step));
}

// True once ByteLevel, which must come last, has been read.
bool read_pre_tokenizer(const JsonFields& fields, TokenizerSpec& spec) {
  using CutKind = PreTokenizerStep::CutKind;
  const std::string type = required_string(fields, "type");
  bool byte_level = false;
  if (type == "Sequence") {
    for (const Json& part : required_list(fields, "pretokenizers")) {
      if (byte_level)
        fail(ErrorCode::unsupported, "{}: expected ByteLevel last, found a step after it",
             fields.label("pretokenizers"));
      byte_level = read_pre_tokenizer(JsonFields(part, spec.name, "pre_tokenizer.pretokenizers"), spec);
    }
  } else if (type == "Digits") {
    const bool each = fields.boolean("individual_digits").value_or(false);
    add_step(spec, {each ? CutKind::digits : CutKind::digit_runs, {}});
  } else if (type == "Split") {
    add_step(spec, read_split(fields));
  } else if (type == "ByteLevel") {
    byte_level = true;
    if (fields.boolean("add_prefix_space").value_or(true)) add_step(spec, {CutKind::prefix_space, {}});
    if (fields.boolean("use_regex").value_or(true))
      add_step(spec, {CutKind::pattern, std::string(kGpt2Pattern)});
  } else {
    fail(ErrorCode::unsupported, "{}: expected Sequence, Split, Digits or ByteLevel, found {}",
         fields.label("type"), shown(type));
  }
  return byte_level;
}

}  // namespace

void read_text_rules(const JsonFields& root, TokenizerSpec& spec) {
  if (const auto normalizer = root.object("normalizer")) read_normalizer(*normalizer, spec);
  const auto pre_tokenizer = root.object("pre_tokenizer");
  if (!pre_tokenizer || !read_pre_tokenizer(*pre_tokenizer, spec))
    fail(ErrorCode::unsupported,
         "{}: pre_tokenizer: expected a ByteLevel step, found none: not byte-level BPE", spec.name);
}

}  // namespace mplus::io
