#include "mplus/engine/answer/text/stop_text.h"

#include <gtest/gtest.h>

namespace mplus::engine {
namespace {

// However the text arrives, what is shown is the text before the first stop string.
TEST(StopText, AnySplitShowsTheSame) {
  const std::string text = "one two\n\nthree END four";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"\n\n"}, "one two"},
      {{"END", "five"}, "one two\n\nthree "},
      {{"xyz"}, text},
      {{}, text},
      {{""}, text}};
  for (const auto& [stops, expected] : cases)
    for (std::size_t step = 1; step <= text.size(); ++step) {
      StopText stop(stops);
      std::string shown;
      for (std::size_t at = 0; at < text.size(); at += step) {
        shown += stop.push(std::string_view(text).substr(at, step));
        for (const auto& s : stops) EXPECT_TRUE(s.empty() || shown.find(s) == std::string::npos);
      }
      shown += stop.finish();
      EXPECT_EQ(shown, expected);
      EXPECT_EQ(stop.stopped(), expected != text);
    }
}

TEST(StopText, HoldsBackOnlyWhatCouldBecomeAStop) {
  StopText stop({"<end>"});
  EXPECT_EQ(stop.push("a<e"), "a");
  EXPECT_EQ(stop.push("x"), "<ex");
  EXPECT_EQ(stop.push("<en"), "");
  EXPECT_EQ(stop.finish(), "<en");
}

}  // namespace
}  // namespace mplus::engine
