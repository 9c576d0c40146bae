#include "mplus/io/config/rope_frequencies.h"

#include <cmath>
#include <numbers>

namespace mplus::io {
namespace {

// Llama 3's rule: long wavelengths are stretched by the factor, short ones kept, those between blended.
double scale_frequency(double frequency, const RopeScaling& s) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const auto original = static_cast<double>(s.original_context);
  if (wavelength > original / s.low_freq_factor) return frequency / s.factor;
  if (wavelength < original / s.high_freq_factor) return frequency;
  const double smooth =
      (original / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1 - smooth) * frequency / s.factor + smooth * frequency;
}

}  // namespace

std::vector<float> inverse_frequencies(const ModelConfig& config) {
  std::vector<float> frequencies(static_cast<std::size_t>(config.head_size / 2));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(config.head_size);
    double frequency = std::pow(config.rope_theta, -exponent);
    if (config.rope_scaling) frequency = scale_frequency(frequency, *config.rope_scaling);
    frequencies[i] = static_cast<float>(frequency);
  }
  return frequencies;
}

}  // namespace mplus::io
