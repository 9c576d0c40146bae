#include "mplus/train/lessons/chunk_maker.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/train/lessons/tokens.h"

namespace mplus::train {
namespace {

// Purposes of draws at one place.
enum : std::uint32_t {
  kLength = 1,
  kDocument,
  kKind,
  kChange,
  kChangedFact,
  kFacts,
  kText,
  kContinues,
  kPassage,
  kLayout,
  kWorld
};

constexpr std::int64_t kShortest = 16;     // tokens of a short chunk
constexpr std::int64_t kMostFacts = 24;    // that a chunk may tell
constexpr std::int64_t kLongestLife = 40;  // updates that a document should last for
constexpr std::uint32_t kParts = 32;       // of a world; the last one is never told
constexpr double kInsideText = 1. / 3;     // chunks of facts that stand inside other text
constexpr double kTerse = 0.4;             // chunks of facts told in fewer words: more of them fit
constexpr double kTextGoesOn = 0.5;        // chunks of text that go on where the one before stopped
constexpr double kTelling = 0.6;           // turns of a conversation that tell something

}  // namespace

std::string_view kind_name(ChunkKind kind) {
  constexpr std::string_view names[] = {"facts", "passage", "chat", "text"};
  return names[static_cast<std::size_t>(kind)];
}

ChunkMaker::ChunkMaker(const Material& material, const ChunkOptions& options, std::uint64_t seed)
    : material_(material), options_(options), seed_(seed), newline_(material.tokenizer.encode("\n")) {
  MPLUS_CHECK(!material.texts.empty() && material.texts.size() == material.text_weights.size() &&
                  material.questions.size() == material.question_weights.size(),
              "a weight for every set, and at least one text");
  MPLUS_CHECK(options.kinds.size() == kKinds, "{} weights of kinds, {} expected", options.kinds.size(),
              kKinds);
  if (!material.chat) options_.kinds[static_cast<std::size_t>(ChunkKind::chat)] = options_.chat_form = 0;
  if (material.questions.empty()) options_.kinds[static_cast<std::size_t>(ChunkKind::passage)] = 0;
  for (const QuestionSet& set : material.questions) {
    auto& of_passage = questions_on_.emplace_back(set.passages.size());
    for (std::size_t i = 0; i < set.questions.size(); ++i)
      if (const std::int32_t passage = set.questions[i].passage; passage >= 0)
        of_passage[static_cast<std::size_t>(passage)].push_back(static_cast<std::int32_t>(i));
    auto& askable = askable_.emplace_back();
    for (std::size_t p = 0; p < of_passage.size(); ++p)
      if (!of_passage[p].empty()) askable.push_back(static_cast<std::int32_t>(p));
    if (askable.empty())
      fail(ErrorCode::invalid_argument, "{}: no question on a passage to train with", set.name);
  }
}

Random ChunkMaker::random(std::uint32_t purpose, const ChunkId& id) const {
  return Random(seed_, {.purpose = purpose, .life = id.life, .update = id.update, .stream = id.stream});
}

std::int64_t ChunkMaker::length(std::uint32_t life, std::uint32_t update) const {
  Random draw = random(kLength, {.life = life, .update = update});
  return draw.chance(options_.short_share) ? draw.between(kShortest, options_.length) : options_.length;
}

bool ChunkMaker::is_document(const ChunkId& id) const {
  return random(kDocument, {.life = id.life, .stream = id.stream}).chance(options_.document);
}

ChunkKind ChunkMaker::kind(const ChunkId& id) const {
  return is_document(id) ? ChunkKind::text : static_cast<ChunkKind>(random(kKind, id).pick(options_.kinds));
}

Chunk ChunkMaker::chunk(const ChunkId& id) const {
  const std::int64_t wanted = length(id.life, id.update);
  Chunk chunk;
  chunk.kind = kind(id);
  switch (chunk.kind) {
    case ChunkKind::facts:
      make_facts(chunk, id, wanted);
      break;
    case ChunkKind::chat:
      make_chat(chunk, id, wanted);
      break;
    case ChunkKind::passage:
      make_passage(chunk, id, wanted);
      break;
    case ChunkKind::text: {
      const Spot spot = text_spot(id);
      chunk.set = spot.set;
      chunk.start = spot.start;
      chunk.tokens = cut(material_.texts[spot.set].tokens, spot.start, wanted);
      break;
    }
  }
  return chunk;
}

// --- running text ---

std::vector<std::int32_t> ChunkMaker::cut(const std::vector<std::int32_t>& tokens, std::int64_t start,
                                          std::int64_t length) const {
  // A set shorter than a chunk is read round and round.
  std::vector<std::int32_t> out(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = tokens[(static_cast<std::size_t>(start) + i) % tokens.size()];
  return out;
}

// Inside one document where that is long enough; otherwise a span runs on into the next ones.
ChunkMaker::Spot ChunkMaker::draw_text(Random& random, std::int64_t span) const {
  const std::size_t set = random.pick(material_.text_weights);
  const TextSet& text = material_.texts[set];
  const std::int64_t at = random.below(size(text.tokens));
  const auto document = std::upper_bound(text.starts.begin(), text.starts.end(), at) - 1;
  const std::int64_t start = std::max(document[0], std::min(at, document[1] - span));
  return {set, std::max<std::int64_t>(0, std::min(start, size(text.tokens) - span))};
}

bool ChunkMaker::goes_on(const ChunkId& id) const {
  if (id.update == 0 || kind(id) != ChunkKind::text) return false;
  return is_document(id) ||
         (random(kContinues, id).chance(kTextGoesOn) &&
          kind({.life = id.life, .update = id.update - 1, .stream = id.stream}) == ChunkKind::text);
}

ChunkMaker::Spot ChunkMaker::text_spot(const ChunkId& id) const {
  if (is_document(id)) {
    Random draw = random(kText, {.life = id.life, .stream = id.stream});
    Spot spot = draw_text(draw, kLongestLife * options_.length);
    for (std::uint32_t u = 0; u < id.update; ++u) spot.start += length(id.life, u);
    return spot;
  }
  if (goes_on(id)) {
    const ChunkId before{.life = id.life, .update = id.update - 1, .stream = id.stream};
    Spot spot = text_spot(before);
    spot.start += length(id.life, before.update);
    return spot;
  }
  Random draw = random(kText, id);
  return draw_text(draw, 4 * options_.length);
}

// --- facts ---

bool ChunkMaker::tells_facts(const ChunkId& id) const {
  const ChunkKind told_as = kind(id);
  return told_as == ChunkKind::facts || told_as == ChunkKind::chat;
}

std::optional<ChunkId> ChunkMaker::changed_by(const ChunkId& id) const {
  constexpr int kTries = 4;
  Random draw = random(kChange, id);
  if (id.update == 0 || !tells_facts(id) || !draw.chance(options_.twice)) return std::nullopt;
  for (int i = 0; i < kTries; ++i)
    if (const ChunkId earlier{.life = id.life,
                              .update = static_cast<std::uint32_t>(draw.below(id.update)),
                              .stream = id.stream};
        tells_facts(earlier))
      return earlier;
  return std::nullopt;
}

// A fact of an earlier chunk of this stream with another value, where this chunk tells one.
std::optional<MadeFact> ChunkMaker::change(const ChunkId& id) const {
  const auto earlier = changed_by(id);
  if (!earlier) return std::nullopt;
  const std::vector<MadeFact> facts = chunk(*earlier).facts;
  if (facts.empty()) return std::nullopt;
  Random draw = random(kChangedFact, id);
  const auto which = static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(facts.size())));
  return FactMaker(draw.bits()).changed(facts[which]);
}

