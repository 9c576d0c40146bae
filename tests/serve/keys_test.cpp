// Who may ask, and what others' memories are called: nothing.
#include "mplus/serve/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "tests/store/stored_fixture.h"

namespace mplus::serve {
namespace {

class KeysTest : public store::StoreTest {
 protected:
  KeysTest() { std::filesystem::create_directories(folder_); }
  const std::filesystem::path file_ = folder_ / "keys.json";
};

TEST_F(KeysTest, AKeyIsFoundByItsSecretAlone) {
  Keys keys(file_);
  EXPECT_FALSE(keys.any());
  const std::string secret = keys.add("laptop", {"alice", Right::write, "notes"});
  const std::string other = keys.add("phone", {"bob", Right::read, ""});
  const auto caller = keys.find(secret);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->space, "alice");
  EXPECT_EQ(caller->memory, "notes");
  EXPECT_TRUE(caller->may(Right::read) && caller->may(Right::write) && !caller->may(Right::admin));
  EXPECT_FALSE(keys.find(other)->may(Right::write));
  for (const std::string& wrong : {std::string(), secret.substr(1), secret + "0", std::string("mplus-")})
    EXPECT_FALSE(keys.find(wrong)) << wrong;
}

TEST_F(KeysTest, TheFileHoldsNoSecretAndIsPrivate) {
  Keys keys(file_);
  const std::string secret = keys.add("laptop", {});
  EXPECT_EQ(read_text_file(file_).find(secret), std::string::npos);
  EXPECT_EQ(read_text_file(file_).find(secret.substr(6)), std::string::npos);
  struct stat status {};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(KeysTest, RevokedByAnotherProcessItEnds) {
  Keys serving(file_), elsewhere(file_);
  const std::string secret = serving.add("laptop", {}), stays = serving.add("phone", {});
  std::filesystem::last_write_time(file_,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(serving.find(secret));
  ASSERT_TRUE(elsewhere.revoke(serving.list()[0].id));
  EXPECT_FALSE(serving.find(secret));
  EXPECT_TRUE(serving.find(stays));
  EXPECT_FALSE(elsewhere.revoke("nothing"));
}

TEST_F(KeysTest, ADamagedFileLetsNobodyIn) {
  for (const char* text :
       {"", "{", "{}", R"({"keys":[{"right":"admin"}]})", R"({"keys":[{"sha256":"abc"}]})"}) {
    write_text_file(file_, text);
    Keys keys(file_);
    EXPECT_THROW(keys.find("x"), Error) << text;
    EXPECT_THROW(keys.any(), Error) << text;
  }
}

TEST_F(KeysTest, ASpaceHasNoWayOut) {
  const Caller alice{"alice", Right::admin, ""}, everybody{};
  EXPECT_EQ(alice.stored("notes"), "alice/notes");
  EXPECT_EQ(alice.stored("../bob/notes"), "alice/../bob/notes");  // a name, not a path
  EXPECT_EQ(alice.shown("alice/notes"), "notes");
  EXPECT_FALSE(alice.shown("alicex/notes"));
  EXPECT_FALSE(alice.shown("bob/notes"));
  EXPECT_FALSE(alice.shown("notes"));
  EXPECT_EQ(everybody.shown("bob/notes"), "bob/notes");
  Keys keys(file_);
  for (const char* space : {"a/b", "a b", "ä", "a\n"})
    EXPECT_THROW(keys.add("", {space, Right::read, ""}), Error) << space;
}

}  // namespace
}  // namespace mplus::serve
