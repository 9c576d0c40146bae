// One step's material for all streams: what is written, and what is read and asked afterwards. Lessons are a
// function of the stage's options, the seed and the step, so they can be made ahead by other threads and made
// again after a stop.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "mplus/train/lessons/chunk_maker.h"
#include "mplus/train/processes/share.h"

namespace mplus::train {

struct LessonOptions {
  ChunkOptions chunk;
  std::int64_t streams = 64;
  std::int64_t window = 96;  // most tokens of a question with its answer
  // Shares of the steps: running text without memory; passages in the window, without memory; a memory that
  // starts empty; streams that live on from step to step.
  double plain = .05, context = .07, fresh = .44, live = .44;
  // A fresh memory gets 1 to n chunks; n from this share of the stage on.
  std::vector<std::pair<double, std::int64_t>> chunks = {{0, 8}};
  std::vector<std::int64_t> lives = {12, 30, 60};  // updates, for streams that live on
  std::int64_t most_new = 3;                       // writes a step in them
  std::int64_t reads = 2;                          // windows for each series of writes
  double older = .6;                               // questions to living streams on chunks of earlier steps
  double talk = .03;     // turns that ask for nothing, where there is a chat template
  double unknown = .05;  // questions on what was never written
  double changed = 0;    // questions on facts that were told with another value later, beside those by chance
  double focus = 0;    // reads that see of short-term memory, too, no more than what they are given to recall
  double astray = 0;   // questions in such reads that are given a chunk near them that does not answer
  double next = .5;    // of streams that write a document: reads of what follows, not of what was written
  double reread = .1;  // reads with a passage's text in front of the question as well, mostly the right one's
  double several = .5;  // windows with several questions in a row
  double pose = 0;      // of the steps with passages in the window: questions are made up, not answered
  double revisit = 0;  // reads of living streams that come back to a text left earlier, to see how it went on
  double repeat = 0;   // reads that ask for a chunk word by word
};

// A window of every stream, filled up to the same length.
struct Read {
  std::int64_t T = 0;
  std::vector<std::int32_t> tokens;      // [B, T]
  std::vector<float> weight;             // [B, T], of each token as a target
  std::vector<std::int64_t> from, to;    // [B]: the tokens that ask
  std::vector<std::int64_t> update;      // [B]: whose chunk holds the answer; −1: none
  std::vector<std::int64_t> distractor;  // [B]: another update, of the same kind where there is one; −1
  std::vector<std::uint8_t> task;        // [B]: index into task_names()
  bool focused = false;                  // it sees nothing of short-term memory but what it recalls
};
const std::vector<std::string_view>& task_names();  // plain, context, then what is asked
std::uint8_t next_task();  // of what follows a document: nothing in particular is asked

enum class MemoryUse { none, fresh, live };

struct Lesson {
  std::int64_t step = 0;
  MemoryUse memory = MemoryUse::none;
  bool begins = false;       // the memory is empty before the first write
  std::int64_t updates = 0;  // written in its life before this step
  // B of the streams are this process's, from `first` on.
  std::int64_t streams = 0, first = 0;
  std::vector<std::vector<std::int32_t>> writes;  // each [B, length]
  std::vector<Read> reads;
};

class LessonMaker {
 public:
  // Of every lesson, the streams of one process are made.
  LessonMaker(const Material& material, const LessonOptions& options, std::uint64_t seed, std::int64_t steps,
              const Share& share = {});

  Lesson lesson(std::int64_t step) const;
  // From this step on, how many begin with streams that live on. 0: a run may stop before it, and resume.
  std::int64_t left_of_life(std::int64_t step) const;

 private:
  struct Plan {
    MemoryUse memory;
    bool context;                 // of steps without memory
    std::uint32_t life, updates;  // number of the memory, updates before this step
    std::int64_t writes;
    bool carries;  // streams live on past the beginning of this step

    std::uint32_t total() const { return updates + static_cast<std::uint32_t>(writes); }
  };
  struct StreamRead;
  std::optional<ChunkId> changed_chunk(ChunkId id, std::uint32_t updates, Random& draw) const;
  std::int64_t misleading_update(const Window& window, ChunkId id, std::uint32_t total, Random& draw) const;
  void fill_context(Lesson& lesson, const Plan& plan) const;
  std::optional<Window> in_window(const Plan& plan, std::uint32_t stream, Random& draw) const;
  Read read(const Plan& plan, std::int64_t step, std::uint32_t number) const;
  // Of one stream; `id` names it, and the life it is in.
  void choose(StreamRead& one, const Plan& plan, ChunkId id, bool repeats) const;
  void ask_something(StreamRead& one, const Plan& plan, ChunkId id) const;
  void ask(StreamRead& one, const Plan& plan, const ChunkId& id, double changed_first) const;
  std::int64_t other_update(StreamRead& one, const Plan& plan, ChunkId id) const;
  void reread(StreamRead& one, ChunkId id) const;
  void lead_astray(StreamRead& one, const Plan& plan, const ChunkId& id) const;

  LessonOptions options_;
  std::uint64_t seed_;
  Share share_;
  bool chats_;  // the model has a chat template
  ChunkMaker maker_;
  std::vector<Plan> plans_;  // [steps]
};

}  // namespace mplus::train
