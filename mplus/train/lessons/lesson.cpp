#include "mplus/train/lessons/lesson.h"

#include <algorithm>
#include <array>
#include <utility>

#include "mplus/core/error.h"

namespace mplus::train {
namespace {

// Purposes of draws, apart from those of chunks.
enum : std::uint32_t { kPlan = 32, kRead, kPlain, kReread, kRepeat, kPose, kFocus };
// Lives of fresh memories and of living streams are numbered apart.
constexpr std::uint32_t kFreshLives = 1u << 31;
constexpr int kQuickTries = 4;
constexpr double kChangedFirst = 0.5;  // of a chunk's facts those that were changed later

enum Task : std::uint8_t {
  plain_text,
  in_context,
  facts,
  passage,
  chat,
  rest,
  next_text,
  unknown,
  talk,
  cloze,
  revisit,
  repeat,
  pose
};

Task task_of(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::facts:
      return facts;
    case ChunkKind::passage:
      return passage;
    case ChunkKind::chat:
      return chat;
    case ChunkKind::text:
      break;
  }
  return rest;
}

// Windows of different lengths side by side. Padding has weight 0 and comes last, where no token sees it.
Read collate(std::vector<Window> windows, std::vector<std::uint8_t> tasks) {
  Read read;
  const std::size_t B = windows.size();
  for (const Window& w : windows) read.T = std::max(read.T, static_cast<std::int64_t>(w.tokens.size()));
  const auto T = static_cast<std::size_t>(read.T);
  read.tokens.assign(B * T, 0);
  read.weight.assign(B * T, 0);
  for (std::size_t b = 0; b < B; ++b) {
    const Window& w = windows[b];
    std::copy(w.tokens.begin(), w.tokens.end(), read.tokens.begin() + static_cast<std::ptrdiff_t>(b * T));
    std::copy(w.weight.begin(), w.weight.end(), read.weight.begin() + static_cast<std::ptrdiff_t>(b * T));
    read.from.push_back(w.asks_from);
    read.to.push_back(std::max(w.asks_to, w.asks_from + 1));
    read.update.push_back(w.update);
  }
  read.distractor.assign(B, -1);
  read.task = std::move(tasks);
  return read;
}

}  // namespace

const std::vector<std::string_view>& task_names() {
  static const std::vector<std::string_view> names = {"plain",   "context", "facts",   "passage", "chat",
                                                      "rest",    "next",    "unknown", "talk",    "cloze",
                                                      "revisit", "repeat",  "pose"};
  MPLUS_CHECK(names.size() == pose + 1, "{} names for {} tasks", names.size(), pose + 1);
  return names;
}

std::uint8_t next_task() { return next_text; }

LessonMaker::LessonMaker(const Material& material, const LessonOptions& options, std::uint64_t seed,
                         std::int64_t steps, const Share& share)
    : options_(options),
      seed_(seed),
      share_(share),
      chats_(material.chat.has_value()),
      maker_(material, options.chunk, seed) {
  MPLUS_CHECK(options.streams > 0 && options.reads > 0 && options.most_new > 0 && !options.lives.empty() &&
                  !options.chunks.empty(),
              "a lesson without streams, reads or writes");
  if (options.streams / 2 < share.processes && share.processes > 1)  // some lessons have half the streams
    fail(ErrorCode::invalid_argument, "streams = {}: expected at least two for each of {} processes",
         options.streams, share.processes);
  std::uint32_t life = 0, updates = 0;
  std::int64_t left = 0;  // updates of the living streams' life
  for (std::int64_t step = 0; step < steps; ++step) {
    Random draw(seed, {.purpose = kPlan, .update = static_cast<std::uint32_t>(step)});
    const std::array<double, 4> shares = {options.plain, options.context, options.fresh, options.live};
    const std::size_t what = draw.pick(shares);
    Plan plan{};
    plan.carries = left > 0;
    if (what <= 1) {
      plan.memory = MemoryUse::none;
      plan.context = what == 1;
      plan.life = kFreshLives + static_cast<std::uint32_t>(step);
      plan.writes = plan.context ? draw.between(1, 4) : 0;
    } else if (what == 2) {
      const double progress = static_cast<double>(step) / static_cast<double>(steps);
      std::int64_t most = 1;
      for (const auto& [from, n] : options.chunks)
        if (progress >= from) most = n;
      plan.memory = MemoryUse::fresh;
      plan.life = kFreshLives + static_cast<std::uint32_t>(step);
      plan.writes = draw.between(1, most);
    } else {
      if (left <= 0) {
        ++life;
        updates = 0;
        left =
            options
                .lives[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(options.lives.size())))];
      }
      plan.memory = MemoryUse::live;
      plan.life = life;
      plan.updates = updates;
      plan.writes = std::min(left, draw.between(1, options.most_new));
      updates += static_cast<std::uint32_t>(plan.writes);
      left -= plan.writes;
    }
    plans_.push_back(plan);
  }
}

