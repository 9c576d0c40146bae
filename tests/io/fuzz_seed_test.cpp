// The seeds of the fuzz targets, in every build: those that are meant to be valid are accepted (else the
// fuzzers would start behind the first check), and none does anything but be read or refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/config/memory_config.h"
#include "mplus/io/config/model_config.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/text/json_lines.h"
#include "mplus/io/text/unpacked_file.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/io/weights/dequantise.h"

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
  } else if (target == "json_lines") {
    JsonLines lines(seed);
    for (Json object; lines.next(object);) EXPECT_TRUE(object.is_object());
  } else if (target == "unpacked_file") {
    UnpackedFile unpacked(seed);
    for (std::string piece; unpacked.append_to(piece); piece.clear()) EXPECT_LE(piece.size(), 1u << 20);
  } else if (target == "config") {
    parse_hf_config(text, name);
    parse_published_memory_config(text, name);
  } else {
    FAIL() << target;
  }
}

TEST(FuzzSeeds, ValidOnesAreAccepted) {
  for (const char* seed :
       {"f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool", "delta", "empty", "scalar"})
    EXPECT_NO_THROW(read_seed("safetensors", kCorpus / "safetensors" / seed)) << seed;
  for (const char* seed : {"llama", "llama_v2", "qwen2", "qwen3", "tokenizer", "q4_0", "q4_1", "q5_0", "q5_1",
                           "q8_0", "q4_k", "q5_k", "q6_k", "bf16", "values", "alignment"})
    EXPECT_NO_THROW(read_seed("gguf", kCorpus / "gguf" / seed)) << seed;
  for (const char* seed : {"smollm2", "pairs", "ignore_merges", "llama3", "nfc", "no_merges", "with_text"})
    EXPECT_NO_THROW(read_seed("tokenizer", kCorpus / "tokenizer" / seed)) << seed;
  for (const char* seed : {"mplus_read", "mplus_sequence", "memoryllm_read", "llama3", "smollm2", "least",
                           "lists", "qwen2", "qwen3"})
    EXPECT_NO_THROW(read_seed("config", kCorpus / "config" / seed)) << seed;
  for (const char* seed : {"lines", "unfinished", "xz", "zst"})
    EXPECT_NO_THROW(read_seed("json_lines", kCorpus / "json_lines" / seed)) << seed;
  for (const char* seed :
       {"plain", "xz", "xz_crc32", "xz_twice", "xz_bomb", "zst", "zst_twice", "zst_bomb", "empty"})
    EXPECT_NO_THROW(read_seed("unpacked_file", kCorpus / "unpacked_file" / seed)) << seed;
  const Gguf file = Gguf::open(kCorpus / "gguf" / "tokenizer");
  EXPECT_EQ(config_from_gguf(file).layers, 1);
  for (const char* architecture : {"qwen2", "qwen3"})
    EXPECT_EQ(config_from_gguf(Gguf::open(kCorpus / "gguf" / architecture)).architecture, architecture);
  EXPECT_FALSE(Tokenizer::from_gguf(file).encode("text").empty());
  EXPECT_EQ(delta_config(Safetensors::open(kCorpus / "safetensors" / "delta")).K, 2);
}

TEST(FuzzSeeds, AllAreReadOrRefused) {
  int refused = 0;
  for (const std::string target :
       {"safetensors", "gguf", "tokenizer", "config", "json_lines", "unpacked_file"})
    for (const auto& seed : std::filesystem::directory_iterator(kCorpus / target)) try {
        read_seed(target, seed.path());
      } catch (const Error&) {
        ++refused;
      }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace mplus::io
