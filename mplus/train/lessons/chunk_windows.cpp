// The windows of ChunkMaker: what is read and asked about chunks.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "mplus/core/text.h"
#include "mplus/train/lessons/chunk_maker.h"
#include "mplus/train/lessons/cloze.h"
#include "mplus/train/lessons/posed.h"
#include "mplus/train/lessons/tokens.h"

namespace mplus::train {
namespace {

constexpr float kEach = 0.2f;  // weight of targets where nearly every token is one
constexpr std::int64_t kLongestAnswer = 24;

template <class T>
void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
}

// A window that asks with tokens [from, to) of `asked`, and must say `said`.
Window asked_and_said(std::vector<std::int32_t> asked, std::int64_t from, std::int64_t to,
                      const std::vector<std::int32_t>& said) {
  Window window;
  window.tokens = std::move(asked);
  window.asks_from = from;
  window.asks_to = to;
  window.weight.assign(window.tokens.size(), kOtherWeight);
  append(window.tokens, said);
  window.weight.resize(window.tokens.size(), 1);
  return window;
}

// As many people type a question: in small letters (ASCII's), without its mark.
std::string as_typed(std::string_view question) {
  if (question.ends_with('?')) question.remove_suffix(1);
  std::string typed(trim(question));
  std::transform(typed.begin(), typed.end(), typed.begin(), lower);
  return typed;
}

// Where its first answer begins.
std::ptrdiff_t answer_begin(const Window& window) {
  return std::find(window.weight.begin(), window.weight.end(), 1.f) - window.weight.begin();
}

}  // namespace

Window ChunkMaker::question(const std::string& question, const std::string& answer, bool in_chat,
                            Random& random) const {
  if (in_chat) return turn(question, answer, random);
  std::vector<std::int32_t> asked = material_.tokenizer.encode(asked_form(question));
  const std::int64_t all = size(asked);
  return asked_and_said(std::move(asked), 0, all, material_.tokenizer.encode(" " + answer + "\n"));
}

Window ChunkMaker::turn(const std::string& user, const std::string& assistant, Random& random) const {
  const io::ChatTemplate& form = *material_.chat;
  std::vector<std::int32_t> asked;
  if (random.chance(0.5)) asked = form.default_system();
  // As in the engine, a message asks without its template's tokens.
  const io::ChatTemplate::MessageIds message = form.message(io::Role::user, user);
  const auto from = size(asked) + static_cast<std::int64_t>(message.text_begin);
  const auto to = size(asked) + static_cast<std::int64_t>(message.text_end);
  append(asked, message.ids);
  append(asked, form.open_assistant());
  std::vector<std::int32_t> said = material_.tokenizer.encode(assistant);
  append(said, form.close_assistant());
  return asked_and_said(std::move(asked), from, to, said);
}

Window ChunkMaker::talk(Random& random) const {
  FactMaker maker(random.bits());
  const bool tells = random.chance(0.5);
  const MadeTurn said = tells ? maker.telling({maker.fact().statements[0]}) : maker.small_talk();
  return turn(said.user, said.assistant, random);
}

std::optional<Window> ChunkMaker::ask(const ChunkId& id, const Asking& how, Random& random) const {
  const Chunk about = chunk(id);
  std::optional<Window> window;
  if ((about.kind == ChunkKind::passage || about.kind == ChunkKind::text) && random.chance(options_.cloze))
    window = ask_cloze(about, random, how.most, how.several);
  if (!window) switch (about.kind) {
      case ChunkKind::facts:
      case ChunkKind::chat:
        window = ask_facts(about, id, how, random);
        break;
      case ChunkKind::passage:
        window = ask_passage(about, random, how.most, how.several);
        break;
      case ChunkKind::text:
        window = ask_rest(about, random, how.most);
        break;
    }
  if (window && window->update < 0) window->update = id.update;
  return window;
}

// Goes on with another question, if it fits. The first one is what asks.
bool ChunkMaker::add_question(std::optional<Window>& all, Window next, std::int64_t most) const {
  const std::int64_t before = all ? size(all->tokens) + size(newline_) : 0;
  if (before + size(next.tokens) > most) return false;
  if (!all) {
    all = std::move(next);
    return true;
  }
  append(all->tokens, newline_);
  append(all->tokens, next.tokens);
  all->weight.resize(all->weight.size() + newline_.size(), kOtherWeight);
  all->weight.insert(all->weight.end(), next.weight.begin(), next.weight.end());
  return true;
}