std::int64_t LessonMaker::left_of_life(std::int64_t step) const {
  std::int64_t steps = 0;
  while (step + steps < std::ssize(plans_) && plans_[static_cast<std::size_t>(step + steps)].carries) ++steps;
  return steps;
}

Lesson LessonMaker::lesson(std::int64_t step) const {
  const Plan& plan = plans_.at(static_cast<std::size_t>(step));
  Lesson lesson;
  lesson.step = step;
  lesson.memory = plan.memory;
  lesson.begins = plan.memory != MemoryUse::none && plan.updates == 0;
  lesson.updates = plan.updates;
  lesson.streams = options_.streams;
  if (plan.memory == MemoryUse::none) {
    fill_context(lesson, plan);
    return lesson;
  }
  lesson.first = share_.first(lesson.streams);
  for (std::uint32_t i = 0; i < plan.writes; ++i) {
    std::vector<std::int32_t>& tokens = lesson.writes.emplace_back();
    for (auto b = static_cast<std::uint32_t>(lesson.first); b < share_.end(lesson.streams); ++b) {
      const Chunk chunk = maker_.chunk({.life = plan.life, .update = plan.updates + i, .stream = b});
      tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
    }
  }
  for (std::uint32_t r = 0; r < options_.reads; ++r) lesson.reads.push_back(read(plan, step, r));
  return lesson;
}

// By chance, a chunk with a fact that a later one of the first `updates` changed, if one is found quickly.
std::optional<ChunkId> LessonMaker::changed_chunk(ChunkId id, std::uint32_t updates, Random& draw) const {
  constexpr int kTries = 8;
  if (!draw.chance(options_.changed)) return std::nullopt;
  for (int i = 0; i < kTries; ++i) {
    id.update = static_cast<std::uint32_t>(draw.below(updates));
    if (const auto earlier = maker_.changed_by(id)) return earlier;
  }
  return std::nullopt;
}

// Of some of the first `total` updates, the one that shares most with the question and does not answer it;
// −1: each of them may.
std::int64_t LessonMaker::misleading_update(const Window& window, ChunkId id, std::uint32_t total,
                                            Random& draw) const {
  constexpr int kTries = 6;
  std::int64_t best = -1, most = -1;
  ChunkId right = id;
  right.update = static_cast<std::uint32_t>(window.update);
  for (int i = 0; i < kTries; ++i) {
    id.update = static_cast<std::uint32_t>(draw.below(total));
    if (id.update == right.update) continue;
    const auto shared = maker_.misleads(window, id);
    if (!shared || *shared <= most || (window.update >= 0 && maker_.tell_the_same(id, right))) continue;
    most = *shared;
    best = id.update;
  }
  return best;
}