World ChunkMaker::world(std::uint32_t life, std::uint32_t part) const {
  return {.seed = random(kWorld, {.life = life}).bits() | 1, .part = part, .parts = kParts};
}

World ChunkMaker::never_told(std::uint32_t life) const { return world(life, kParts - 1); }

std::vector<MadeFact> ChunkMaker::facts_to_tell(const ChunkId& id) const {
  Random draw = random(kFacts, id);
  // Facts of one life share kinds and names, what tells them apart is no single word; yet no chunk tells what
  // another one tells differently, but where that is meant.
  FactMaker maker(draw.bits(), world(id.life, (id.update + 7 * id.stream) % (kParts - 1)));
  std::vector<MadeFact> facts;
  if (auto changed = change(id)) facts.push_back(std::move(*changed));
  const std::size_t fixed = facts.size();
  while (static_cast<std::int64_t>(facts.size()) < kMostFacts) {
    MadeFact fact = maker.fact();
    const bool known =
        std::any_of(facts.begin(), facts.end(), [&](const MadeFact& f) { return f.key == fact.key; });
    if (!known) facts.push_back(std::move(fact));
  }
  // The changed fact stands among the first few, so that it is told.
  if (fixed > 0) std::swap(facts[0], facts[static_cast<std::size_t>(draw.below(2))]);
  return facts;
}

