// The seeds of the fuzz targets, in every build: those that are meant to be valid are accepted (else the
// fuzzers would start behind the first check), and none does anything but be read or refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/file.h"
#include "mplus/io/dequantise.h"
#include "mplus/io/gguf.h"
#include "mplus/io/memory_config.h"
#include "mplus/io/model_config.h"
#include "mplus/io/tokenizer.h"

namespace mplus::io {
namespace {

const std::filesystem::path kCorpus = MPLUS_SOURCE_DIR "/tests/fuzz/corpus";

void read_seed(const std::string& target, const std::filesystem::path& seed) {
  const auto file = MappedFile::open(seed);
  const std::string text = read_text_file(seed);
  const std::string name = seed.string();
  if (target == "safetensors") {
    const SafetensorsContent content = parse_safetensors(file->bytes(), name);
    for (const auto& [key, tensor] : content.tensors) dequantise(tensor);
  } else if (target == "gguf") {
    const Gguf content = Gguf::parse(file->bytes(), name);
    for (const auto& [key, tensor] : content.tensors()) dequantise(tensor);
  } else if (target == "tokenizer") {
    Tokenizer::from_json(text.substr(0, text.find('\xff')), name).encode("a text");
  } else {
    parse_hf_config(text, name);
    parse_published_memory_config(text, name);
  }
}

TEST(FuzzSeeds, ValidOnesAreAccepted) {
  for (const char* seed :
       {"f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool", "delta", "empty", "scalar"})
    EXPECT_NO_THROW(read_seed("safetensors", kCorpus / "safetensors" / seed)) << seed;
  for (const char* seed :
       {"llama", "llama_v2", "tokenizer", "q4_0", "q4_1", "q8_0", "bf16", "values", "alignment"})
    EXPECT_NO_THROW(read_seed("gguf", kCorpus / "gguf" / seed)) << seed;
  for (const char* seed : {"smollm2", "pairs", "ignore_merges", "llama3", "nfc", "no_merges", "with_text"})
    EXPECT_NO_THROW(read_seed("tokenizer", kCorpus / "tokenizer" / seed)) << seed;
  for (const char* seed :
       {"mplus_read", "mplus_sequence", "memoryllm_read", "llama3", "smollm2", "least", "lists"})
    EXPECT_NO_THROW(read_seed("config", kCorpus / "config" / seed)) << seed;
  const Gguf file = Gguf::open(kCorpus / "gguf" / "tokenizer");
  EXPECT_EQ(config_from_gguf(file).layers, 1);
  EXPECT_FALSE(Tokenizer::from_gguf(file).encode("text").empty());
  EXPECT_EQ(delta_config(Safetensors::open(kCorpus / "safetensors" / "delta")).K, 2);
}

TEST(FuzzSeeds, AllAreReadOrRefused) {
  int refused = 0;
  for (const std::string target : {"safetensors", "gguf", "tokenizer", "config"})
    for (const auto& seed : std::filesystem::directory_iterator(kCorpus / target)) try {
        read_seed(target, seed.path());
      } catch (const Error&) {
        ++refused;
      }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace mplus::io
