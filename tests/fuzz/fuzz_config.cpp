#include <string_view>

#include "mplus/io/config/model_config.h"
#include "tests/fuzz/accept.h"

// What is accepted is written and read again: a configuration that passes once must always pass.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ModelConfig model;
  test::accept_errors([&] { model = parse_hf_config(text, "input"); });
  if (model.layers > 0) {
    const ModelConfig again = parse_hf_config(hf_config_json(model, "float32"), "written");
    MPLUS_CHECK(again.norm_epsilon == model.norm_epsilon && again.rope_theta == model.rope_theta, "{} {}",
                model.norm_epsilon, model.rope_theta);
  }
  test::accept_errors([&] {
    const auto memory = parse_published_memory_config(text, "input");
    if (!memory || model.layers == 0) return;
    const std::string written = published_config_json(model, *memory, "float32", 0);
    MPLUS_CHECK(parse_published_memory_config(written, "written").value().N == memory->N, "{}", memory->N);
  });
  return 0;
}
