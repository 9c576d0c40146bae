// A run's log as curves and as a picture.
#include "mplus/train/run/run_plot.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "tests/io/file_bytes.h"

namespace mplus::train {
namespace {

using Curve = RunCurves::Curve;

constexpr const char* kLog =
    R"({"stage":"memory","step":1,"nll":{"facts":4.0,"plain":3.0},"nll_without_memory":{"facts":5.0}}
{"stage":"memory","step":10,"nll":{"facts":2.0},"nll_without_memory":null}
{"stage":"memory","profile":[]}
{"stage":"memory","step":20,"nll":{"facts":1.0},"nll_without_memory":{"facts":4.5},"nll_held_out":{"passage":3}}
{"stage":"memory","step":10,"nll":{"facts":2.5},"nll_without_memory":{"facts":4.5}}
{"stage":"memory","step":30,"nll":null,"nll_without_memory":null,"nll_held_out":{"passage":2.5}}
{"stage":"retriever","step":0,"found_first":{"facts":0.25},"found_first_vector":{"facts":0.125}}
{"stage":"retriever","step":4,"loss":2,"found":0.5}
{"stage":"retriever","step":4,"found_first":{"facts":0.5}}
)";

TEST(TrainPlot, CurvesAreThoseOfTheLog) {
  const io::test::TemporaryFolder folder;
  const RunCurves curves = read_curves(folder.write("log.jsonl", kLog));
  EXPECT_EQ(curves.loss.at("facts"), (Curve{{1, 4}, {10, 2.5}})) << "what was done again counts once";
  EXPECT_EQ(curves.loss.at("plain"), (Curve{{1, 3}}));
  EXPECT_EQ(curves.gap, (RunCurves::Curves{{"facts", {{1, 1}, {10, 2}}}}));
  EXPECT_EQ(curves.held_out, (RunCurves::Curves{{"passage", {{20, 3}, {30, 2.5}}}}));
  EXPECT_EQ(curves.found.at("facts"), (Curve{{30, 0.25}, {34, 0.5}})) << "stages follow each other";
  EXPECT_EQ(curves.found_by_vector.at("facts"), (Curve{{30, 0.125}}));
}

TEST(TrainPlot, ALineThatIsBeingWrittenIsLeftOut) {
  const io::test::TemporaryFolder folder;
  const std::string whole = R"({"stage":"s","step":1,"nll":{"facts":1}})";
  EXPECT_EQ(read_curves(folder.write("log", fmt::format("{}\n{{\"stage\":\"s\",\"st", whole)))
                .loss.at("facts")
                .size(),
            1u);
  EXPECT_THROW(read_curves(folder.write("log", fmt::format("no\n{}\n", whole))), Error);
  EXPECT_THROW(read_curves(folder.path() / "none"), Error);
}

TEST(TrainPlot, EveryCurveIsInTheScript) {
  const io::test::TemporaryFolder folder;
  const RunCurves curves = read_curves(folder.write("log.jsonl", kLog));
  const std::string script = run_plot_script(curves, "it's.svg");
  for (const char* part : {"'it''s.svg'", "layout 1,3", "title 'facts'", "title 'plain'",
                           "title 'passage, held out'", "title 'facts, one vector'"})
    EXPECT_NE(script.find(part), std::string::npos) << part << " in\n" << script;
  EXPECT_EQ(run_plot_script({}, "x.svg"), "");
}

TEST(TrainPlot, ARunIsDrawnWhereGnuplotIs) {
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "gnuplot is not installed";
  const io::test::TemporaryFolder folder;
  RunLog nobody;
  { RunPlot(folder.write("log.jsonl", kLog), folder.path() / "losses.svg", nobody).draw(); }
  EXPECT_NE(read_text_file(folder.path() / "losses.svg").find("</svg>"), std::string::npos);
}

TEST(TrainPlot, TroubleIsSaidOnceAndThePictureStays) {
  const io::test::TemporaryFolder folder;
  const std::filesystem::path svg = folder.write("losses.svg", "the last one");
  RunLog told(folder.path() / "told.jsonl");
  testing::internal::CaptureStderr();
  {
    RunPlot plot(folder.path() / "no log", svg, told);
    plot.draw();
    plot.draw();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("no picture of the run"), std::string::npos);
  EXPECT_EQ(said.find("no picture"), said.rfind("no picture")) << said;
  EXPECT_EQ(read_text_file(svg), "the last one");
}

}  // namespace
}  // namespace mplus::train
