// mplus-talk-study: messages that nobody need have told anything for (docs/talk.md).
//
//   states PROMPTS OUT   hidden states of the base model at the end of each prompt: what tools/train_talk.py
//                        learns from. PROMPTS: JSON lines with "text"; OUT.bin: bf16, OUT.json: layers, sizes
//   exam PROMPTS TEXT    each line of PROMPTS is said to the base model, and to a session that has read TEXT:
//                        both answers, and how likely the base's own answer is to either, as JSON lines
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/engine/locate.h"
#include "mplus/engine/session.h"
#include "mplus/io/text/json.h"
#include "mplus/store/words/text_index.h"

namespace mplus::talk_study {
namespace {

struct Options {
  std::string model, delta, device = "auto", mode, prompts, other;
  std::int64_t max_tokens = 40;
  int threads = 0;
};

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  if (lines.empty()) fail(ErrorCode::not_found, "{}: no lines", file);
  return lines;
}

void write_states(engine::Engine& engine, const Options& options) {
  const std::int64_t layers = engine.weights().config.layers;
  const auto d = static_cast<std::size_t>(engine.weights().config.hidden);
  const std::vector<std::int64_t> chosen = {layers / 2, 3 * layers / 4};
  std::ofstream(options.other + ".json") << io::Json{{"layers", chosen}, {"hidden", d}}.dump() << "\n";
  std::ofstream out(options.other + ".bin", std::ios::binary);
  const engine::Session session(engine);
  for (const std::string& line : lines_of(options.prompts)) {
    std::map<std::int64_t, std::vector<float>> last;
    model::ReadTaps taps;
    taps.hidden = [&](std::int64_t layer, std::span<const float> hidden) {
      const auto end = hidden.last(d);
      last[layer].assign(end.begin(), end.end());
    };
    engine::GenerateOptions how;
    how.plain = true;
    how.max_tokens = 1;
    how.taps = &taps;
    session.ask(io::Json::parse(line).at("text").get<std::string>(), how);
    for (const std::int64_t layer : chosen)
      for (const float value : last.at(layer)) {
        const std::uint16_t half = f32_to_bf16(value);
        out.write(reinterpret_cast<const char*>(&half), sizeof half);
      }
  }
}

// The prompt of a conversation that begins with this message.
std::vector<io::TokenId> prompt_of(const engine::Engine& engine, const std::string& message) {
  const io::ChatTemplate& chat = *engine.chat_template();
  std::vector<io::TokenId> ids;
  for (const auto& part :
       {chat.default_system(), chat.message(io::Role::user, message).ids, chat.open_assistant()})
    ids.insert(ids.end(), part.begin(), part.end());
  return ids;
}

// Nats a token of what follows the prompt.
double mean_nll(const engine::Session& session, std::vector<io::TokenId> prompt,
                const std::vector<io::TokenId>& answer, engine::ScoreOptions options = {}) {
  const std::size_t from = prompt.size();
  options.scouts_end = std::ssize(prompt);
  prompt.insert(prompt.end(), answer.begin(), answer.end());
  const std::vector<double> nll = session.score(prompt, options).nll;
  double sum = 0;
  for (std::size_t i = from - 1; i < nll.size(); ++i) sum += nll[i];
  return answer.empty() ? 0 : sum / static_cast<double>(answer.size());
}

void hold_exam(engine::Engine& engine, engine::Engine& base, const Options& options) {
  engine::Session session(engine);
  session.remember(read_text_file(options.other), "text");
  store::TextIndex index;
  for (const std::string& message : lines_of(options.prompts)) {
    engine::GenerateOptions how;
    how.max_tokens = options.max_tokens;
    engine::Session alone(base);
    const engine::Answer own = alone.say(message, how);
    const std::vector<io::TokenId> prompt = prompt_of(engine, message);
    const double base_nll = mean_nll(engine::Session(base), prompt, own.tokens);
    engine::ScoreOptions recalled;
    recalled.read.recall.read_over = ReadOver::recalled;
    const double memory_nll = mean_nll(session, prompt, own.tokens, recalled);
    index.serve(how, session.record());
    const engine::Answer said = session.fork().say(message, how);
    const engine::Answer asked = session.ask(message, how);
    fmt::print("{}\n", io::Json{{"message", message},
                                {"base", own.text},
                                {"said", said.text},
                                {"asked", asked.text},
                                {"by_base", said.by_base},
                                {"asked_by_base", asked.by_base},
                                {"nll_base", base_nll},
                                {"nll_memory", memory_nll},
                                {"nll", said.by_base ? base_nll : memory_nll}}
                           .dump());
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("mplus-talk-study: talk beside a memory");
  app.add_option("-m,--model", options.model, "the base model");
  app.add_option("--delta", options.delta, "its delta");
  app.add_option("--device", options.device, "auto, cpu or cuda");
  app.add_option("-t,--threads", options.threads, "threads");
  app.add_option("-n,--max-tokens", options.max_tokens, "longest answer");
  app.add_option("mode", options.mode, "states or exam")
      ->required()
      ->check(CLI::IsMember({"states", "exam"}));
  app.add_option("prompts", options.prompts, "messages")->required();
  app.add_option("other", options.other, "what states come to, or the text to be remembered")->required();
  CLI11_PARSE(app, argc, argv);
  engine::EngineOptions how;
  how.files = engine::locate_model(options.model, options.delta);
  how.threads = options.threads;
  const auto device = device_choice_from_name(options.device);
  if (!device) fail(ErrorCode::invalid_argument, "--device: {}", options.device);
  how.device = *device;
  engine::Engine engine(how);
  if (options.mode == "states") {
    write_states(engine, options);
    return 0;
  }
  how.files.delta.reset();
  engine::Engine base(how);
  hold_exam(engine, base, options);
  return 0;
}

}  // namespace
}  // namespace mplus::talk_study

int main(int argc, char** argv) {
  try {
    return mplus::talk_study::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
