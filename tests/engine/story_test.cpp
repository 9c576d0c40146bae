// The smallest real model there is, 260 thousand parameters, tells a story.
#include <gtest/gtest.h>

#include "mplus/engine/session.h"
#include "mplus/io/weights/llama2c.h"

namespace mplus::engine {
namespace {

TEST(Stories260K, TellsAStory) {
  const std::string folder = MPLUS_TEST_DATA "/stories260k/";
  EngineOptions options;
  options.files.model = folder + "stories260K.bin";
  Engine engine(options);
  const auto vocabulary = io::open_llama2c_vocabulary(folder + "tok512.bin", engine.weights().config.vocab);
  Session session(engine);
  GenerateOptions generate;
  generate.max_tokens = 120;
  const std::vector<io::TokenId> start{1};
  const Answer answer = session.generate_ids(start, generate);
  std::string story;
  std::int64_t previous = 1;
  for (io::TokenId id : answer.tokens) {
    story += vocabulary.text(id, previous);
    previous = id;
  }
  // Greedy decoding has one outcome; this is how it begins.
  EXPECT_EQ(story.substr(0, 54), "Once upon a time, there was a little girl named Lily. ") << story;
  EXPECT_NE(story.find("She loved to play"), std::string::npos) << story;
}

}  // namespace
}  // namespace mplus::engine
