#include "mplus/train/evaluation/answers.h"

#include <algorithm>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/train/gpu/upload.h"

namespace mplus::train {
namespace {

constexpr std::size_t kShort = 96;  // tokens; longer windows hold text that is read again

// An answer as it grows: ends at the stop text or at a token that ends a text.
class Growing {
 public:
  Growing(const EvaluationPlan& plan, const io::Tokenizer& tokenizer) : plan_(plan), decoder_(tokenizer) {}

  bool done() const { return done_; }
  void push(io::TokenId id) {
    if (done_) return;
    if (std::find(plan_.end.begin(), plan_.end.end(), id) != plan_.end.end()) {
      done_ = true;
      return;
    }
    text_ += decoder_.push(id);
    if (const std::size_t at = text_.find(plan_.stop); at != std::string::npos) {
      text_.resize(at);
      done_ = stopped_ = true;
    }
  }
  std::string text() { return stopped_ ? text_ : text_ + decoder_.finish(); }

 private:
  const EvaluationPlan& plan_;
  io::StreamDecoder decoder_;
  std::string text_;
  bool done_ = false, stopped_ = false;
};

}  // namespace

AnswerFile::AnswerFile(const std::filesystem::path& file, const AnswerJson& head)
    : out_(file, std::ios::trunc) {
  if (!out_) fail(ErrorCode::io, "{}: cannot be written", file.string());
  out_ << head.dump() << std::endl;
}

void AnswerFile::add(const AnswerJson& answer) {
  out_ << answer.dump(-1, ' ', false, AnswerJson::error_handler_t::replace) << '\n';
  if (!out_.flush()) fail(ErrorCode::io, "an answer cannot be written: is the disk full?");
  ++answers_;
}

void AnswerQueue::add(const Fronts& fronts, std::vector<Waiting> questions) {
  std::map<int, std::vector<std::int64_t>> rows;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const int kind = questions[q].from > 0 ? 0 : questions[q].window.size() <= kShort ? 1 : 2;
    rows[kind].push_back(static_cast<std::int64_t>(q));
  }
  for (const auto& [kind, which] : rows) {
    Group& group = groups_[kind];
    group.fronts.push_back(select(fronts, upload(which, {std::ssize(which)}, torch::kInt64, device_)));
    for (const std::int64_t q : which)
      group.questions.push_back(std::move(questions[static_cast<std::size_t>(q)]));
    if (group.questions.size() >= at_once_) answer(group);
  }
}

void AnswerQueue::finish() {
  for (auto& [kind, group] : groups_)
    if (!group.questions.empty()) answer(group);
  groups_.clear();
}

void AnswerQueue::answer(Group& group) {
  const Fronts fronts = joined(std::move(group.fronts));
  group.questions.front().from > 0 ? score(fronts, group.questions) : generate(fronts, group.questions);
  for (Waiting& question : group.questions) put(std::move(question));
  group = {};
}

void AnswerQueue::put(Waiting question) {
  if (!question.attempt) return file_.add(question.answer);
  const std::string key = question.answer.at("key");
  std::vector<Waiting>& reads = tried_[key];
  const std::int64_t attempts = question.attempt->of;
  reads.push_back(std::move(question));
  if (std::ssize(reads) < attempts) return;
  std::sort(reads.begin(), reads.end(),
            [](const Waiting& a, const Waiting& b) { return a.attempt->number < b.attempt->number; });
  const auto answers = [&](const Waiting& read) {
    const auto& said = read.answer.at("output").get_ref<const std::string&>();
    return !read.attempt->passed && !trim(said).starts_with(policy_.no_answer);
  };
  const auto first = std::find_if(reads.begin(), reads.end(), answers);
  file_.add((first == reads.end() ? reads.back() : *first).answer);
  tried_.erase(key);
}

void AnswerQueue::score(const Fronts& fronts, std::vector<Waiting>& questions) {
  std::vector<Ids> windows;
  std::vector<std::size_t> from;
  for (const Waiting& question : questions) {
    windows.push_back(question.window);
    from.push_back(question.from);
  }
  const std::vector<double> nll = reader_.nll(fronts, windows, from);
  for (std::size_t q = 0; q < questions.size(); ++q) questions[q].answer["nll"] = nll[q];
}

Tensor AnswerQueue::settled(const Tensor& scores, std::vector<Waiting>& questions) const {
  const bool plain = policy_.lean == 0 && policy_.lag == 0;
  if (plain || std::none_of(questions.begin(), questions.end(), [](const Waiting& q) { return q.attempt; }))
    return scores;
  const std::vector<io::TokenId> first = io::first_ids(tokenizer_, policy_.no_answer);
  const Tensor ids = upload(std::vector<std::int64_t>(first.begin(), first.end()), {std::ssize(first)},
                            torch::kInt64, device_);
  constexpr double kBarred = -std::numeric_limits<double>::infinity();
  const Tensor answers = scores.index_fill(1, ids, kBarred);
  const Tensor none = torch::full_like(scores, kBarred).index_copy(1, ids, scores.index_select(1, ids));
  const Tensor odds = (answers.amax(1) - none.amax(1)).to(torch::kCPU, torch::kFloat64).contiguous();
  std::vector<std::int64_t> answer(questions.size(), 0), pass = answer;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    if (!questions[q].attempt) continue;
    const double likelier = odds.const_data_ptr<double>()[q];
    const bool gives = likelier > policy_.lag * questions[q].attempt->behind - policy_.lean;
    answer[q] = gives;
    pass[q] = questions[q].attempt->passed = !gives && likelier >= 0;
  }
  const auto rows = [&](const std::vector<std::int64_t>& which) {
    return upload(which, {std::ssize(which), 1}, torch::kInt64, device_) > 0;
  };
  return torch::where(rows(answer), answers, torch::where(rows(pass), none, scores));
}

void AnswerQueue::generate(const Fronts& fronts, std::vector<Waiting>& questions) {
  std::vector<Ids> windows;
  windows.reserve(questions.size());
  for (const Waiting& question : questions) windows.push_back(question.window);
  std::vector<Growing> answers(questions.size(), Growing(plan_, tokenizer_));
  reader_.generate(
      fronts, pad(windows, device_), plan_.max_tokens,
      [&](const std::vector<std::int64_t>& ids) {
        for (std::size_t q = 0; q < answers.size(); ++q) answers[q].push(static_cast<io::TokenId>(ids[q]));
        return !std::all_of(answers.begin(), answers.end(), [](const Growing& a) { return a.done(); });
      },
      [&](const Tensor& scores) { return settled(scores, questions); });
  for (std::size_t q = 0; q < questions.size(); ++q) questions[q].answer["output"] = answers[q].text();
}

}  // namespace mplus::train
