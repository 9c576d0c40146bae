#include "mplus/eval/task/retention/retention_plan.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "mplus/core/error.h"
#include "mplus/eval/data/order.h"
#include "mplus/eval/metric/answer_score.h"
#include "mplus/eval/metric/words.h"

namespace mplus::eval {
namespace {

constexpr std::size_t kGoldSide = 60;  // bytes on each side of an answer that make up its gold text

// The words around the answer where it first stands; of a passage without it, its beginning.
std::string gold_text(std::string_view passage, const Golds& answers) {
  std::size_t at = std::string_view::npos, length = 0;
  for (const std::string& answer : answers)
    if (!answer.empty() && at == std::string_view::npos) {
      at = passage.find(answer);
      length = answer.size();
    }
  if (at == std::string_view::npos) at = length = 0;
  std::size_t begin = at > kGoldSide ? passage.find(' ', at - kGoldSide) : 0;
  if (begin == std::string_view::npos || begin > at) begin = at;
  std::size_t end = passage.find(' ', std::min(passage.size(), at + length + kGoldSide));
  if (end == std::string_view::npos) end = passage.size();
  return plain_words(passage.substr(begin, end - begin));
}

// Neighbouring passages of the same article, as they follow one another in the file.
class Neighbours {
 public:
  explicit Neighbours(const std::vector<Question>& all) {
    for (const Question& q : all) {
      if (q.article.empty()) continue;
      std::vector<std::string_view>& passages = articles_[q.article];
      if (std::find(passages.begin(), passages.end(), q.passage) == passages.end())
        passages.push_back(q.passage);
    }
  }
  std::string_view before(const Question& q) const { return beside(q, -1); }
  std::string_view after(const Question& q) const { return beside(q, 1); }

 private:
  std::string_view beside(const Question& q, std::ptrdiff_t step) const {
    const auto article = articles_.find(q.article);
    if (article == articles_.end()) return {};
    const auto& passages = article->second;
    const auto at = std::find(passages.begin(), passages.end(), q.passage) - passages.begin() + step;
    return at < 0 || at >= static_cast<std::ptrdiff_t>(passages.size())
               ? std::string_view()
               : passages[static_cast<std::size_t>(at)];
  }
  std::unordered_map<std::string, std::vector<std::string_view>> articles_;
};

// Empty: fit to be asked.
std::string unfit(const Question& q, const Chunker& chunker, const SelectOptions& options) {
  const bool short_enough = std::any_of(q.answers.begin(), q.answers.end(), [&](const std::string& answer) {
    return !answer.empty() && chunker.count(" " + answer) <= options.most_answer_tokens;
  });
  if (!short_enough) return "no short answer";
  if (contains_gold(q.question, q.answers)) return "the question holds an answer";
  return {};
}

bool holds_answer(const std::string& chunk, const Golds& answers, const SelectOptions& options) {
  if (contains_gold(chunk, answers)) return true;
  return options.answers_inside_words && std::any_of(answers.begin(), answers.end(), [&](const auto& answer) {
           const std::string_view words = std::string_view(answer).substr(answer.starts_with("the ") ? 4 : 0);
           return !words.empty() && chunk.find(words) != std::string::npos;
         });
}

PassageChunk chunk_of_question(const Question& q, const Neighbours& neighbours, const Chunker& chunker,
                               std::string_view filler, ChunkForm form) {
  if (form == ChunkForm::paper) return paper_chunk(chunker, q.passage);
  std::string_view before = neighbours.before(q), after = neighbours.after(q);
  if (before.empty()) before = filler.substr(0, filler.find(' ', filler.size() / 2));
  if (after.empty()) after = filler.substr(std::min(filler.size(), before.size()));
  std::string_view answer;
  for (const std::string& a : q.answers)
    if (answer.empty() && q.passage.find(a) != std::string::npos) answer = a;
  return fill_chunk(chunker, before, q.passage, after, answer);
}

}  // namespace

Groups select_questions(const std::vector<Question>& all, const Chunker& chunker,
                        const std::vector<const FillerChunk*>& filler, const SelectOptions& options,
                        std::int64_t per_memory) {
  MPLUS_CHECK(per_memory > 0, "{} questions a memory", per_memory);
  const Neighbours neighbours(all);
  Groups groups;
  std::vector<std::size_t> waiting = random_order(all.size(), options.seed, Choice::question);
  std::int64_t taken = 0;
  while (taken < options.samples && !waiting.empty()) {
    std::vector<Asking> memory;
    std::set<std::string> articles, passages;
    std::vector<std::size_t> later;
    for (std::size_t index : waiting) {
      const Question& q = all[index];
      if (taken == options.samples || static_cast<std::int64_t>(memory.size()) == per_memory) {
        later.push_back(index);
        continue;
      }
      if (const std::string reason = unfit(q, chunker, options); !reason.empty()) {
        ++groups.left_out[reason];
        continue;
      }
      const bool same_article = options.share_articles
                                    ? passages.contains(std::string(neighbours.before(q))) ||
                                          passages.contains(std::string(neighbours.after(q)))
                                    : articles.contains(q.article);
      const bool known = (!q.article.empty() && same_article) || passages.contains(q.passage);
      if (known) {
        later.push_back(index);
        continue;
      }
      const std::string_view fill = filler.empty() ? std::string_view() : filler[index % filler.size()]->text;
      Asking asking{q, chunk_of_question(q, neighbours, chunker, fill, options.form), ""};
      asking.gold_text = gold_text(std::string_view(asking.chunk.text)
                                       .substr(asking.chunk.begin, asking.chunk.end - asking.chunk.begin),
                                   q.answers);
      if (!holds_answer(asking.chunk.text, q.answers, options)) {
        ++groups.left_out["no answer stands in the chunk"];
        continue;
      }
      articles.insert(q.article);
      passages.insert(q.passage);
      memory.push_back(std::move(asking));
      ++taken;
    }
    if (memory.empty()) break;
    groups.memories.push_back(std::move(memory));
    waiting = std::move(later);
  }
  if (taken < options.samples) {
    std::string reasons;
    for (const auto& [reason, n] : groups.left_out) reasons += fmt::format("; {} left out: {}", n, reason);
    fail(ErrorCode::not_found, "{} questions wanted, {} fit among {}{}", options.samples, taken, all.size(),
         reasons);
  }
  return groups;
}

MemoryPlan plan_stream(std::vector<Asking> askings, const std::vector<const FillerChunk*>& fillers,
                       std::int64_t before, std::int64_t length, std::uint64_t seed, std::uint32_t number) {
  const auto n = static_cast<std::int64_t>(askings.size());
  MPLUS_CHECK(n <= length, "{} passages in {} chunks", n, length);
  MemoryPlan plan;
  std::size_t next = 0;
  const auto add_filler = [&] {
    const FillerChunk& filler = *fillers.at(next++);
    plan.chunks.push_back({filler.text, filler.origin, -1});
  };
  for (std::int64_t i = 0; i < before; ++i) add_filler();
  for (std::int64_t a = 0; a < n; ++a) {
    const std::int64_t begin = a * length / n, end = (a + 1) * length / n;
    const auto draw = random_choice(seed, Choice::place, number, 0, static_cast<std::uint32_t>(a));
    const std::int64_t own =
        begin + static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(end - begin));
    for (std::int64_t c = begin; c < end; ++c) {
      if (c != own) {
        add_filler();
        continue;
      }
      plan.place.push_back(static_cast<std::int64_t>(plan.chunks.size()));
      const Asking& asking = askings[static_cast<std::size_t>(a)];
      plan.chunks.push_back({asking.chunk.text, asking.question.id, a});
    }
  }
  plan.askings = std::move(askings);
  return plan;
}

