// What the streams of a run write and are asked: chunks of made-up facts, of passages with questions, of
// conversations and of running text, and windows that ask for what a chunk says. Everything is a function of
// the seed and of the chunk's place, so a chunk written long ago is made again when it is asked about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/text/chat_template.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/train/lessons/made_facts.h"
#include "mplus/train/lessons/random.h"
#include "mplus/train/lessons/token_data.h"

namespace mplus::train {

enum class ChunkKind : std::uint8_t { facts, passage, chat, text };
constexpr std::size_t kKinds = 4;
std::string_view kind_name(ChunkKind kind);

struct Material {
  io::Tokenizer tokenizer;
  std::optional<io::ChatTemplate> chat;  // none: nothing is told or asked in a conversation
  std::vector<TextSet> texts;
  std::vector<double> text_weights;  // how often each is drawn from
  std::vector<QuestionSet> questions;
  std::vector<double> question_weights;
};

struct ChunkOptions {
  std::int64_t length = 256;                     // C
  double short_share = 0;                        // updates of 16 to C tokens instead
  std::vector<double> kinds = {.3, .3, .1, .3};  // as in ChunkKind
  double cloze = 0;                              // questions on text and passages that are made from them
  double document = 0;                           // streams that write nothing but one document all their life
  double twice = 0;                              // chunks of facts that change a fact told earlier
  double chat_form = 0;                          // questions on facts of a text that are asked in a chat
  double mistaken = 0;                           // questions on facts that ask for something near, never told
  double typed = 0;                              // questions on passages in small letters, without a mark
};

// The write of a stream: `update` counts from 0 in each life of a memory.
struct ChunkId {
  std::uint32_t life = 0, update = 0, stream = 0;
};

struct Chunk {
  ChunkKind kind = ChunkKind::text;
  std::vector<std::int32_t> tokens;
  std::vector<MadeFact> facts;  // facts, chat: those it tells in full
  std::size_t set = 0;          // text, passage: where it was cut from
  std::int64_t start = 0;
  std::int64_t passage = -1;
};

constexpr float kOtherWeight = 0.05f;  // of tokens in a window that are no target

// What a reader sees and must say.
struct Window {
  std::vector<std::int32_t> tokens;
  // Of each token as a target: 1 in answers, less where a hundred tokens in a row are to be said, so that
  // they do not outweigh an answer of three.
  std::vector<float> weight;
  std::int64_t asks_from = 0, asks_to = 0;  // the tokens that ask: the first question's
  std::int64_t update = -1;                 // whose chunk holds the answer; −1: none
  std::int64_t rival = -1;                  // whose chunk says something else about it; −1: none
  bool cloze = false;                       // made from the text (cloze.h)
  bool unanswered = false;                  // the first question asks for what the chunk nearly tells
};

class ChunkMaker {
 public:
  ChunkMaker(const Material& material, const ChunkOptions& options, std::uint64_t seed);

  std::int64_t length(std::uint32_t life, std::uint32_t update) const;  // the same for all streams
  ChunkKind kind(const ChunkId& id) const;
  Chunk chunk(const ChunkId& id) const;
  // The earlier chunk that tells a fact which this one tells with another value, if it has room for it.
  std::optional<ChunkId> changed_by(const ChunkId& id) const;

  bool tell_the_same(const ChunkId& a, const ChunkId& b) const;  // some fact, be it with another value