// Running text, or a question behind the chunks themselves: what the model can do without its memory. Or
// questions to be made up, in all streams of a step: these windows are shorter.
void LessonMaker::fill_context(Lesson& lesson, const Plan& plan) const {
  std::vector<Window> windows;
  std::vector<std::uint8_t> tasks;
  const auto step = static_cast<std::uint32_t>(lesson.step);
  const bool poses = plan.context && Random(seed_, {.purpose = kPose, .update = step}).chance(options_.pose);
  // Long windows take the place of several chunks.
  if (plan.context && !poses) lesson.streams = std::max<std::int64_t>(1, options_.streams / 2);
  lesson.first = share_.first(lesson.streams);
  for (auto b = static_cast<std::uint32_t>(lesson.first); b < share_.end(lesson.streams); ++b) {
    Random draw(seed_, {.purpose = kPlain, .update = step, .stream = b});
    std::optional<Window> window;
    std::uint8_t task = plain_text;
    if (poses) {
      window = maker_.pose({.life = plan.life, .update = 0, .stream = b}, draw, options_.window);
      if (window) task = pose;
    } else if (plan.context) {
      window = in_window(plan, b, draw);
      if (window) task = in_context;
    }
    windows.push_back(window ? std::move(*window) : maker_.plain(draw, options_.chunk.length + 1));
    tasks.push_back(task);
  }
  lesson.reads.push_back(collate(std::move(windows), std::move(tasks)));
}