// What a change changed may be changed again.
std::vector<std::pair<std::uint32_t, MadeFact>> ChunkMaker::changes_of(const Chunk& chunk, const ChunkId& id,
                                                                       std::uint32_t newest) const {
  const auto tells = [](const Chunk& told, const std::string& key) {
    return std::any_of(told.facts.begin(), told.facts.end(),
                       [&](const MadeFact& fact) { return fact.key == key; });
  };
  std::vector<std::pair<std::uint32_t, MadeFact>> changes;
  const auto concerns_us = [&](std::uint32_t update) {
    return update == id.update || std::any_of(changes.begin(), changes.end(),
                                              [&](const auto& change) { return change.first == update; });
  };
  for (std::uint32_t u = id.update + 1; u <= newest && options_.twice > 0; ++u) {
    const ChunkId later{.life = id.life, .update = u, .stream = id.stream};
    const auto earlier = changed_by(later);
    if (!earlier || !concerns_us(earlier->update)) continue;
    if (auto changed = change(later);
        changed && tells(chunk, changed->key) && tells(this->chunk(later), changed->key))
      changes.emplace_back(u, std::move(*changed));
  }
  std::reverse(changes.begin(), changes.end());
  return changes;
}

// By chance, what this fact is easily taken for, and no chunk of this life tells.
std::optional<MadeFact> ChunkMaker::mistaken(const MadeFact& fact, const Chunk& told, std::uint32_t life,
                                             Random& random) const {
  if (options_.mistaken <= 0 || !random.chance(options_.mistaken)) return std::nullopt;
  auto near = FactMaker(random.bits(), never_told(life)).mistaken(fact);
  // A chunk that ran out of keys may have told even this one.
  const auto is_near = [&](const MadeFact& its) { return its.key == near->key; };
  if (near && std::any_of(told.facts.begin(), told.facts.end(), is_near)) near.reset();
  return near;
}

std::optional<Window> ChunkMaker::ask_facts(const Chunk& chunk, const ChunkId& id, const Asking& how,
                                            Random& random) const {
  const bool in_chat = material_.chat && (chunk.kind == ChunkKind::chat ? random.chance(0.8)
                                                                        : random.chance(options_.chat_form));
  const auto changes = changes_of(chunk, id, how.newest);
  std::vector<std::size_t> order(chunk.facts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  shuffle(order, random);
  if (!changes.empty() && random.chance(how.changed_first))
    std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
      return std::any_of(changes.begin(), changes.end(),
                         [&](const auto& change) { return change.second.key == chunk.facts[i].key; });
    });
  std::optional<Window> all;
  for (const std::size_t f : order) {
    const MadeFact* fact = &chunk.facts[f];
    std::int64_t update = id.update;
    for (const auto& [u, changed] : changes)
      if (changed.key == fact->key) {
        fact = &changed;
        update = u;
        break;
      }
    if (all && update != all->update) continue;  // one window asks about one chunk
    const auto near = mistaken(*fact, chunk, id.life, random);
    if (near) fact = &*near;
    const auto& ways = fact->questions;
    Window window =
        question(ways[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(ways.size())))],
                 fact->answer, in_chat, random);
    window.unanswered = near.has_value();
    window.update = update;
    if (update != id.update) window.rival = id.update;
    if (add_question(all, std::move(window), how.most) && (!how.several || in_chat)) break;
  }
  return all;
}

