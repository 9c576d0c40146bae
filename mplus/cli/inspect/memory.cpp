#include "mplus/cli/inspect/memory.h"

#include <cstring>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/record.h"

namespace mplus::cli {
namespace {

std::string_view bytes_of(const io::Safetensors& file, const char* name) {
  const io::Tensor& tensor = file.at(name, {DType::u8}, {-1});
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

// Rows of `sources`: end of the name, end of the text, who speaks.
Json list_sources(const io::Safetensors& file) {
  const std::string_view names = bytes_of(file, "source.names");
  const std::string_view texts = bytes_of(file, "source.texts");
  const io::Tensor& rows = file.at("sources", {DType::i64}, {-1, 3});
  Json list = Json::array();
  std::int64_t name_at = 0, text_at = 0;
  for (std::int64_t s = 0; s < rows.shape[0]; ++s) {
    std::int64_t row[3];
    std::memcpy(row, rows.bytes.data() + static_cast<std::size_t>(s) * sizeof row, sizeof row);
    const bool fits = name_at <= row[0] && row[0] <= static_cast<std::int64_t>(names.size()) &&
                      text_at <= row[1] && row[1] <= static_cast<std::int64_t>(texts.size()) && row[2] >= 0 &&
                      row[2] <= static_cast<std::int64_t>(engine::Speaker::assistant);
    if (!fits)
      fail(ErrorCode::corrupt, "{}: tensor \"sources\": row {} lies outside the texts", file.path().string(),
           s);
    list.push_back(
        {{"number", s},
         {"speaker", engine::speaker_name(static_cast<engine::Speaker>(row[2]))},
         {"size_bytes", row[1] - text_at},
         {"name",
          names.substr(static_cast<std::size_t>(name_at), static_cast<std::size_t>(row[0] - name_at))},
         {"begins", texts.substr(static_cast<std::size_t>(text_at),
                                 static_cast<std::size_t>(std::min<std::int64_t>(row[1] - text_at, 120)))}});
    name_at = row[0];
    text_at = row[1];
  }
  return list;
}

}  // namespace

void add_session(Json& report, const io::Safetensors& file, const InspectOptions& options) {
  const engine::SessionFileInfo info = engine::session_file_info(file);
  if (options.verify) engine::verify_session_file(file);
  report["version"] = info.version;
  report["shape_id"] = info.shape_id;
  report["weights_id"] = info.weights_id;
  report["numerics_id"] = info.numerics_id;
  report["element_type"] = info.dtype;
  report["seed"] = info.seed;
  report["updates"] = info.updates;
  report["turns"] = info.turns;
  report["sources"] = info.sources;
  report["window_tokens"] = info.window_tokens;
  report["short_term_rows"] = info.short_term_rows;
  report["long_term_rows"] = info.long_term_rows;
  const auto hidden = file.metadata().find("hidden_states");
  report["hidden_states"] = hidden != file.metadata().end() && hidden->second == "kept";
  report["verified"] = options.verify ? Json(true) : Json("not asked for");
  if (options.sources) report["source_list"] = list_sources(file);
}

}  // namespace mplus::cli
