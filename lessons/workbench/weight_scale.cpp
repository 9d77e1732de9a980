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
        "--weight-scale {} is no standard deviation; valid: xavier, he or a number from 0 to {:g}", text,
        largest));
  return *value;
}

}  // namespace

double standard_deviation(const std::optional<std::string>& choice, std::size_t fan_in, std::size_t fan_out) {
  const auto in = static_cast<double>(fan_in);
  const auto out = static_cast<double>(fan_out);
  if (!choice) return 1.0 / std::sqrt(in);
  if (*choice == "xavier") return std::sqrt(2.0 / (in + out));
  if (*choice == "he") return std::sqrt(2.0 / in);
  return number(*choice);
}

}  // namespace lessons
