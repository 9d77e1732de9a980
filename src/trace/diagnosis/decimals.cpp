#include "trace/diagnosis/decimals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "trace/diagnosis/catalogue.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

constexpr int fewest_decimals = 2, most_decimals = 9;
constexpr std::ptrdiff_t fewest_numbers = 8;  // that are no fractions of a power of 2
constexpr int replays_of_rounded = 4;         // with numbers moved at random
constexpr double moves_of_decimals = 4.0;

double unit_of_decimals(int decimals) {
  return std::pow(10.0, -decimals);
}

/// Decimals of the shortest text that is read as the number.
int decimals_of_number(double number, Dtype dtype) {
  for (int decimals = 0; decimals <= most_decimals; ++decimals) {
    const double rounded = rounded_to_decimals(number, decimals);
    if (rounded == number || round_to(dtype, rounded) == number) return decimals;
  }
  return most_decimals + 1;
}

/// Such as 0.375, which arithmetic in whole numbers gives as well.
bool is_fraction_of_power_of_two(double number) {
  constexpr double denominator = 1024.0;
  return std::trunc(number * denominator) == number * denominator;
}

/// Whether what is lost after so many decimals is more than rounding to the type loses.
bool is_coarser_than(Dtype dtype, double largest, int decimals) {
  return unit_of_decimals(decimals) > 4.0 * unit_of(dtype) * largest;
}

class Moves {
 public:
  explicit Moves(double largest) : direction_(-largest, largest) {}

  void move(double* numbers, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (numbers[i] != 0.0 && std::isfinite(numbers[i])) numbers[i] += direction_(random_);
  }

 private:
  std::mt19937_64 random_{1};
  std::uniform_real_distribution<double> direction_;
};

double largest_of_row(const std::vector<double>& numbers, std::size_t begin, std::size_t length) {
  return *std::max_element(numbers.begin() + static_cast<std::ptrdiff_t>(begin),
                           numbers.begin() + static_cast<std::ptrdiff_t>(begin + length));
}

}  // namespace

double rounded_to_decimals(double number, int decimals) {
  if (!std::isfinite(number)) return number;
  return std::stod(fmt::format("{:.{}f}", number, decimals));
}

std::optional<int> decimals_of(const std::vector<const AnyTensor*>& tensors) {
  int most = 0;
  std::ptrdiff_t telling = 0;
  for (const auto* tensor : tensors) {
    if (!is_floating(tensor->dtype())) continue;
    double largest = 0.0;
    int of_tensor = 0;
    for (std::size_t i = 0; i < element_count(tensor->shape()); ++i) {
      const double number = tensor->view().at(i);
      if (!std::isfinite(number)) continue;
      of_tensor = std::max(of_tensor, decimals_of_number(number, tensor->dtype()));
      if (of_tensor > most_decimals) return std::nullopt;
      largest = std::max(largest, std::abs(number));
      if (!is_fraction_of_power_of_two(number)) ++telling;
    }
    if (!is_coarser_than(tensor->dtype(), largest, of_tensor)) return std::nullopt;
    most = std::max(most, of_tensor);
  }
  if (most < fewest_decimals || telling < fewest_numbers) return std::nullopt;
  return most;
}

std::map<std::string, std::vector<double>> tolerance_of_decimals(const RoundedNumbers& rounded,
                                                                 const Rerun& rerun,
                                                                 const Hypothesis& hypothesis) {
  constexpr double of_the_text = 1.0 + 1e-6;  // its last digit is read as the nearest number
  const double half = 0.5 * unit_of_decimals(rounded.decimals) * of_the_text;
  const auto still = Replay(rerun, rounded.steps).predict(hypothesis);
  std::map<std::string, std::vector<double>> tolerance;
  for (const auto& step : still) tolerance[step.id].resize(step.expected.size());
  Moves moves(half);
  for (int replay = 0; replay < replays_of_rounded; ++replay) {
    auto moved_steps = rounded.steps;
    for (auto& [id, tensor] : moved_steps)
      if (is_floating(tensor.dtype())) moves.move(tensor.elements<double>(), element_count(tensor.shape()));
    const auto with_moved_inputs = [&](const Watch& watch) {
      rerun([&](const Tapped& tapped) {
        if (tapped.kind == Kind::input && is_floating(tapped.dtype) && contains(rounded.inputs, tapped.id))
          moves.move(static_cast<double*>(tapped.elements), element_count(tapped.shape));
        watch(tapped);
      });
    };
    note_moves(still, Replay(with_moved_inputs, moved_steps).predict(hypothesis), tolerance);
  }
  for (const auto& step : still) {
    auto& of_step = tolerance[step.id];
    const auto length =
        step.expected_shape.empty() ? 1 : std::max<std::size_t>(step.expected_shape.back(), 1);
    for (std::size_t begin = 0; begin < of_step.size(); begin += length)
      std::fill_n(of_step.begin() + static_cast<std::ptrdiff_t>(begin), length,
                  moves_of_decimals * largest_of_row(of_step, begin, length) + half);
  }
  return tolerance;
}

}  // namespace attn