  struct Asking {
    std::uint32_t newest = 0;  // the answer is the one that holds after this update
    std::int64_t most = 0;     // tokens
    bool several = false;      // questions in a row, as far as there is room
    double changed_first = 0;  // by chance: facts that a later chunk changed come first
  };
  // A question about a chunk. None: there is nothing to ask.
  std::optional<Window> ask(const ChunkId& id, const Asking& how, Random& random) const;
  // What follows the chunk of a stream that writes a document, every token a target; other streams: none.
  std::optional<Window> follow_document(const ChunkId& id, std::int64_t length) const;
  // What comes after a chunk of running text that was left there: the chunk written next is about something
  // else. None: it was gone on with (up to update `newest`), or is no running text.
  std::optional<Window> come_back(const ChunkId& id, std::uint32_t newest, std::int64_t length) const;
  // A passage and, behind it, its questions to be made up (posed.h), as many as fit into `most` tokens. None:
  // the chunk is no passage, or one that is longer than a chunk.
  std::optional<Window> pose(const ChunkId& id, Random& random, std::int64_t most) const;
  Window repeat(const ChunkId& id) const;  // the whole chunk, behind the word that asks for it
  // Puts a chunk's text in front of the question, as the engine does when it reads a passage again.
  void reread(Window& window, const ChunkId& id) const;
  // How many of the tokens that ask stand in this chunk, too; none where it says the first answer's words.
  std::optional<std::int64_t> misleads(const Window& window, const ChunkId& id) const;
  // Of a window that asks: the first question alone, and that there is no answer.
  void leave_unanswered(Window& window) const;
  // About what no chunk tells, half of them things of the kinds and names that this life's chunks tell of.
  Window ask_unknown(std::uint32_t life, Random& random) const;
  Window talk(
      Random& random) const;  // a turn that asks for nothing, and the reply; with a chat template only
  Window plain(Random& random, std::int64_t length) const;  // running text, every token a target

 private:
  struct Spot {
    std::size_t set = 0;
    std::int64_t start = 0;
  };
  Random random(std::uint32_t purpose, const ChunkId& id) const;
  bool is_document(const ChunkId& id) const;
  bool goes_on(const ChunkId& id) const;      // with the text of the update before
  bool tells_facts(const ChunkId& id) const;  // bare or in a conversation
  std::optional<MadeFact> change(const ChunkId& id) const;
  World world(std::uint32_t life, std::uint32_t part) const;
  World never_told(std::uint32_t life) const;  // the part of a life's world that no chunk tells
  std::optional<MadeFact> mistaken(const MadeFact& fact, const Chunk& told, std::uint32_t life,
                                   Random& random) const;
  std::vector<MadeFact> facts_to_tell(const ChunkId& id) const;
  Spot text_spot(const ChunkId& id) const;
  Spot draw_text(Random& random, std::int64_t span) const;
  std::vector<std::int32_t> cut(const std::vector<std::int32_t>& tokens, std::int64_t start,
                                std::int64_t length) const;
  void make_facts(Chunk& chunk, const ChunkId& id, std::int64_t length) const;
  void make_chat(Chunk& chunk, const ChunkId& id, std::int64_t length) const;
  void make_passage(Chunk& chunk, const ChunkId& id, std::int64_t length) const;
  bool add_question(std::optional<Window>& all, Window next, std::int64_t most) const;
  std::optional<Window> ask_facts(const Chunk& chunk, const ChunkId& id, const Asking& how,
                                  Random& random) const;
  // Later values of a chunk's facts, the newest first, with the updates that tell them.
  std::vector<std::pair<std::uint32_t, MadeFact>> changes_of(const Chunk& chunk, const ChunkId& id,
                                                             std::uint32_t newest) const;
  std::optional<Window> ask_passage(const Chunk& chunk, Random& random, std::int64_t most,
                                    bool several) const;
  std::optional<Window> ask_cloze(const Chunk& chunk, Random& random, std::int64_t most, bool several) const;
  Window what_follows(const ChunkId& id, std::int64_t length) const;
  std::optional<Window> ask_rest(const Chunk& chunk, Random& random, std::int64_t most) const;
  Window question(const std::string& question, const std::string& answer, bool in_chat, Random& random) const;
  Window turn(const std::string& user, const std::string& assistant, Random& random) const;

  const Material& material_;
  ChunkOptions options_;
  std::uint64_t seed_;
  std::vector<std::int32_t> newline_;
  std::vector<std::vector<std::vector<std::int32_t>>> questions_on_;  // [set][passage]
  std::vector<std::vector<std::int32_t>> askable_;                    // [set]: passages with a question
};

}  // namespace mplus::train
