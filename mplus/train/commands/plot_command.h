// mplus-train plot LOG SVG.
#pragma once

namespace mplus::train {

int plot_command(int argc, char** argv);  // returns the exit status

}  // namespace mplus::train