std::optional<Window> ChunkMaker::ask_passage(const Chunk& chunk, Random& random, std::int64_t most,
                                              bool several) const {
  const QuestionSet& set = material_.questions[chunk.set];
  const QuestionSet::Passage& passage = set.passages[static_cast<std::size_t>(chunk.passage)];
  const bool whole =
      passage.start >= chunk.start && passage.start + passage.length <= chunk.start + size(chunk.tokens);
  const std::string text = whole ? std::string() : material_.tokenizer.decode(chunk.tokens);
  std::vector<std::int32_t> order = questions_on_[chunk.set][static_cast<std::size_t>(chunk.passage)];
  shuffle(order, random);
  std::optional<Window> all;
  for (const std::int32_t q : order) {
    const QuestionSet::Question& asked = set.questions[static_cast<std::size_t>(q)];
    if (!whole && text.find(asked.answer) == text.npos) continue;
    const bool typed = options_.typed > 0 && random.chance(options_.typed);
    Window window = question(typed ? as_typed(asked.question) : asked.question, asked.answer, false, random);
    if (size(window.tokens) - window.asks_to > kLongestAnswer) continue;
    if (add_question(all, std::move(window), most) && !several) break;
  }
  return all;
}

std::optional<Window> ChunkMaker::ask_cloze(const Chunk& chunk, Random& random, std::int64_t most,
                                            bool several) const {
  const std::string text = material_.tokenizer.decode(chunk.tokens);
  std::optional<Window> all;
  std::vector<std::string> asked;
  constexpr int kMost = 6;
  for (int i = 0; i < kMost; ++i) {
    const auto cloze = make_cloze(text, random);
    if (!cloze) break;
    if (std::find(asked.begin(), asked.end(), cloze->answer) != asked.end()) continue;
    asked.push_back(cloze->answer);
    Window window = question(cloze->question, cloze->answer, false, random);
    if (size(window.tokens) - window.asks_to > kLongestAnswer) continue;
    if (add_question(all, std::move(window), most) && !several) break;
  }
  if (all) all->cloze = true;
  return all;
}

// A piece of the chunk, to be continued after its first tokens.
std::optional<Window> ChunkMaker::ask_rest(const Chunk& chunk, Random& random, std::int64_t most) const {
  constexpr std::int64_t kLeast = 12, kMost = 40;
  const std::int64_t length = std::min(size(chunk.tokens), most);
  if (length < 2 * kLeast) return std::nullopt;
  const std::int64_t given = random.between(kLeast, std::min(kMost, length - kLeast));
  const std::int64_t from = random.between(0, size(chunk.tokens) - length);
  Window window;
  window.tokens.assign(chunk.tokens.begin() + from, chunk.tokens.begin() + from + length);
  window.weight.assign(static_cast<std::size_t>(given), kOtherWeight);
  window.weight.resize(static_cast<std::size_t>(length), kEach);
  window.asks_to = given;
  return window;
}

std::optional<Window> ChunkMaker::follow_document(const ChunkId& id, std::int64_t length) const {
  if (!is_document(id)) return std::nullopt;
  return what_follows(id, length);
}

std::optional<Window> ChunkMaker::come_back(const ChunkId& id, std::uint32_t newest,
                                            std::int64_t length) const {
  const ChunkId next{.life = id.life, .update = id.update + 1, .stream = id.stream};
  if (kind(id) != ChunkKind::text || (next.update <= newest && goes_on(next))) return std::nullopt;
  Window window = what_follows(id, length);
  window.update = id.update;
  return window;
}

Window ChunkMaker::what_follows(const ChunkId& id, std::int64_t length) const {
  const Spot spot = text_spot(id);
  Window window;
  window.tokens =
      cut(material_.texts[spot.set].tokens, spot.start + this->length(id.life, id.update), length);
  window.weight.assign(window.tokens.size(), kEach);
  window.asks_to = length;
  return window;
}

std::optional<Window> ChunkMaker::pose(const ChunkId& id, Random& random, std::int64_t most) const {
  const Chunk about = chunk(id);
  if (about.kind != ChunkKind::passage) return std::nullopt;
  const QuestionSet& set = material_.questions[about.set];
  const QuestionSet::Passage& passage = set.passages[static_cast<std::size_t>(about.passage)];
  if (passage.length > options_.length) return std::nullopt;
  std::vector<std::int32_t> order = questions_on_[about.set][static_cast<std::size_t>(about.passage)];
  shuffle(order, random);
  std::vector<std::int32_t> asked = cut(set.tokens, passage.start, passage.length), said;
  append(asked, material_.tokenizer.encode(kPoseAfterPassage));
  for (const std::int32_t q : order) {
    const QuestionSet::Question& question = set.questions[static_cast<std::size_t>(q)];
    const auto tokens = material_.tokenizer.encode(posed_form({question.question, question.answer}));
    if (size(said) + size(tokens) > most) break;
    append(said, tokens);
  }
  if (said.empty()) return std::nullopt;
  const std::int64_t to = size(asked);
  return asked_and_said(std::move(asked), 0, to, said);
}

