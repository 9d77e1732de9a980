#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "attn/text/trim.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

bool draws_by_name(const Options& options) {
  return options.draws == "name";
}

namespace {

/// "Q 3 sample 1": what a slice is called.
std::string slice_name(const std::string& name, const Slices& slices, std::size_t sample, std::size_t entry) {
  auto full = name;
  if (slices.axis) full += ' ' + (slices.entries.empty() ? fmt::format("{}", entry) : slices.entries[entry]);
  if (sample > 0) full += fmt::format(" sample {}", sample);
  return full;
}

template <class Stream>
std::unique_ptr<attn::Random> seeded(std::uint32_t seed, std::optional<std::string_view> name) {
  if (!name) return std::make_unique<Stream>(seed);
  return std::make_unique<Stream>(seed, attn::crc32(*name));
}

/// Beyond it products of weights leave the range of float32.
constexpr double largest_deviation = 1e6;

double number(const std::string& text) {
  const auto value = attn::parse_number(text);
  if (!value || *value < 0.0 || *value > largest_deviation)
    throw attn::Error(fmt::format(
        "--weight-scale {} is no standard deviation; valid: xavier, he or a number from 0 to {:g}, "
        "and with --rng torch linear or uniform",
        text, largest_deviation));
  return *value;
}

}  // namespace

Draws::Draws(const Options& options) : options_(options) {
  if (!draws_by_name(options)) stream_ = new_stream(std::nullopt);
}

std::unique_ptr<attn::Random> Draws::new_stream(std::optional<std::string_view> name) const {
  if (options_.rng == "torch") return std::make_unique<attn::TorchRandom>(options_.seed);
  if (options_.rng == "pcg64") return seeded<attn::Generator>(options_.seed, name);
  return seeded<attn::RandomState>(options_.seed, name);
}

attn::Random& Draws::stream(std::string_view name) {
  if (draws_by_name(options_)) stream_ = new_stream(name);
  return *stream_;
}

attn::AnyRank<double> Draws::normal(const std::string& name, double s, const attn::Shape& shape,
                                    const Slices& slices) {
  attn::require_countable(shape);
  const auto length_of = [&](std::size_t begin, std::size_t end) {
    return std::accumulate(shape.data() + begin, shape.data() + end, std::size_t{1}, std::multiplies<>());
  };
  const auto rank = shape.size();
  if (!draws_by_name(options_) || !(slices.batched || slices.axis)) {
    attn::AnyRank<double> values(stream(name).normal<1>(0.0, s, {length_of(0, rank)}));
    values.reshape(shape);
    return values;
  }
  const std::size_t samples = slices.batched ? shape[0] : 1, first = slices.batched ? 1 : 0;
  const std::size_t axis = slices.axis.value_or(rank), entries = slices.axis ? shape[axis] : 1;
  const std::size_t outer = length_of(first, axis), inner = length_of(std::min(axis + 1, rank), rank);
  attn::AnyRank<double> values(shape);
  for (std::size_t sample = 0; sample < samples; ++sample)
    for (std::size_t entry = 0; entry < entries; ++entry) {
      const auto slice = stream(slice_name(name, slices, sample, entry)).normal<2>(0.0, s, {outer, inner});
      for (std::size_t i = 0; i < outer; ++i)
        std::copy_n(slice.data() + i * inner, inner,
                    values.data() + ((sample * outer + i) * entries + entry) * inner);
    }
  return values;
}

attn::Tensor<2> Draws::linear(std::size_t fan_out, std::size_t fan_in) {
  const auto high = static_cast<float>(1.0 / std::sqrt(static_cast<double>(fan_in))), low = -high;
  attn::Tensor<2> weights = uniform({fan_out, fan_in});
  for (double& weight : weights) weight = static_cast<float>(weight * (high - low) + low);
  return weights;
}

attn::AnyRank<double> Draws::uniform(const attn::Shape& shape) {
  attn::require_countable(shape);
  attn::AnyRank<double> values(shape);
  for (double& value : values) value = stream_->random_sample();
  return values;
}

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
                    *choice, largest_deviation));
}

}  // namespace lessons
