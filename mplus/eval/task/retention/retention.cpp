#include "mplus/eval/task/retention/retention.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "mplus/core/error.h"
#include "mplus/eval/data/fillers.h"
#include "mplus/eval/run/recorded_answers.h"
#include "mplus/eval/task/retention/retention_plan.h"
#include "mplus/eval/task/sample.h"
#include "mplus/eval/task/script.h"

namespace mplus::eval {
namespace {

constexpr std::size_t kSideBySide = 4;   // memories filled together: each may take a gigabyte
constexpr std::int64_t kPoolFactor = 2;  // more fillers than one memory needs, so that lists differ

struct Point {              // a moment at which questions are asked
  std::int64_t chunks = 0;  // written before it
  std::vector<std::size_t> askings;
};

std::vector<std::int64_t> default_distances(Protocol protocol) {
  if (protocol == Protocol::stream) return {160, 320, 480, 640};
  return {0, 1, 2, 5, 10, 20, 40};
}

class Retention final : public Task {
 public:
  RunIdentity prepare(TaskRun& run) override {
    engine::Engine& engine = run.engine;
    options_ = run.options;
    require_memory(engine, "retention");
    columns_ = task_columns(options_, {"closed-book", "context", "stm", "mplus"});
    if (options_.distances.empty()) options_.distances = default_distances(options_.protocol);
    std::sort(options_.distances.begin(), options_.distances.end());
    const std::string form = options_.form.empty() ? engine.weights().memory->chunk_form : options_.form;
    form_ = form == "filled" ? ChunkForm::filled : ChunkForm::paper;
    if (options_.samples == 0) options_.samples = 100;
    if (options_.max_tokens == 0) options_.max_tokens = 12;
    make_plans(engine);
    check(engine);
    Json fields{{"task", "retention"},
                {"protocol", options_.protocol == Protocol::stream ? "stream" : "separate"}};
    fields["start"] = options_.start == Start::empty ? "empty" : "full";
    fields["form"] = chunk_form_name(form_);
    fields["data"] = file_identity(options_.data);
    fields["distractors"] = Json::array();
    for (const auto& file : options_.distractors) fields["distractors"].push_back(file_identity(file));
    fields["samples"] = options_.samples;
    fields["distances"] = options_.distances;
    fields["max_tokens"] = options_.max_tokens;
    fields["evidence"] = evidence_identity(run.engine, options_);
    fields["talk"] = talk_identity(run.engine, options_);
    fields["most_answer_tokens"] = options_.most_answer_tokens;
    fields["seed"] = options_.seed;
    fields["model"] = model_identity(engine);
    fields["ids"] = Json::array();
    for (const MemoryPlan& plan : plans_)
      for (const Asking& asking : plan.askings) fields["ids"].push_back(asking.question.id);
    fields["left_out"] = left_out_;
    return {fmt::format("retention-{}-{}", fields["protocol"].get<std::string>(), data_stem(options_.data)),
            fields};
  }

  Planned planned() const override {
    Planned plan{.scripts = {}, .max_tokens = options_.max_tokens, .seed = options_.seed};
    for (const MemoryPlan& memory : plans_) {
      Script& script = plan.scripts.emplace_back();
      for (const PlannedChunk& chunk : memory.chunks)
        script.writes.push_back({.text = chunk.text, .turns = {}, .origin = chunk.origin});
      for (std::size_t a = 0; a < memory.askings.size(); ++a)
        script.asks.push_back({.question = memory.askings[a].question, .gold = memory.place[a]});
      for (const std::int64_t distance : options_.distances) script.points.push_back(written_at(distance));
    }
    return plan;
  }

  bool work(TaskRun& run, RunLog& log) override {
    run_ = &run;
    log_ = &log;
    if (run.answers) {
      take(*run.answers);
      return true;
    }
    asker_.emplace(run.engine, wants_base(columns_) ? &run.base() : nullptr, options_.max_tokens,
                   options_.evidence, options_.talk);
    steps_.emplace(run.progress, count_work());
    const std::size_t side_by_side = options_.protocol == Protocol::separate ? kSideBySide : 1;
    for (std::size_t m = 0; m < plans_.size(); m += side_by_side)
      if (!run_group(m, std::min(side_by_side, plans_.size() - m))) return false;
    return steps_->go("done");
  }

