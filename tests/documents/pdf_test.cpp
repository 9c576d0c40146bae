// PDF by pdftotext, and what can go wrong with that program; a few lines of shell stand for it here.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "mplus/core/files/file.h"
#include "mplus/documents/document.h"
#include "mplus/documents/limited_child.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::documents {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string pdf(std::string_view bytes, const DocumentLimits& limits = {}) {
  return document_text(bytes, DocumentKind::pdf, "a.pdf", limits);
}

std::string pdf_file(const std::string& name) {
  return pdf(read_text_file(fs::path(MPLUS_TEST_DATA "/documents") / name));
}

// While it exists, PATH is a folder with this script as pdftotext; without a script, an empty one.
class FakeProgram {
 public:
  explicit FakeProgram(const std::string& script = "") : path_(std::getenv("PATH")) {
    if (!script.empty()) {
      const fs::path program = folder_.write("pdftotext", "#!/bin/sh\n" + script + "\n");
      fs::permissions(program, fs::perms::owner_all);
    }
    ::setenv("PATH", folder_.path().c_str(), 1);
  }
  ~FakeProgram() { ::setenv("PATH", path_.c_str(), 1); }
  FakeProgram(const FakeProgram&) = delete;
  FakeProgram& operator=(const FakeProgram&) = delete;

 private:
  io::test::TemporaryFolder folder_;
  const std::string path_;
};

TEST(Pdf, IsReadByPdftotext) {
  EXPECT_EQ(pdf_file("paper.pdf"), "The harbour caf\u00e9 opens at seven.\nAsk for Ingrid.");
}

TEST(Pdf, WithoutTextOrWithPasswordIsExplained) {
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("a.pdf: ", "ocrmypdf"), pdf_file("scanned.pdf"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("a.pdf: ", "password"), pdf_file("locked.pdf"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("a.pdf: ", "pdftotext"), pdf("%PDF-1.4 and nothing else"));
}

TEST(Pdf, WithoutTheProgramNamesItsPackage) {
  const FakeProgram none;
  EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("a.pdf: ", "poppler-utils"), pdf("%PDF-"));
}

TEST(Pdf, ProgramThatHangsIsKilled) {
  const DocumentLimits limits{.time = std::chrono::milliseconds(300)};
  for (const char* script :
       {"exec /bin/sleep 100", "while :; do :; done", "exec >&- 2>&-; exec /bin/sleep 100"}) {
    const FakeProgram fake(script);
    const auto start = Clock::now();
    EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("a.pdf: ", "300 ms"), pdf("%PDF-", limits));
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(20)) << script;
  }
}

TEST(Pdf, ProgramThatWritesWithoutEndIsStopped) {
  const FakeProgram fake("while :; do echo words words words; done");
  EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("a.pdf: ", "1000 bytes"),
                     pdf("%PDF-", {.text_bytes = 1000}));
}

TEST(Pdf, ProgramThatFailsIsQuoted) {
  {
    const FakeProgram fake("echo 'Syntax Error: bad' >&2; echo more >&2; exit 1");
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("a.pdf: ", ": Syntax Error: bad"), pdf("%PDF-"));
  }
  {
    const FakeProgram fake("exit 3");
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("a.pdf: ", "exit status 3"), pdf("%PDF-"));
  }
  const FakeProgram fake("kill -SEGV $$");
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("a.pdf: ", "signal 11"), pdf("%PDF-"));
}

TEST(Pdf, OutputThatIsNoTextIsMended) {
  const FakeProgram fake("printf 'a\\000b\\001c\\377d\\n\\n\\n\\ne'");
  EXPECT_EQ(pdf("%PDF-"), "abc\ufffdd\n\ne");
}

ChildResult shell(const std::string& script, std::string_view input = "") {
  return run_limited({"/bin/sh", "-c", script}, input,
                     {Clock::now() + std::chrono::seconds(60), std::size_t{1} << 30, 1 << 24});
}

TEST(LimitedChild, GetsItsInputAndNothingElse) {
  const int open_here = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a library may leave it
  ::setenv("MPLUS_TEST_SECRET", "planted", 1);
  const std::string input(3'000'000, 'x');
  EXPECT_EQ(shell("/bin/cat", input).output, input);
  EXPECT_EQ(shell("for n in 3 4 5 6 7 8 9 10 11 12; do [ -e /proc/self/fd/$n ] && echo $n; done").output, "");
  EXPECT_EQ(shell("/usr/bin/env").output.find("planted"), std::string::npos);
  ::unsetenv("MPLUS_TEST_SECRET");
  ::close(open_here);
}

TEST(LimitedChild, WritesNoFileAndOpensNoSocket) {
  const io::test::TemporaryFolder folder;
  const std::string file = (folder.path() / "made").string();
  const ChildResult writing = shell("echo x > " + file + "; /bin/true");
  EXPECT_TRUE(!fs::exists(file) || fs::file_size(file) == 0) << writing.errors;
  const std::string connect = "exec /bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/1'";
  EXPECT_NE(shell(connect).errors.find("Permission denied"), std::string::npos) << shell(connect).errors;
}

TEST(LimitedChild, HasLittleMemoryAndTime) {
  const ChildResult result =
      run_limited({"/bin/sh", "-c", "ulimit -v; ulimit -c; ulimit -t"}, "",
                  {Clock::now() + std::chrono::seconds(50), std::size_t{256} << 20, 1000});
  EXPECT_TRUE(result.output.starts_with("262144\n0\n")) << result.output << result.errors;
  EXPECT_LE(std::stoi(result.output.substr(9)), 50) << result.output;
}

TEST(LimitedChild, TellsHowItEnded) {
  EXPECT_EQ(shell("exit 7").status, 7);
  const ChildResult killed = shell("kill -TERM $$");
  EXPECT_EQ(killed.end, ChildResult::End::killed_by_signal);
  EXPECT_EQ(killed.status, SIGTERM);
  EXPECT_EQ(
      run_limited({"/no/such/program"}, "", {Clock::now() + std::chrono::seconds(9), 1 << 30, 9}).status,
      127);
  EXPECT_LE(shell("i=0; while [ $i -lt 3000 ]; do echo error >&2; i=$((i+1)); done").errors.size(), 4096u);
}

}  // namespace
}  // namespace mplus::documents
