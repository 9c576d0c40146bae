// A run's log as a picture: the loss of every task, what the memory is worth to it, and how often the
// retriever finds the right chunk first.
#pragma once

#include <filesystem>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mplus/train/run/run_log.h"

namespace mplus::train {

// By step since the run began, stages one after another. Of steps that were done twice, since the run went
// back to a checkpoint, the later ones count.
struct RunCurves {
  using Curve = std::vector<std::pair<double, double>>;
  using Curves = std::map<std::string, Curve>;
  Curves loss;             // by task: nats a token of the answers
  Curves held_out;         // the same on what is never trained on
  Curves gap;              // by task: what the same answers cost more without memory
  Curves found;            // by kind of chunk: share found first by the vote, unseen questions
  Curves found_by_vector;  // the same by one vector a chunk
};
RunCurves read_curves(const std::filesystem::path& log);

std::string run_plot_script(const RunCurves& curves, const std::filesystem::path& svg);

// Empty: drawn. Otherwise why not; a picture that is there stays.
std::string draw_run(const std::filesystem::path& log, const std::filesystem::path& svg);

// Draws while the run goes on. Nothing that happens to a drawing reaches the run: nobody waits for it, the
// one that is asked for while another is being made is put off, and what goes wrong is said once.
class RunPlot {
 public:
  RunPlot(std::filesystem::path log, std::filesystem::path svg, RunLog& told)
      : log_(std::move(log)), svg_(std::move(svg)), told_(told) {}
  ~RunPlot();  // the last drawing is made and waited for: less than a second, as a rule
  RunPlot(const RunPlot&) = delete;
  RunPlot& operator=(const RunPlot&) = delete;

  void draw();

 private:
  void finish();  // the drawing that is being made

  std::filesystem::path log_, svg_;
  RunLog& told_;
  std::future<std::string> drawing_;
  bool again_ = false;  // the log has grown since that drawing began
  bool complained_ = false;
};

}  // namespace mplus::train
