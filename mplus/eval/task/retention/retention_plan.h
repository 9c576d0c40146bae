// What a retention run will write and ask, fixed before anything is run: the same seed gives the same plan
// (docs/evaluation.md, "Retention"). Pure: no model, only a tokenizer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mplus/eval/data/chunks.h"
#include "mplus/eval/data/fillers.h"
#include "mplus/eval/data/samples.h"

namespace mplus::eval {

struct SelectOptions {
  std::int64_t samples = 100;
  std::int64_t most_answer_tokens = 10;  // a question counts if one of its answers is this short
  std::uint64_t seed = 0;
  ChunkForm form = ChunkForm::filled;
  bool answers_inside_words = false;  // texts put together without a space: "is Garxe.intending" holds Garxe
  bool share_articles = false;  // a memory may hold several passages of an article, but no two neighbours
};

// A question with the chunk that answers it.
struct Asking {
  Question question;
  PassageChunk chunk;
  std::string gold_text;  // plain words around the answer: must stand in no other chunk
};

struct Selection {
  std::vector<Asking> askings;
  std::map<std::string, std::int64_t> left_out;  // reason → number of questions looked at and not taken
};

// `per_memory` questions at most share a memory, and then, unless told otherwise, no two from one article:
// memories are filled one after the other, so `askings` are in groups. Throws not_found when too few
// questions are fit.
struct Groups {
  std::vector<std::vector<Asking>> memories;
  std::map<std::string, std::int64_t> left_out;
};
Groups select_questions(const std::vector<Question>& all, const Chunker& chunker,
                        const std::vector<const FillerChunk*>& filler, const SelectOptions& options,
                        std::int64_t per_memory);

// One memory's text, chunk by chunk.
struct PlannedChunk {
  std::string text;
  std::string origin;
  std::int64_t asking = -1;  // of the memory's questions, the one it answers
};
struct MemoryPlan {
  std::vector<Asking> askings;
  std::vector<PlannedChunk> chunks;
  std::vector<std::int64_t> place;  // per asking: its chunk's number
};

// `stream`: the passages spread over `length` chunks, one in each equal part at a random place.
MemoryPlan plan_stream(std::vector<Asking> askings, const std::vector<const FillerChunk*>& fillers,
                       std::int64_t before, std::int64_t length, std::uint64_t seed, std::uint32_t number);
// `separate`: the passage behind `before` chunks of other text, then fillers.
MemoryPlan plan_separate(Asking asking, const std::vector<const FillerChunk*>& fillers, std::int64_t before,
                         std::int64_t length);

// Fails (corrupt) when a chunk other than its own holds a question's gold text, when its own does not hold
// it, or when a prompt holds an answer.
void check_leaks(const MemoryPlan& plan, const std::vector<std::string>& prompts);
// Fails when a question's gold text stands in the fillers at all, also where it is cut in two.
void check_fillers(const Fillers& fillers, const std::vector<MemoryPlan>& plans);

}  // namespace mplus::eval
