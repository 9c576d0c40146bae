// What a sample of chunks, scored exactly, says of a layer's estimates: how they relate to scores, how much
// they leave out, and how well the spread of all chunks' scores is known by that (search.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mplus/memory/recall/chunk_scores.h"

namespace mplus::memory {

struct EstimateFit {
  double a = 0, b = 1;    // score ≈ a + b · estimate
  double residue = 0;     // mean square of what that leaves of the sample's scores
  double residue_sd = 0;  // of these squares
  double unknown = 0;     // share of chunks that are only estimated
  Spread spread;          // of all chunks' scores, with what the estimates leave out
  std::vector<double> z;  // by slot: scores, or what they are taken for, standardised; NaN where no chunk is

  double score(double estimate) const { return a + b * estimate; }
  double missing() const { return residue * unknown; }  // variance
  // Standard error of the spread's logarithm, had the sample been of one chunk.
  double doubt() const { return spread.sd > 0 ? residue_sd * unknown / (2 * spread.sd * spread.sd) : 0; }
};

// By slot, NaN where there is nothing: estimates, and the scores that are known. `sample`: slots that were
// not chosen for what is known of them.
EstimateFit fit_estimates(std::span<const double> estimate, std::span<const double> exact,
                          std::span<const std::size_t> sample);

}  // namespace mplus::memory