 private:
  void make_plans(engine::Engine& engine) {
    const Chunker chunker(engine.tokenizer(), engine.chunk_tokens());
    const std::vector<Question> all = read_questions(options_.data, PassageNeed::required);
    const memory::Layout& layout = engine.layout();
    const std::int64_t before = options_.start == Start::full ? 2 * layout.N / layout.K : 0;
    const std::int64_t length = options_.distances.back();
    const bool stream = options_.protocol == Protocol::stream;
    const std::int64_t per_memory = stream ? std::max<std::int64_t>(1, length / 2) : 1;
    const std::int64_t in_memory = stream ? std::min(per_memory, options_.samples) : 1;
    if (stream && options_.distances.front() < 1)
      fail(ErrorCode::invalid_argument,
           "--distances: in a stream these are chunks written before asking, 1 or more; found {}",
           options_.distances.front());
    const Fillers fillers(options_.distractors, chunker, kPoolFactor * (before + length), layout.K);
    const SelectOptions select{.samples = options_.samples,
                               .most_answer_tokens = options_.most_answer_tokens,
                               .seed = options_.seed,
                               .form = form_};
    // Around passages without neighbours stands other text, the same for every memory.
    Groups groups = select_questions(
        all, chunker,
        length > 0 ? fillers.list(std::min<std::int64_t>(64, before + length), options_.seed, 1u << 30)
                   : std::vector<const FillerChunk*>{},
        select, std::min(per_memory, in_memory));
    left_out_ = groups.left_out;
    for (std::size_t m = 0; m < groups.memories.size(); ++m) {
      const auto number = static_cast<std::uint32_t>(m);
      const auto list = fillers.list(before + length, options_.seed, number);
      plans_.push_back(
          stream ? plan_stream(std::move(groups.memories[m]), list, before, length, options_.seed, number)
                 : plan_separate(std::move(groups.memories[m].front()), list, before, length));
    }
    before_ = before;
    check_fillers(fillers, plans_);
  }

  void check(engine::Engine& engine) const {
    const Asker asker(engine, nullptr, options_.max_tokens);
    for (const MemoryPlan& plan : plans_) {
      std::vector<std::string> prompts;
      for (const Asking& asking : plan.askings) {
        asker.check_length(asking.question);
        prompts.push_back(asker.prompt(asking.question.question));
      }
      check_leaks(plan, prompts);
    }
  }

  // Chunks written when a distance is reached. Stream: so many in all. Separate: so many behind the passage.
  std::int64_t written_at(std::int64_t distance) const {
    return before_ + distance + (options_.protocol == Protocol::separate ? 1 : 0);
  }

  Point point_of(const MemoryPlan& plan, std::int64_t distance) const {
    Point point{.chunks = written_at(distance), .askings = {}};
    for (std::size_t a = 0; a < plan.askings.size(); ++a)
      if (plan.place[a] < point.chunks) point.askings.push_back(a);
    return point;
  }

  std::vector<Point> points(const MemoryPlan& plan) const {
    std::vector<Point> result;
    for (std::int64_t distance : options_.distances) result.push_back(point_of(plan, distance));
    return result;
  }

  std::string key(std::size_t m, const Asking& asking, const Column& column, std::int64_t chunks) const {
    return fmt::format("{}/{}/{}/{}", m, column.name, column.fixed() ? 0 : chunks, asking.question.id);
  }

  // Chunks that have to be written because something behind them is not asked yet.
  std::int64_t last_needed(std::size_t m) const {
    std::int64_t last = 0;
    for (const Point& point : points(plans_[m]))
      for (std::size_t a : point.askings)
        for (const Column& column : columns_)
          if (!column.fixed() && !log_->has(key(m, plans_[m].askings[a], column, point.chunks)))
            last = point.chunks;
    return last;
  }

  std::int64_t count_work() const {
    std::int64_t total = 0;
    const std::int64_t C = run_->engine.chunk_tokens();
    for (std::size_t m = 0; m < plans_.size(); ++m) {
      total += last_needed(m) * C;
      for (const Column& column : columns_) {
        if (column.fixed()) {
          for (const Asking& asking : plans_[m].askings)
            total += log_->has(key(m, asking, column, 0)) ? 0 : Steps::kAsk;
          continue;
        }
        for (const Point& point : points(plans_[m]))
          for (std::size_t a : point.askings)
            total += log_->has(key(m, plans_[m].askings[a], column, point.chunks)) ? 0 : Steps::kAsk;
      }
    }
    return total;
  }

  // A memory being filled.
  struct Live {
    std::size_t m;
    engine::Session session;
    WrittenText text;
    Scene scene;
    std::int64_t last;  // chunks to write at most
  };

  // Several memories side by side: their chunks are written in one pass, and they are asked at the same
  // points.
  bool run_group(std::size_t first, std::size_t count) {
    std::deque<Live> group;  // scenes point at their neighbours, so nothing may move
    for (std::size_t m = first; m < first + count; ++m) {
      Live& live = group.emplace_back(
          Live{m, engine::Session(run_->engine, options_.seed + m), {}, {}, last_needed(m)});
      live.scene = {&live.session, &live.text, std::nullopt};
      asker_->begin_scene(live.scene);
      for (std::size_t a = 0; a < plans_[m].askings.size(); ++a)
        for (const Column& column : columns_)
          if (column.fixed() && !ask(m, a, column, live.scene, 0)) return false;
    }
    for (std::int64_t distance : options_.distances) {
      const std::int64_t point = written_at(distance);
      for (;;) {
        std::vector<Live*> next;
        for (Live& live : group)
          if (point <= live.last && static_cast<std::int64_t>(live.text.chunks.size()) < point)
            next.push_back(&live);
        if (next.empty()) break;
        if (!steps_->go(fmt::format("writing, memory {} of {}", next.front()->m + 1, plans_.size())))
          return false;
        write_next(next);
        steps_->did(run_->engine.chunk_tokens() * static_cast<std::int64_t>(next.size()));
      }
      for (Live& live : group)
        if (point <= live.last && !ask_all(live.m, point_of(plans_[live.m], distance), live.scene))
          return false;
    }
    return true;
  }

