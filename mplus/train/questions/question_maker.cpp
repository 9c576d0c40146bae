#include "mplus/train/questions/question_maker.h"

#include "mplus/train/gpu/upload.h"
#include "mplus/train/lessons/tokens.h"

namespace mplus::train {

std::vector<PosedOnPassage> QuestionMaker::make(std::span<const std::string> passages) const {
  const torch::NoGradGuard constant;
  const std::vector<std::string> made = pose(passages);
  std::vector<PosedOnPassage> posed;
  for (std::size_t i = 0; i < made.size(); ++i) {
    std::vector<PosedQuestion> usable = read_posed(made[i], passages[i]);
    const std::int64_t count = std::ssize(usable);
    posed.push_back({std::move(usable), count});
  }
  check(passages, posed);
  return posed;
}

std::vector<std::string> QuestionMaker::pose(std::span<const std::string> passages) const {
  std::vector<std::vector<std::int32_t>> windows, made(passages.size());
  const std::vector<std::int32_t> behind = tokenizer_.encode(kPoseAfterPassage);
  for (const std::string& passage : passages) {
    windows.push_back(tokenizer_.encode(passage));
    append(windows.back(), behind);
  }
  reader_.generate(
      reader_.plain_fronts(std::ssize(passages)), pad(windows, model_.device()), options_.tokens,
      [&](const std::vector<std::int64_t>& ids) {
        for (std::size_t i = 0; i < ids.size(); ++i) made[i].push_back(static_cast<std::int32_t>(ids[i]));
        return true;
      },
      {}, options_.temperature);
  std::vector<std::string> texts;
  texts.reserve(made.size());
  for (const auto& tokens : made) texts.push_back(tokenizer_.decode(tokens, /*skip_specials=*/true));
  return texts;
}

void QuestionMaker::check(std::span<const std::string> passages, std::vector<PosedOnPassage>& posed) const {
  const std::vector<std::int32_t> newline = tokenizer_.encode("\n");
  std::vector<std::vector<std::int32_t>> windows;
  struct Said {  // tokens [from, to) of a window are the answer of a question
    std::size_t passage, question;
    std::int64_t from, to;
  };
  std::vector<Said> said;
  for (std::size_t i = 0; i < posed.size(); ++i) {
    std::vector<std::int32_t>& window = windows.emplace_back(tokenizer_.encode(passages[i]));
    for (std::size_t q = 0; q < posed[i].kept.size(); ++q) {
      if (q > 0) append(window, newline);
      append(window, tokenizer_.encode(asked_form(posed[i].kept[q].question)));
      const std::int64_t from = size(window);
      append(window, tokenizer_.encode(" " + posed[i].kept[q].answer + "\n"));
      said.push_back({i, q, from, size(window)});
    }
  }
  const torch::Device device = model_.device();
  const Windows padded = pad(windows, device);
  const std::int64_t T = padded.tokens.size(1);
  std::vector<std::int64_t> places;  // before each token of an answer
  for (const Said& s : said)
    for (std::int64_t t = s.from; t < s.to; ++t)
      places.push_back(static_cast<std::int64_t>(s.passage) * T + t - 1);
  if (places.empty()) return;
  const Tensor likeliest = reader_
                               .likeliest(reader_.plain_fronts(std::ssize(windows)), padded.tokens,
                                          upload(places, {std::ssize(places)}, torch::kInt64, device))
                               .to(torch::kCPU);
  const std::int64_t* next = likeliest.const_data_ptr<std::int64_t>();
  std::vector<std::vector<PosedQuestion>> kept(posed.size());
  for (const Said& s : said) {
    bool same = true;
    for (std::int64_t t = s.from; t < s.to; ++t, ++next)
      same = same && *next == windows[s.passage][static_cast<std::size_t>(t)];
    if (same) kept[s.passage].push_back(std::move(posed[s.passage].kept[s.question]));
  }
  for (std::size_t i = 0; i < posed.size(); ++i) posed[i].kept = std::move(kept[i]);
}

}  // namespace mplus::train
