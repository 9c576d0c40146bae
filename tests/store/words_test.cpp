// Which index of words a session asks.
#include "tests/store/text_fixture.h"

namespace mplus::store {
namespace {

double score(StoredSession& session, const std::string& question, std::int64_t chunk) {
  engine::GenerateOptions options;
  session.serve_words(options);
  return options.words(question)(chunk);
}

TEST_F(TextStoreTest, TheStoresIndexIsAskedWhileItIsInStep) {
  Store store(folder_);
  StoredSession writer(store, words_, "notes", Access::write);
  writer.remember({.source = "first", .text = story(400, 1)});
  // A word that stands in the store's index alone tells who asks it, without having compared the texts.
  const auto mark = [&] { TextIndex(store.database(), writer.info().id).add(0, "xylophone"); };
  mark();
  StoredSession reader(store, words_, "notes", Access::read);
  EXPECT_GT(score(writer, "xylophone", 0), 0);
  EXPECT_GT(score(reader, "xylophone", 0), 0);
  writer.remember({.source = "second", .text = story(400, 2)});
  EXPECT_EQ(score(reader, "xylophone", 0), 0) << "the store's has gone on: it has one of its own";
  EXPECT_GT(score(reader, "lamp harbour Ingrid", 0), 0);
  EXPECT_GT(score(writer, "xylophone", 0), 0) << "a reader changes nothing";
  for (const bool forget : {false, true}) {
    if (forget) {
      writer.forget("first", true);
    } else {
      writer.undo(1);
      writer.remember({.source = "third", .text = story(400, 3)});
    }
    EXPECT_EQ(score(writer, "xylophone", 0), 0) << "every chunk was compared";
    mark();
    StoredSession later(store, words_, "notes", Access::read);
    EXPECT_GT(score(later, "xylophone", 0), 0);
    EXPECT_EQ(score(reader, "xylophone", 0), 0);
  }
}

TEST_F(TextStoreTest, AForkHasAnIndexOfItsOwnOnceItIsWritten) {
  Store store(folder_);
  {
    StoredSession session(store, words_, "notes", Access::write);
    session.remember({.source = "first", .text = story(400, 1)});
  }
  store.fork("notes", "copy");
  StoredSession reader(store, words_, "copy", Access::read);
  EXPECT_FALSE(TextIndex::exists(store.database(), reader.info().id));
  EXPECT_GT(score(reader, "lamp harbour Ingrid", 0), 0);
  EXPECT_FALSE(TextIndex::exists(store.database(), reader.info().id));
  StoredSession writer(store, words_, "copy", Access::write);
  EXPECT_TRUE(TextIndex::exists(store.database(), reader.info().id));
  EXPECT_GT(score(writer, "lamp harbour Ingrid", 0), 0);
}

}  // namespace
}  // namespace mplus::store
