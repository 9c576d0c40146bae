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

Task task_of(Kind kind) {
  switch (kind) {
    case Kind::facts:
      return facts;
    case Kind::passage:
      return passage;
    case Kind::chat:
      return chat;
    case Kind::text:
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
  const auto asked = maker_.ask(changed.value_or(any), n - 1, draw, options_.window,
                                draw.chance(options_.several), changed ? 1 : kChangedFirst);
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

Read LessonMaker::read(const Plan& plan, std::int64_t step, std::uint32_t number) const {
  std::vector<Window> windows;
  std::vector<std::uint8_t> tasks;
  std::vector<std::int64_t> distractors;
  const auto total = plan.updates + static_cast<std::uint32_t>(plan.writes), newest = total - 1;
  // All streams alike: long windows beside short ones would be padding.
  const auto chance = [&](std::uint32_t purpose, double share) {
    return Random(seed_, {.purpose = purpose, .life = number, .update = static_cast<std::uint32_t>(step)})
        .chance(share);
  };
  const bool again = chance(kReread, options_.reread), repeats = chance(kRepeat, options_.repeat);
  const bool focused = chance(kFocus, options_.focus);
  for (auto b = static_cast<std::uint32_t>(share_.first(options_.streams)); b < share_.end(options_.streams);
       ++b) {
    Random draw(seed_,
                {.purpose = kRead, .life = number, .update = static_cast<std::uint32_t>(step), .stream = b});
    std::optional<Window> window;
    std::uint8_t task = unknown;
    Kind asked_kind = Kind::text;
    if (repeats) {
      window = maker_.repeat(
          {.life = plan.life, .update = static_cast<std::uint32_t>(draw.below(total)), .stream = b});
      task = repeat;
    }
    if (!window && draw.chance(options_.next)) {
      window = maker_.follow_document({.life = plan.life, .update = newest, .stream = b}, options_.window);
      task = next_text;
    }
    if (!window && chats_ && draw.chance(options_.talk)) {
      window = maker_.talk(draw);
      task = talk;
    }
    if (!window && draw.chance(options_.unknown)) {
      window = maker_.ask_unknown(plan.life, draw);
      task = unknown;
    }
    constexpr int kTries = 4;
    const bool comes_back = !window && plan.updates > 0 && draw.chance(options_.revisit);
    for (int i = 0; i < kTries && comes_back && !window; ++i) {
      const ChunkId id{
          .life = plan.life, .update = static_cast<std::uint32_t>(draw.below(plan.updates)), .stream = b};
      window = maker_.come_back(id, newest, options_.window);
      task = revisit;
    }
    const auto ask = [&](const ChunkId& id, double changed_first) {
      window = maker_.ask(id, newest, draw, options_.window, draw.chance(options_.several), changed_first);
      if (!window) return;
      asked_kind = maker_.kind(id);
      task = window->cloze ? cloze : task_of(asked_kind);
    };
    if (!window)
      if (const auto changed = changed_chunk({.life = plan.life, .update = 0, .stream = b}, total, draw))
        ask(*changed, 1);
    for (int i = 0; i < kTries && !window; ++i) {
      const bool old = plan.updates > 0 && draw.chance(options_.older);
      const auto update =
          static_cast<std::uint32_t>(old ? draw.below(plan.updates) : plan.updates + draw.below(plan.writes));
      ask({.life = plan.life, .update = update, .stream = b}, kChangedFirst);
    }
    if (!window) {  // short chunks that nothing can be asked about
      window = maker_.plain(draw, options_.window);
      task = plain_text;
    }
    // Another chunk to be recalled beside the right one: what contradicts it, else one of the same kind if
    // one is found quickly.
    std::int64_t other = window->rival;
    for (int i = 0; i < kTries && total > 1 && window->rival < 0; ++i) {
      const auto update = static_cast<std::uint32_t>(draw.below(total));
      if (update == window->update) continue;
      other = update;
      if (maker_.kind({.life = plan.life, .update = update, .stream = b}) == asked_kind) break;
    }
    constexpr double kRightPassage = 0.9;
    if (again && window->update >= 0 && task != rest && task != revisit && task != repeat) {
      const bool right = other < 0 || draw.chance(kRightPassage);
      maker_.reread(*window, {.life = plan.life,
                              .update = static_cast<std::uint32_t>(right ? window->update : other),
                              .stream = b});
    }
    const bool asks = task == facts || task == passage || task == chat || task == cloze;
    // What is given to be read does not answer, and is the nearest to what is asked that was found quickly.
    if (focused && !again && (task == unknown || (asks && draw.chance(options_.astray)))) {
      const std::int64_t near = misleading_update(*window, {.life = plan.life, .stream = b}, total, draw);
      if (near >= 0 && task == unknown) {
        other = near;
      } else if (near >= 0) {
        maker_.leave_unanswered(*window);
        window->update = near;
        other = -1;
        task = unknown;
      }
    }
    distractors.push_back(other);
    tasks.push_back(task);
    windows.push_back(std::move(*window));
  }
  Read read = collate(std::move(windows), std::move(tasks));
  read.distractor = std::move(distractors);
  read.focused = focused;
  return read;
}

}  // namespace mplus::train
