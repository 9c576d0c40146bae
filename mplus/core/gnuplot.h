// Drawing with gnuplot, where it is installed: what a script needs that several rooms write, and its run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mplus {

std::string gnuplot_text(std::string_view text);  // a string of gnuplot's, in single quotes

// Dark to light, and told apart without colour by dash and point.
struct GnuplotLook {
  const char* colour;
  int dash, point;
};
const GnuplotLook& gnuplot_look(std::size_t number);  // of the lines of a plot, from 0; comes round again

// Empty: gnuplot has run the script without complaint. Otherwise what went wrong. Waits for at most so long,
// then ends gnuplot; Ctrl-C is left to the program that draws. Any thread may call it.
std::string run_gnuplot(std::string_view script, double most_seconds = 60);

}  // namespace mplus
