#include "mplus/eval/task/task.h"

#include <fmt/core.h>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/eval/task/script.h"
#include "mplus/io/text/hash.h"

namespace mplus::eval {

Planned Task::planned() const {
  fail(ErrorCode::unsupported,
       "this task cannot be planned for another program: it does more than write and ask");
}

Json model_identity(engine::Engine& engine) {
  Json json{
      {"shape", engine.shape_id()}, {"weights", engine.weights_id()}, {"numerics", engine.numerics_id()}};
  if (engine.has_memory()) {
    const io::MemoryConfig& m = *engine.weights().memory;
    json["memory"] = {{"K", m.K}, {"N", m.N}, {"K0", m.K0}, {"M", m.M}, {"C", m.C}, {"W", m.W}};
    json["recall"] = recall_rule_name(m.recall.rule);
    json["prompt"] = m.prompt;
  }
  return json;
}

std::string_view evidence_identity(const engine::Engine& engine, const TaskOptions& options) {
  return evidence_name(options.evidence.value_or(engine.recall_policy().evidence));
}

std::string_view talk_identity(const engine::Engine& engine, const TaskOptions& options) {
  if (engine.weights().talk.empty()) return talk_name(TalkRule::memory);
  return talk_name(options.talk.value_or(engine.recall_policy().talk));
}

Json file_identity(const std::filesystem::path& file) {
  const auto mapped = MappedFile::open(file);
  return {{"name", file.filename().string()},
          {"bytes", mapped->bytes().size()},
          {"xxh3", fmt::format("{:016x}", io::xxh3(mapped->bytes()))}};
}

std::string data_stem(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find('.'));
}

}  // namespace mplus::eval