  void write_next(const std::vector<Live*>& group) {
    std::vector<ChunkToWrite> chunks;
    for (Live* live : group) {
      const PlannedChunk& chunk = plans_[live->m].chunks[live->text.chunks.size()];
      chunks.push_back({&live->session, &live->text, &chunk.text, &chunk.origin});
    }
    write_chunks(chunks);
  }

  bool ask_all(std::size_t m, const Point& point, Scene& scene) {
    scene.presence.emplace(scene.session->memory());
    asker_->begin_scene(scene);
    for (const Column& column : columns_) {  // columns outside: the base model's reading is shared
      if (column.fixed()) continue;
      for (std::size_t a : point.askings)
        if (!ask(m, a, column, scene, point.chunks)) return false;
    }
    return true;
  }

  bool ask(std::size_t m, std::size_t a, const Column& column, const Scene& scene, std::int64_t chunks) {
    const MemoryPlan& plan = plans_[m];
    const Asking& asking = plan.askings[a];
    const std::string name = key(m, asking, column, chunks);
    if (log_->has(name)) return true;
    if (!steps_->go(fmt::format("asking {}", column.name))) return false;
    const std::int64_t place = column.fixed() ? -1 : plan.place[a];
    const Asked asked = asker_->ask(column, asking.question.question, place, asking.chunk.text);
    std::optional<Presence::Share> share;
    if (column.sees == Sees::memory)
      share = scene.presence->of(scene.text->updates[static_cast<std::size_t>(place)]);
    add_sample(m, a, column, chunks, asked, share);
    steps_->did(Steps::kAsk);
    return true;
  }

  void add_sample(std::size_t m, std::size_t a, const Column& column, std::int64_t chunks, const Asked& asked,
                  const std::optional<Presence::Share>& share) {
    const Asking& asking = plans_[m].askings[a];
    Json sample{{"id", asking.question.id}, {"memory", m}, {"column", column.name}};
    if (!column.fixed()) {
      sample["written"] = chunks;
      sample["distance"] = chunks - 1 - plans_[m].place[a];
      sample["distance_tokens"] = tokens_before(m, chunks) - tokens_before(m, plans_[m].place[a] + 1);
    }
    put_answer(sample, asked, asking.question.answers);
    if (share) put_memory(sample, asked, *share);
    log_->add(key(m, asking, column, chunks), sample);
  }

  void take(const RecordedAnswers& answers) {
    for (std::size_t m = 0; m < plans_.size(); ++m)
      for (const Column& column : all_columns()) {
        std::vector<Point> asked_at = points(plans_[m]);
        if (column.fixed()) asked_at = {point_of(plans_[m], options_.distances.back())};
        for (const Point& point : asked_at)
          for (const std::size_t a : point.askings) {
            const std::string name = key(m, plans_[m].askings[a], column, point.chunks);
            const auto answer = log_->has(name) ? std::nullopt : answers.find(name);
            if (answer) add_sample(m, a, column, point.chunks, answer->asked, answer->share);
          }
      }
  }

  // Tokens of a memory's first chunks.
  std::int64_t tokens_before(std::size_t m, std::int64_t chunks) {
    tokens_.resize(plans_.size());
    std::vector<std::int64_t>& sums = tokens_[m];
    if (sums.empty()) {
      sums.push_back(0);
      for (const PlannedChunk& chunk : plans_[m].chunks)
        sums.push_back(sums.back() + std::ssize(run_->engine.tokenizer().encode(chunk.text)));
    }
    return sums[static_cast<std::size_t>(chunks)];
  }

  TaskOptions options_;
  std::vector<Column> columns_;
  ChunkForm form_ = ChunkForm::filled;
  std::int64_t before_ = 0;  // chunks of other text in front of everything
  std::vector<MemoryPlan> plans_;
  std::vector<std::vector<std::int64_t>> tokens_;  // [memory]: of its first 0, 1, … chunks
  std::map<std::string, std::int64_t> left_out_;
  std::optional<Asker> asker_;
  TaskRun* run_ = nullptr;
  RunLog* log_ = nullptr;
  std::optional<Steps> steps_;
};

}  // namespace

std::unique_ptr<Task> make_retention() { return std::make_unique<Retention>(); }

}  // namespace mplus::eval
