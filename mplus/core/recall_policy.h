// How a question brings back what was remembered (docs/recall.md): what a delta says of it, and what a
// request may say instead. Plain data: parsed once (io/config), resolved once for a read, and used as it is
// by memory, engine, evaluation and trainer.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace mplus {

enum class RecallRule : std::uint8_t {
  none,
  per_layer,  // the paper's: each layer takes the rows its own queries score best
  consensus,  // the layers vote on chunks
  hybrid,     // vote and prior together
  words,      // the prior alone
  random,     // rows drawn by seed
  attention,  // each layer takes the rows with the highest query · key product
  oracle,     // given chunks first, then by vote
  vector,     // one vector a chunk, cosine with the question's
};

inline constexpr RecallRule kRecallRules[] = {
    RecallRule::hybrid, RecallRule::consensus, RecallRule::words,  RecallRule::per_layer, RecallRule::none,
    RecallRule::random, RecallRule::attention, RecallRule::oracle, RecallRule::vector};

std::optional<RecallRule> recall_rule_from_name(std::string_view name);
std::string_view recall_rule_name(RecallRule rule);
std::string recall_rule_names();  // all of them, for messages

// What a question sees of memory beside bos.
enum class ReadOver : std::uint8_t {
  everything,  // all of short-term memory, and what was recalled: as published
  recalled,    // of short-term memory, too, only the rows among the K0 of a recall over everything
  attempts,    // the same, one chunk after another, the newest first, until one of them gives an answer
};
inline constexpr std::string_view kReadOverNames[] = {"everything", "recalled", "in-turn"};  // in that order
std::optional<ReadOver> read_over_from_name(std::string_view name);
std::string_view read_over_name(ReadOver read_over);

// What an answer must have for itself in the text of the passage that it was read from.
enum class EvidenceRule : std::uint8_t {
  none,
  names,  // a passage that an answer stands in speaks of somebody or something the question names
};
inline constexpr std::string_view kEvidenceNames[] = {"none", "names"};  // in that order
std::optional<EvidenceRule> evidence_from_name(std::string_view name);
std::string_view evidence_name(EvidenceRule evidence);

// Who answers what nobody need have told: small talk, tasks, what everybody knows.
enum class TalkRule : std::uint8_t {
  memory,  // the same that answers everything else
  base,    // the base model by itself, where the delta brings what tells such messages (docs/talk.md)
};
inline constexpr std::string_view kTalkNames[] = {"memory", "base"};  // in that order
std::optional<TalkRule> talk_from_name(std::string_view name);
std::string_view talk_name(TalkRule talk);

enum class Search : std::uint8_t { automatic, exact, two_level };  // automatic: two levels where faster
std::optional<Search> search_from_name(std::string_view name);     // auto, exact, two-level

struct SearchOptions {  // numbers of chunks that are scored exactly
  Search search = Search::automatic;
  std::int64_t sample = 128;   // in every layer, to learn from, spread evenly over all
  std::int64_t keep = 1408;    // because they come first by estimate: in the layers that leave most open
  std::int64_t finish = 128;   // because they come first after that: in every layer
  std::int64_t sharpen = 224;  // in a layer, on average, in addition to the sample
};

inline constexpr double kNoMargin = std::numeric_limits<double>::infinity();

struct RecallPolicy {
  RecallRule rule = RecallRule::per_layer;  // as published

  // Of the rules that put chunks in order.
  std::int64_t vote_top = 0;  // a chunk's score is the mean of its so many best rows; 0: of all
  double words_weight = 1;    // λ of hybrid: what the prior counts beside the vote
  // Short-term rows take part in the vote, and those of a chunk that comes first count among its K0 rows. So
  // what is in short-term memory already is not crowded by what answers worse. Not under `vector`.
  bool over_everything = false;
  // Chunks further behind the best one than so many standard deviations of what they are ordered by are not
  // recalled: beside a clear winner they only distract. Chunks given to oracle always are.
  double margin = kNoMargin;
  SearchOptions search = {};

  // All but `everything` need over_everything. What stands beside the chunk that answers distracts, and a
  // chunk that says the same of another time more so.
  ReadOver read_over = ReadOver::everything;
  std::int64_t attempts = 3;   // most of them, of the chunks within the margin
  double lean = 0;             // nats: how much likelier "no answer" must be than an answer
  double lag = 0;              // nats more for an answer, a standard deviation behind the best
  std::string no_answer = {};  // what the model says where nothing it sees answers
  EvidenceRule evidence = EvidenceRule::names;  // where there is a no_answer, and the text is known
  // 2: what a passage names beside what the question names may lead on to a second one, and both are read
  // together. Where evidence is looked at; 1: passages are read by themselves.
  std::int64_t hops = 2;
  TalkRule talk = TalkRule::base;
};
inline constexpr std::int64_t kMostHops = 2;

// What a request asks for; unset: as the policy has it.
struct RecallRequest {
  std::optional<RecallRule> rule;
  std::optional<double> words_weight;
  std::optional<bool> over_everything;
  std::optional<double> margin;
  std::optional<ReadOver> read_over;  // unset where short-term rows do not take part: everything
  std::optional<Search> search;
  std::optional<EvidenceRule> evidence;
  std::optional<std::int64_t> hops;
  std::optional<TalkRule> talk;
};

// Throws where the two do not fit together.
RecallPolicy resolved(RecallPolicy policy, const RecallRequest& request);

}  // namespace mplus