void ChunkMaker::make_facts(Chunk& chunk, const ChunkId& id, std::int64_t length) const {
  Random draw = random(kLayout, id);
  const bool inside = draw.chance(kInsideText), terse = draw.chance(kTerse);
  const Spot around = draw_text(draw, 2 * length);
  const std::vector<std::int32_t> filler = cut(material_.texts[around.set].tokens, around.start, length);
  std::int64_t used = 0;  // of the filler
  const std::int64_t most = inside ? draw.between(2, 5) : kMostFacts;
  for (MadeFact& fact : facts_to_tell(id)) {
    if (static_cast<std::int64_t>(chunk.facts.size()) >= most) break;
    const auto way = [&]() -> const std::string& {
      return fact.statements[static_cast<std::size_t>(
          draw.below(static_cast<std::int64_t>(fact.statements.size())))];
    };
    const auto shorter = [](const std::string& a, const std::string& b) -> const std::string& {
      return b.size() < a.size() ? b : a;
    };
    const std::string& said = terse ? shorter(way(), shorter(way(), way())) : way();
    const std::int64_t gap = inside ? draw.between(5, std::max<std::int64_t>(6, length / most - 20)) : 0;
    std::vector<std::int32_t> statement =
        material_.tokenizer.encode(chunk.tokens.empty() && gap == 0 ? said : " " + said);
    if (size(chunk.tokens) + gap + size(statement) > length) break;
    chunk.tokens.insert(chunk.tokens.end(), filler.begin() + used, filler.begin() + used + gap);
    used += gap;
    append(chunk.tokens, statement);
    chunk.facts.push_back(std::move(fact));
  }
  chunk.tokens.insert(chunk.tokens.end(), filler.begin() + used,
                      filler.begin() + used + (length - size(chunk.tokens)));
}

void ChunkMaker::make_chat(Chunk& chunk, const ChunkId& id, std::int64_t length) const {
  Random draw = random(kLayout, id);
  FactMaker talk(draw.bits());
  const io::ChatTemplate& form = *material_.chat;
  if (draw.chance(0.3)) append(chunk.tokens, form.default_system());
  const std::vector<MadeFact> facts = facts_to_tell(id);
  std::size_t next = 0;
  while (size(chunk.tokens) < length) {
    std::vector<std::string> statements;
    const std::size_t first = next;
    if (draw.chance(kTelling))
      for (std::int64_t n = draw.between(1, 3); n > 0 && next < facts.size(); --n, ++next) {
        const auto& ways = facts[next].statements;
        statements.push_back(
            ways[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(ways.size())))]);
      }
    const MadeTurn turn = statements.empty() ? talk.small_talk() : talk.telling(statements);
    append(chunk.tokens, form.message(io::Role::user, turn.user).ids);
    if (size(chunk.tokens) <= length)  // told in full
      chunk.facts.insert(chunk.facts.end(), facts.begin() + static_cast<std::ptrdiff_t>(first),
                         facts.begin() + static_cast<std::ptrdiff_t>(next));
    append(chunk.tokens, form.message(io::Role::assistant, turn.assistant).ids);
  }
  chunk.tokens.resize(static_cast<std::size_t>(length));
}

// --- passages ---

void ChunkMaker::make_passage(Chunk& chunk, const ChunkId& id, std::int64_t length) const {
  Random draw = random(kPassage, id);
  chunk.set = draw.pick(material_.question_weights);
  const QuestionSet& set = material_.questions[chunk.set];
  const auto& askable = askable_[chunk.set];
  chunk.passage = askable[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(askable.size())))];
  const QuestionSet::Passage& passage = set.passages[static_cast<std::size_t>(chunk.passage)];
  // A passage stands anywhere among its neighbours; one that is too long is cut anywhere.
  const std::int64_t slack = length - passage.length;
  chunk.start = passage.start + (slack >= 0 ? -draw.between(0, slack) : draw.between(0, -slack));
  chunk.start =
      std::clamp<std::int64_t>(chunk.start, 0, std::max<std::int64_t>(0, size(set.tokens) - length));
  chunk.tokens = cut(set.tokens, chunk.start, length);
}

}  // namespace mplus::train
