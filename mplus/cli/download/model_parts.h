// A base model that comes in parts, one a wheel, which are joined in order. What the parts are and must hash
// to says a file of facts (models/qwen2.5-coder-1.5b.txt is one, built in).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::cli {

struct ModelInParts {
  std::string name, license, package, version, member, file, sha256;  // {n}, {nn}: a part's number
  std::int64_t size_bytes = 0;
  std::int64_t part_bytes = 0;            // of all parts but the last
  std::vector<std::string> part_sha256s;  // by number, from 1
};

// Throws corrupt, naming `source` and the key.
ModelInParts parse_model_facts(std::string_view text, std::string_view source);
ModelInParts qwen_coder_model();

// Downloads, checks and joins what is missing; returns where the file is. What an interrupted fetch left is
// taken up again, whole parts that are right. Throws Error naming the part.
std::filesystem::path fetch_model_in_parts(const ModelInParts& model);

}  // namespace mplus::cli