Window ChunkMaker::repeat(const ChunkId& id) const {
  Window window;
  window.tokens = material_.tokenizer.encode("Repeat:");
  window.weight.assign(window.tokens.size(), kOtherWeight);
  window.asks_to = size(window.tokens);
  append(window.tokens, chunk(id).tokens);
  window.weight.resize(window.tokens.size(), kEach);
  window.update = id.update;
  return window;
}

void ChunkMaker::reread(Window& window, const ChunkId& id) const {
  // The engine's form (engine/answer/reread.cpp): text only, without a template's tokens.
  const std::string text =
      "Remembered text:\n" + material_.tokenizer.decode(chunk(id).tokens, /*skip_specials=*/true) + "\n\n";
  const std::vector<std::int32_t> again = material_.tokenizer.encode(text);
  window.tokens.insert(window.tokens.begin() + window.asks_from, again.begin(), again.end());
  window.weight.insert(window.weight.begin() + window.asks_from, again.size(), 0.f);
  window.asks_from += size(again);
  window.asks_to += size(again);
}

bool ChunkMaker::tell_the_same(const ChunkId& a, const ChunkId& b) const {
  const Chunk one = chunk(a), other = chunk(b);
  return std::any_of(one.facts.begin(), one.facts.end(), [&](const MadeFact& fact) {
    return std::any_of(other.facts.begin(), other.facts.end(),
                       [&](const MadeFact& its) { return its.key == fact.key; });
  });
}

std::optional<std::int64_t> ChunkMaker::misleads(const Window& window, const ChunkId& id) const {
  const std::vector<std::int32_t> tokens = chunk(id).tokens;
  const auto text = [&](auto begin, auto end) {
    return material_.tokenizer.decode(std::vector<std::int32_t>(begin, end));
  };
  const std::ptrdiff_t from = answer_begin(window);
  const auto end =
      std::find_if(window.weight.begin() + from, window.weight.end(), [](float w) { return w < 1; });
  const std::string answer =
      text(window.tokens.begin() + from, window.tokens.begin() + (end - window.weight.begin()));
  if (contains_ignoring_case(text(tokens.begin(), tokens.end()), trim(answer))) return std::nullopt;
  const std::set<std::int32_t> asks(window.tokens.begin() + window.asks_from,
                                    window.tokens.begin() + window.asks_to);
  return std::count_if(asks.begin(), asks.end(), [&](std::int32_t token) {
    return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
  });
}

void ChunkMaker::leave_unanswered(Window& window) const {
  const std::ptrdiff_t answer = answer_begin(window);
  const bool in_chat = answer > window.asks_to;  // the opening of the reply stands between
  window.tokens.resize(static_cast<std::size_t>(answer));
  window.weight.resize(static_cast<std::size_t>(answer));
  if (in_chat) {
    append(window.tokens, material_.tokenizer.encode(unknown_answer()));
    append(window.tokens, material_.chat->close_assistant());
  } else {
    append(window.tokens, material_.tokenizer.encode(fmt::format(" {}\n", unknown_answer())));
  }
  window.weight.resize(window.tokens.size(), 1);
}

Window ChunkMaker::ask_unknown(std::uint32_t life, Random& random) const {
  const bool like_told = random.chance(0.5);
  const MadeFact fact = FactMaker(random.bits(), like_told ? never_told(life) : World{}).fact();
  const auto& ways = fact.questions;
  const bool in_chat = material_.chat && random.chance(options_.chat_form);
  return question(ways[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(ways.size())))],
                  std::string(unknown_answer()), in_chat, random);
}

Window ChunkMaker::plain(Random& random, std::int64_t length) const {
  const Spot spot = draw_text(random, length);
  Window window;
  window.tokens = cut(material_.texts[spot.set].tokens, spot.start, length);
  window.weight.assign(window.tokens.size(), 1);
  return window;
}

}  // namespace mplus::train
