// Recipes: those of the project are understood, and a mistake is named.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "mplus/core/error.h"
#include "mplus/train/run/run_config.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

class Recipe {
 public:
  // Tests run side by side, each in a process of its own.
  explicit Recipe(const std::string& text)
      : file_(fs::path(testing::TempDir()) / (std::to_string(getpid()) + "-recipe.toml")) {
    std::ofstream(file_) << text;
  }
  ~Recipe() { fs::remove(file_); }
  RunConfig load() const { return load_run_config(file_); }
  std::string error() const {
    try {
      load();
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  }

 private:
  fs::path file_;
};

constexpr const char* kWhole = R"(
model = "base.gguf"
delta = "start.safetensors"
[[text]]
file = "books.jsonl"
weight = 2
[[stage]]
name = "only"
steps = 10
)";

TEST(TrainRecipes, ThoseOfTheProjectAreUnderstood) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(MPLUS_SOURCE_DIR "/mplus/train/recipes")) {
    const RunConfig run = load_run_config(entry.path());
    EXPECT_FALSE(run.stages.empty()) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 0);
}

TEST(TrainRecipes, PathsAreRelativeToTheFile) {
  const RunConfig run = Recipe(kWhole).load();
  EXPECT_EQ(run.model, fs::path(testing::TempDir()) / "base.gguf");
  EXPECT_EQ(run.texts.at(0).file, fs::path(testing::TempDir()) / "books.jsonl");
  EXPECT_EQ(run.texts.at(0).weight, 2);
  EXPECT_EQ(run.stages.at(0).steps, 10);
}

TEST(TrainRecipes, AStageWithoutANameIsCalledByItsNumber) {
  const RunConfig run =
      Recipe(std::string(kWhole) + "[[stage]]\nsteps = 1\nkind = \"retriever\"\nvector = 0.2\n").load();
  EXPECT_EQ(run.stages.at(0).name, "only");
  EXPECT_EQ(run.stages.at(1).name, "stage 2");
  EXPECT_EQ(run.stages.at(1).retriever.vector, 0.2);
  EXPECT_NE(Recipe(std::string(kWhole) + "vector = 0.2\n").error().find("stage 1: vector: there is no such"),
            std::string::npos)
      << "of a retriever's stage alone";
}

TEST(TrainRecipes, MistakesAreNamed) {
  const std::string whole = kWhole;
  EXPECT_NE(Recipe(whole + "learning_rat = 1\n").error().find("learning_rat: there is no such setting"),
            std::string::npos);
  EXPECT_NE(Recipe(whole + "streams = \"many\"\n").error().find("streams: expected a whole number"),
            std::string::npos);
  EXPECT_NE(Recipe(whole + "chunks = [[0.5]]\n").error().find("chunks: expected pairs"), std::string::npos);
  EXPECT_NE(Recipe(whole + "kinds = { fact = 1 }\n").error().find("fact: there is no such setting"),
            std::string::npos);
  EXPECT_NE(
      Recipe("model = \"a\"\n[[text]]\nfile = \"b\"\n[[stage]]\nsteps = 1\n").error().find("delta: expected"),
      std::string::npos);
  EXPECT_NE(
      Recipe(whole + "kind = \"retriever\"\nmistaken = 0.1\n").error().find("mistaken: expected 0 where"),
      std::string::npos);
  EXPECT_NE(Recipe(whole + "= 3\n").error().find("recipe.toml:10"), std::string::npos)
      << Recipe(whole + "= 3\n").error();
  EXPECT_NE(
      Recipe("model = \"a\"\ndelta = \"b\"\n[[text]]\nfile = \"b\"\n").error().find("at least one stage"),
      std::string::npos);
}

TEST(TrainRecipes, ANewDeltaHasTheSizesAskedFor) {
  std::string text = kWhole;
  text.replace(text.find("delta = \"start.safetensors\"\n"), 28, "");
  const RunConfig run = Recipe(text + "[memory]\nK = 64\nrank = 8\n").load();
  EXPECT_TRUE(run.delta.empty());
  EXPECT_EQ(run.memory.K, 64);
  EXPECT_EQ(run.memory.lora.rank, 8);
  EXPECT_EQ(run.memory.C, 256);
  EXPECT_TRUE(run.memory.layers.is_all());
  EXPECT_EQ(Recipe(text + "[memory]\nlayers = \"0-2,5\"\n").load().memory.layers, LayerSet({0, 1, 2, 5}));
  EXPECT_NE(Recipe(text + "[memory]\nlayers = \"5-2\"\n").error().find("layers: expected layers"),
            std::string::npos);
}

TEST(TrainRecipes, ADeltaToGoOnFromSaysTheSizesButNotTheLayers) {
  const std::string whole = kWhole;
  EXPECT_EQ(Recipe(whole + "[memory]\nlayers = \"4-7\"\n").load().memory.layers, LayerSet({4, 5, 6, 7}));
  EXPECT_NE(Recipe(whole + "[memory]\nK = 64\n").error().find("K: there is no such setting"),
            std::string::npos);
}

}  // namespace
}  // namespace mplus::train
