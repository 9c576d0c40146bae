// mplus-train average DELTA DELTA… --out FILE.
#pragma once

namespace mplus::train {

int average_command(int argc, char** argv);  // returns the exit status

}  // namespace mplus::train
