#include "mplus/eval/run/recorded_answers.h"

#include "mplus/core/error.h"
#include "mplus/eval/task/plan_file.h"
#include "mplus/io/text/json_lines.h"

namespace mplus::eval {

RecordedAnswers::RecordedAnswers(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) read(file);
}

void RecordedAnswers::read(const std::filesystem::path& file) {
  io::JsonLines lines(file);
  io::Json line;
  Json head;
  while (lines.next(line)) {
    const std::string where = lines.where();
    if (head.is_null()) {
      head = Json::parse(line.dump());
      if (head.value("schema", "") != kAnswersSchema)
        fail(ErrorCode::corrupt, "{}: expected the answers to a plan, found something else", where);
      if (head.value("version", 0) != kPlanVersion)
        fail(ErrorCode::unsupported, "{}: answers of version {}, this program knows {}", where,
             head.value("version", 0), kPlanVersion);
      if (head_.is_null()) head_ = head;
      for (const char* field : {"plan", "delta_sha256", "numerics"})
        if (head.value(field, "") != head_.value(field, ""))
          fail(ErrorCode::invalid_argument, "{}: {} \"{}\", in another part \"{}\"", where, field,
               head.value(field, ""), head_.value(field, ""));
      continue;
    }
    const std::optional<std::string> key = io::JsonFields(line, where).string("key");
    if (!key) fail(ErrorCode::corrupt, "{}: an answer without a key", where);
    if (!answers_.emplace(*key, Json::parse(line.dump())).second)
      fail(ErrorCode::corrupt, "{}: key \"{}\" for the second time", where, *key);
  }
  if (head.is_null()) fail(ErrorCode::corrupt, "{}: the file is empty", file.string());
}

std::optional<RecordedAnswers::Answer> RecordedAnswers::find(const std::string& key) const {
  const auto at = answers_.find(key);
  if (at == answers_.end()) return std::nullopt;
  const Json& json = at->second;
  Answer answer;
  try {
    answer.asked.output = json.value("output", "");
    answer.asked.applicable = json.value("applicable", true);
    answer.asked.seconds = json.value("seconds", 0.0);
    if (json.contains("nll")) answer.asked.nll = json.at("nll").get<double>();
    if (json.contains("rank")) answer.asked.rank = json.at("rank").get<std::int64_t>();
    if (json.contains("recalled")) {
      answer.asked.recalled_layers = json.at("recalled").get<std::vector<double>>();
      double sum = 0;
      for (const double share : answer.asked.recalled_layers) sum += share;
      answer.asked.recalled = sum / static_cast<double>(answer.asked.recalled_layers.size());
    }
    if (json.contains("short_term"))
      answer.share = Presence::Share{json.at("short_term").get<double>(), json.at("long_term").get<double>()};
  } catch (const Json::exception& e) {
    fail(ErrorCode::corrupt, "answer \"{}\": {}", key, e.what());
  }
  return answer;
}

}  // namespace mplus::eval