MemoryPlan plan_separate(Asking asking, const std::vector<const FillerChunk*>& fillers, std::int64_t before,
                         std::int64_t length) {
  MemoryPlan plan;
  for (std::int64_t i = 0; i < before + length; ++i) {
    if (i == before) {
      plan.place.push_back(i);
      plan.chunks.push_back({asking.chunk.text, asking.question.id, 0});
    }
    const FillerChunk& filler = *fillers.at(static_cast<std::size_t>(i));
    plan.chunks.push_back({filler.text, filler.origin, -1});
  }
  if (length == 0) {
    plan.place.push_back(before);
    plan.chunks.push_back({asking.chunk.text, asking.question.id, 0});
  }
  plan.askings.push_back(std::move(asking));
  return plan;
}

void check_leaks(const MemoryPlan& plan, const std::vector<std::string>& prompts) {
  std::vector<std::string> plain(plan.chunks.size());
  for (std::size_t c = 0; c < plain.size(); ++c) plain[c] = plain_words(plan.chunks[c].text);
  for (std::size_t a = 0; a < plan.askings.size(); ++a) {
    const Asking& asking = plan.askings[a];
    const auto own = static_cast<std::size_t>(plan.place[a]);
    if (!has_words(plain[own], asking.gold_text))
      fail(ErrorCode::corrupt, "question {}: its own chunk does not hold its gold text \"{}\"",
           asking.question.id, asking.gold_text);
    for (std::size_t c = 0; c < plain.size(); ++c)
      if (c != own && has_words(plain[c], asking.gold_text))
        fail(ErrorCode::corrupt,
             "leak: the gold text of question {} (line {}) stands in another chunk too, from {}: \"{}\"; use "
             "other "
             "text with --distractors",
             asking.question.id, asking.question.line, plan.chunks[c].origin, asking.gold_text);
    if (contains_gold(prompts.at(a), asking.question.answers))
      fail(ErrorCode::corrupt, "leak: the prompt of question {} (line {}) holds an answer: \"{}\"",
           asking.question.id, asking.question.line, prompts[a]);
  }
}

void check_fillers(const Fillers& fillers, const std::vector<MemoryPlan>& plans) {
  for (const std::vector<FillerChunk>& file : fillers.files())
    for (std::size_t c = 0; c < file.size(); ++c) {
      const std::string plain =
          plain_words(c + 1 < file.size() ? file[c].text + file[c + 1].text : file[c].text);
      for (const MemoryPlan& plan : plans)
        for (const Asking& asking : plan.askings)
          if (has_words(plain, asking.gold_text))
            fail(ErrorCode::corrupt,
                 "leak: the gold text of question {} (line {}) stands in the other text, from {} on: \"{}\"; "
                 "use other "
                 "text with --distractors",
                 asking.question.id, asking.question.line, file[c].origin, asking.gold_text);
    }
}

}  // namespace mplus::eval
