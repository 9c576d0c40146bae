#include "mplus/eval/metric/porter.h"

#include <gtest/gtest.h>

namespace mplus::eval {
namespace {

// From Porter's paper (1980), and where NLTK goes its own way.
TEST(Porter, StemsAsPublished) {
  const std::pair<const char*, const char*> cases[] = {{"caresses", "caress"},   {"ponies", "poni"},
                                                       {"cats", "cat"},          {"feed", "feed"},
                                                       {"agreed", "agre"},       {"plastered", "plaster"},
                                                       {"motoring", "motor"},    {"sing", "sing"},
                                                       {"hopping", "hop"},       {"falling", "fall"},
                                                       {"filing", "file"},       {"happy", "happi"},
                                                       {"relational", "relat"},  {"triplicate", "triplic"},
                                                       {"adjustment", "adjust"}, {"adoption", "adopt"},
                                                       {"rate", "rate"},         {"controll", "control"},
                                                       {"ties", "tie"},          {"tied", "tie"},
                                                       {"dying", "die"},         {"as", "as"},
                                                       {"fly", "fli"},           {"by", "by"},
                                                       {"skies", "sky"}};
  for (const auto& [word, stem] : cases) EXPECT_EQ(porter_stem(word), stem) << word;
}

}  // namespace
}  // namespace mplus::eval