// All chunks of a memory as text, and a question about one of them. None: there is nothing to ask.
std::optional<Window> LessonMaker::in_window(const Plan& plan, std::uint32_t stream, Random& draw) const {
  const auto n = static_cast<std::uint32_t>(plan.writes);
  const auto changed = changed_chunk({.life = plan.life, .update = 0, .stream = stream}, n, draw);
  const ChunkId any{.life = plan.life, .update = static_cast<std::uint32_t>(draw.below(n)), .stream = stream};
  const bool several = draw.chance(options_.several);
  const auto asked = maker_.ask(changed.value_or(any),
                                {.newest = n - 1,
                                 .most = options_.window,
                                 .several = several,
                                 .changed_first = changed ? 1 : kChangedFirst},
                                draw);
  if (!asked) return std::nullopt;
  Window all;
  for (std::uint32_t u = 0; u < n; ++u) {
    const Chunk chunk = maker_.chunk({.life = plan.life, .update = u, .stream = stream});
    all.tokens.insert(all.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
  }
  all.weight.assign(all.tokens.size(), 0);
  all.tokens.insert(all.tokens.end(), asked->tokens.begin(), asked->tokens.end());
  all.weight.insert(all.weight.end(), asked->weight.begin(), asked->weight.end());
  return all;
}

// What one stream reads, and is asked.
struct LessonMaker::StreamRead {
  Random draw;
  std::optional<Window> window = {};
  std::uint8_t task = unknown;
  ChunkKind kind = ChunkKind::text;  // of the chunk that is asked about
  std::int64_t other = -1;           // another update, to be recalled beside the right one
};

void LessonMaker::ask(StreamRead& one, const Plan& plan, const ChunkId& id, double changed_first) const {
  const bool several = one.draw.chance(options_.several);
  one.window = maker_.ask(id,
                          {.newest = plan.total() - 1,
                           .most = options_.window,
                           .several = several,
                           .changed_first = changed_first},
                          one.draw);
  if (!one.window) return;
  one.kind = maker_.kind(id);
  one.task = one.window->cloze ? cloze : one.window->unanswered ? unknown : task_of(one.kind);
}

// A question on a chunk: on one that was changed later, by chance, else on an old or a new one.
void LessonMaker::ask_something(StreamRead& one, const Plan& plan, ChunkId id) const {
  if (const auto changed = changed_chunk(id, plan.total(), one.draw)) ask(one, plan, *changed, 1);
  for (int i = 0; i < kQuickTries && !one.window; ++i) {
    const bool old = plan.updates > 0 && one.draw.chance(options_.older);
    id.update = static_cast<std::uint32_t>(old ? one.draw.below(plan.updates)
                                               : plan.updates + one.draw.below(plan.writes));
    ask(one, plan, id, kChangedFirst);
  }
}

void LessonMaker::choose(StreamRead& one, const Plan& plan, ChunkId id, bool repeats) const {
  Random& draw = one.draw;
  const auto take = [&](std::optional<Window> window, std::uint8_t task) {
    one.window = std::move(window);
    one.task = task;
  };
  if (repeats) {
    id.update = static_cast<std::uint32_t>(draw.below(plan.total()));
    take(maker_.repeat(id), repeat);
  }
  if (!one.window && draw.chance(options_.next)) {
    id.update = plan.total() - 1;
    take(maker_.follow_document(id, options_.window), next_text);
  }
  if (!one.window && chats_ && draw.chance(options_.talk)) take(maker_.talk(draw), talk);
  if (!one.window && draw.chance(options_.unknown)) take(maker_.ask_unknown(plan.life, draw), unknown);
  const bool comes_back = !one.window && plan.updates > 0 && draw.chance(options_.revisit);
  for (int i = 0; i < kQuickTries && comes_back && !one.window; ++i) {
    id.update = static_cast<std::uint32_t>(draw.below(plan.updates));
    take(maker_.come_back(id, plan.total() - 1, options_.window), revisit);
  }
  id.update = 0;
  if (!one.window) ask_something(one, plan, id);
  // Short chunks that nothing can be asked about.
  if (!one.window) take(maker_.plain(draw, options_.window), plain_text);
}

// What contradicts the right chunk, else one of the same kind if one is found quickly.
std::int64_t LessonMaker::other_update(StreamRead& one, const Plan& plan, ChunkId id) const {
  std::int64_t other = one.window->rival;
  for (int i = 0; i < kQuickTries && plan.total() > 1 && one.window->rival < 0; ++i) {
    id.update = static_cast<std::uint32_t>(one.draw.below(plan.total()));
    if (id.update == one.window->update) continue;
    other = id.update;
    if (maker_.kind(id) == one.kind) break;
  }
  return other;
}

// The text of a passage in front of the question, mostly the right one's.
void LessonMaker::reread(StreamRead& one, ChunkId id) const {
  constexpr double kRightPassage = 0.9;
  if (one.window->update < 0 || one.task == rest || one.task == revisit || one.task == repeat) return;
  const bool right = one.other < 0 || one.draw.chance(kRightPassage);
  id.update = static_cast<std::uint32_t>(right ? one.window->update : one.other);
  maker_.reread(*one.window, id);
}

// What is given to be read does not answer, and is the nearest to what is asked that was found quickly.
void LessonMaker::lead_astray(StreamRead& one, const Plan& plan, const ChunkId& id) const {
  const bool asks = one.task == facts || one.task == passage || one.task == chat || one.task == cloze;
  if (one.task != unknown && !(asks && one.draw.chance(options_.astray))) return;
  const std::int64_t near = misleading_update(*one.window, id, plan.total(), one.draw);
  if (near < 0) return;
  if (one.task == unknown) {
    one.other = near;
    return;
  }
  maker_.leave_unanswered(*one.window);
  one.window->update = near;
  one.other = -1;
  one.task = unknown;
}

Read LessonMaker::read(const Plan& plan, std::int64_t step, std::uint32_t number) const {
  std::vector<Window> windows;
  std::vector<std::uint8_t> tasks;
  std::vector<std::int64_t> distractors;
  const auto update = static_cast<std::uint32_t>(step);
  // All streams alike: long windows beside short ones would be padding.
  const auto chance = [&](std::uint32_t purpose, double share) {
    return Random(seed_, {.purpose = purpose, .life = number, .update = update}).chance(share);
  };
  const bool again = chance(kReread, options_.reread), repeats = chance(kRepeat, options_.repeat);
  const bool focused = chance(kFocus, options_.focus);
  for (auto b = static_cast<std::uint32_t>(share_.first(options_.streams)); b < share_.end(options_.streams);
       ++b) {
    const ChunkId id{.life = plan.life, .update = 0, .stream = b};
    StreamRead one{Random(seed_, {.purpose = kRead, .life = number, .update = update, .stream = b})};
    choose(one, plan, id, repeats);
    one.other = other_update(one, plan, id);
    if (again) reread(one, id);
    if (focused && !again) lead_astray(one, plan, id);
    distractors.push_back(one.other);
    tasks.push_back(one.task);
    windows.push_back(std::move(*one.window));
  }
  Read read = collate(std::move(windows), std::move(tasks));
  read.distractor = std::move(distractors);
  read.focused = focused;
  return read;
}

}  // namespace mplus::train
