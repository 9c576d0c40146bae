// Asks a question in the way of a column. A Scene is the moment of asking: what was written so far, as memory
// and as text. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mplus/engine/session.h"
#include "mplus/eval/data/samples.h"
#include "mplus/eval/run/bm25.h"
#include "mplus/eval/run/columns.h"
#include "mplus/eval/run/context_reader.h"
#include "mplus/eval/run/presence.h"
#include "mplus/store/words/text_index.h"

namespace mplus::eval {

// What was written, kept as text beside the memory: for the columns that read text.
struct WrittenText {
  std::vector<std::string> chunks;
  std::vector<std::vector<io::TokenId>> ids;       // of each
  std::vector<std::vector<std::int64_t>> updates;  // of each: what it became
  Bm25 index;                                      // of the column that reads what it finds
  // What recall by words asks, the same as outside of evaluations; follows the session's record.
  std::unique_ptr<store::TextIndex> words = std::make_unique<store::TextIndex>();
  std::int64_t tokens = 0;
};

struct Scene {
  engine::Session* session = nullptr;
  const WrittenText* text = nullptr;
  std::optional<Presence> presence;
};

struct Asked {
  std::string output;
  double seconds = 0;
  double first_seconds = 0;          // until the first piece of the answer could be shown
  std::vector<std::string> refuted;  // what was said of others than the question names, and passed over
  bool applicable = true;            // false: the text does not fit the base model
  std::optional<double> recalled;    // of memory columns: mean over layers of the share of the passage's rows
  std::vector<double> recalled_layers;
  std::vector<double> option_nll;    // of choose(): mean over each option's tokens
  std::optional<double> nll;         // of go_on(): mean over the tokens, nats
  std::optional<std::int64_t> rank;  // of the right chunk by vote, from 1; where the layers were asked
};

// How a question is put: in the delta's own form, or as the next message of a conversation.
enum class Form { prompt, turn };

class Asker {
 public:
  // `base`: the same model without delta, for the columns that want it; may be null if none does. `evidence`:
  // how answers out of memory are checked, `talk`: who answers what nobody need have told; unset: as the
  // delta says.
  Asker(engine::Engine& engine, engine::Engine* base, std::int64_t max_tokens,
        std::optional<EvidenceRule> evidence = {}, std::optional<TalkRule> talk = {});

  std::string prompt(const std::string& question) const;
  std::string stop() const;
  // A message and the opening of its answer, in the model's template; the message's own tokens ask.
  struct TurnIds {
    std::vector<io::TokenId> ids;
    std::size_t asks_from = 0, asks_to = 0;
  };
  TurnIds turn(const std::string& question) const;
  // Throws out_of_capacity where a question and its answer do not fit the model's window.
  void check_length(const Question& question, Form form = Form::prompt) const;
  std::int64_t max_tokens() const { return max_tokens_; }

  void begin_scene(Scene& scene);  // call before asking there
  // `passage`: the chunk that answers, by its number in the text (or -1), and its text.
  Asked ask(const Column& column, const std::string& question, std::int64_t passage,
            const std::string& passage_text, Form form = Form::prompt);
  // How likely each option is as the answer. Not applicable to columns that find passages.
  Asked choose(const Column& column, const std::string& question, const std::vector<std::string>& options);
  // How likely `then` is after `given`, in the way of a column; `given` asks what to recall, its text for
  // words. Not applicable where text would have to be read again.
  Asked go_on(const Column& column, const std::string& given_text, std::span<const io::TokenId> given,
              std::span<const io::TokenId> then, std::int64_t passage, const std::string& passage_text);
  // How a memory column reads; recall by words looks for `words`. `seen` must outlive the read.
  engine::GenerateOptions read_options(const Column& column, const std::string& words, ReadOver read_over,
                                       Observation& seen) const;

 private:
  Asked ask_plain(ContextReader& reader, const std::vector<std::vector<io::TokenId>>& text,
                  const std::string& question, Form form);
  bool read_base_text(const Column& column, std::int64_t after);  // false: it does not fit
  Asked ask_base(const Column& column, const std::string& question, Form form);
  engine::Answer answer_of(const std::string& question, Form form,
                           const engine::GenerateOptions& options) const;
  Asked ask_memory(const Column& column, const std::string& question, std::int64_t passage, Form form);
  std::vector<io::TokenId> prompt_ids(const std::string& question, bool behind_text,
                                      Form form = Form::prompt) const;
  RecallRule rule(const Column& column) const;
  memory::Prior prior(const std::string& words) const;

  engine::Engine& engine_;
  engine::Engine* base_;
  std::int64_t max_tokens_;
  std::optional<EvidenceRule> evidence_;
  std::optional<TalkRule> talk_;
  Scene* scene_ = nullptr;
  std::optional<ContextReader> delta_reader_;
  std::optional<ContextReader> base_reader_;
  enum class BaseText { none, window, full } base_text_ = BaseText::none;  // what the base reader has read
};

// The next chunk of several memories, written in one pass where all are whole chunks.
struct ChunkToWrite {
  engine::Session* session;
  WrittenText* text;
  const std::string* chunk;
  const std::string* source;
};
void write_chunks(std::span<const ChunkToWrite> chunks);
// Writes a chunk into a memory and beside it; one chunk may become several updates.
void write_chunk(engine::Session& session, WrittenText& text, const std::string& chunk,
                 const std::string& source);
// The same with a conversation, in the model's own template, as if it had been held.
void write_conversation(engine::Session& session, WrittenText& text, const std::vector<Turn>& turns);

}  // namespace mplus::eval
