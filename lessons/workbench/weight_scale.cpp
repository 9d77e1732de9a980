#include "lessons/workbench/weight_scale.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attn/error.hpp"
#include "attn/text/number.hpp"

namespace lessons {

namespace {

/// Beyond it products of weights leave the range of float32.
constexpr double largest = 1e6;

double number(const std::string& text) {
  const auto value = attn::parse_number(text);
  if (!value || *value < 0.0 || *value > largest)
    throw attn::Error(fmt::format(
        "--weight-scale {} is no standard deviation; valid: xavier, he or a number from 0 to {:g}, "
        "and with --rng torch linear or uniform",
        text, largest));
  return *value;
}

}  // namespace

double standard_deviation(const std::optional<std::string>& choice, std::size_t fan_in, std::size_t fan_out) {
  const auto in = static_cast<double>(fan_in);
  const auto out = static_cast<double>(fan_out);
  if (!choice) return 1.0 / std::sqrt(in);
  if (*choice == "xavier") return std::sqrt(2.0 / (in + out));
  if (*choice == "he") return std::sqrt(2.0 / in);
  if (*choice == "linear") return 1.0 / std::sqrt(3.0 * in);
  if (*choice == "uniform") return 1.0 / std::sqrt(12.0);
  return number(*choice);
}

double growth(const std::optional<std::string>& choice, std::size_t fan_in, std::size_t fan_out) {
  const auto in = static_cast<double>(fan_in);
  if (choice == "uniform") return in / 2.0;
  return 2.0 * standard_deviation(choice, fan_in, fan_out) * std::sqrt(in);
}

void check_weight_scale(const Options& options) {
  const auto& choice = options.weight_scale;
  if (!choice) return;
  standard_deviation(choice, 1, 1);
  if ((choice == "linear" || choice == "uniform") && options.rng != "torch")
    throw attn::Error(
        fmt::format("--weight-scale {} draws as PyTorch does; valid: --rng torch with it, or xavier, he or a "
                    "number from 0 to {:g}",
                    *choice, largest));
}

}  // namespace lessons
