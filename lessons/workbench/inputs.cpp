#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/plan.hpp"

namespace lessons {

namespace {

constexpr std::string_view times = "·", only_with_heads = "[head]", or_more = "…";

/// How many of a thing there are that a dimension is only ever multiplied with; 0 for all dimensions.
std::size_t count_of(std::string_view factor, const Options& options) {
  const auto heads = options.heads.value_or(1);
  if (factor == "head") return heads;
  if (factor == "kv_head") return options.kv_heads.value_or(heads);
  if (factor == "direction") return options.bidirectional ? 2 : 1;
  const bool is_number =
      std::all_of(factor.begin(), factor.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number && !factor.empty() ? std::stoul(std::string(factor)) : 0;
}

/// The option or text that an axis of this name is as long as; empty where there is none. A query is a token
/// of the target and a key one of the source where there are two texts, else both are of the sentence.
std::string_view dimension_of(std::string_view axis, const Lesson& lesson, const Options& options) {
  static constexpr std::pair<std::string_view, std::string_view> dimensions[] = {
      {"token", "sentence"},   {"source", "source"}, {"target", "target"}, {"memory", "memory"},
      {"d_model", "d-model"},  {"d_k", "d-k"},       {"d_v", "d-v"},       {"d_a", "d-a"},
      {"d_ff", "d-ff"},        {"hidden", "hidden"}, {"class", "classes"}, {"rank", "rank"},
      {"feature", "features"}, {"layer", "layers"},  {"head", "heads"},    {"kv_head", "kv-heads"},
      {"query", "target"},     {"key", "source"}};
  const bool is_pair = !lesson.uses("sentence") || options.has_pair();
  if (!is_pair && (axis == "query" || axis == "key")) return "sentence";
  for (const auto& [name, dimension] : dimensions)
    if (name == axis) return dimension;
  return "";
}

/// As the trace shows it: heads that are not there are not named, and query and key heads are told apart only
/// where there are fewer of these.
std::string shown_name(std::string_view axis, const Options& options) {
  constexpr std::string_view of_kv_heads = "kv_head·", of_heads = "head·";
  const bool has_own = options.kv_heads && options.kv_heads != options.heads;
  for (const auto group : {of_kv_heads, of_heads}) {
    if (!axis.starts_with(group)) continue;
    const std::string rest(axis.substr(group.size()));
    if (!options.heads) return rest;
    return std::string(group == of_kv_heads && has_own ? of_kv_heads : of_heads) + rest;
  }
  return std::string(axis);
}

}  // namespace

Extent extent_of(std::string_view axis, const Lesson& lesson, const Options& options) {
  constexpr std::string_view one_more = "1+";
  const auto equals = axis.find('=');
  auto length = equals == std::string_view::npos ? axis : axis.substr(equals + 1);
  Extent extent{.name = shown_name(axis.substr(0, equals), options), .dimension = ""};
  if (length.ends_with(or_more)) {
    extent.may_be_longer = true;
    length.remove_suffix(or_more.size());
  }
  if (length.starts_with(one_more)) {
    extent.offset = 1;
    length.remove_prefix(one_more.size());
  }
  const auto factors = attn::pieces_of(length, times);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto count = count_of(factors[i], options);
    const bool is_dimension = i + 1 == factors.size();
    if (is_dimension) extent.dimension = dimension_of(factors[i], lesson, options);
    if (!is_dimension || (extent.dimension.empty() && count > 0))
      extent.multiplier *= std::max<std::size_t>(1, count);
  }
  return extent;
}

std::vector<Extent> extents_of(const Lesson& lesson, const Input& input, const Options& options) {
  std::vector<Extent> extents;
  for (const auto& axis : input.axes) {
    if (axis == only_with_heads && !options.heads) continue;
    extents.push_back(extent_of(axis == only_with_heads ? "head" : std::string_view(axis), lesson, options));
  }
  return extents;
}

std::optional<Input> find_input(const Lesson& lesson, const Options& options, std::string_view id) {
  for (auto& input : lesson.inputs(options))
    if (input.id == id) return input;
  return std::nullopt;
}

const attn::TokenBatch* text_of(std::string_view dimension, const Plan& plan) {
  if (dimension == "sentence") return &plan.sentence;
  if (dimension == "source") return &plan.source;
  if (dimension == "target") return &plan.target;
  return dimension == "memory" ? &plan.memory : nullptr;
}

std::optional<std::size_t> length_of(const Extent& extent, const Plan& plan) {
  const auto scaled = [&](std::size_t length) { return extent.multiplier * length + extent.offset; };
  if (const auto* text = text_of(extent.dimension, plan)) return scaled(text->length());
  const auto counts = counts_of_option(plan.options, extent.dimension);
  return counts.empty() ? std::nullopt : std::optional(scaled(counts[0]));
}

std::string describe_inputs(const Lesson& lesson, const Options& options) {
  std::vector<std::string> descriptions, of_optional_ones;
  for (const auto& input : lesson.inputs(options)) {
    if (input.draw == Draw::option) continue;
    std::vector<std::string> axes;
    for (const auto& extent : extents_of(lesson, input, options)) axes.push_back(extent.name);
    auto& among = input.draw == Draw::given ? of_optional_ones : descriptions;
    among.push_back(axes.empty() ? input.id : fmt::format("{} [{}]", input.id, fmt::join(axes, "×")));
  }
  const auto drawn = fmt::format("{}", fmt::join(descriptions, ", "));
  if (of_optional_ones.empty()) return drawn;
  return fmt::format("{}; there only where given: {}", drawn, fmt::join(of_optional_ones, ", "));
}

void require_inputs_fit(const Lesson& lesson, const Plan& plan, double bytes) {
  for (const auto& input : lesson.inputs(plan.options)) {
    const auto samples = std::max(plan.sentence.size(), plan.source.size());
    double size = sizeof(double) * (has_batch(input.draw) ? static_cast<double>(samples) : 1.0);
    std::vector<std::string> axes;
    for (const auto& extent : extents_of(lesson, input, plan.options)) {
      const auto length = length_of(extent, plan).value_or(1);
      size *= static_cast<double>(length);
      axes.push_back(fmt::format("{} {}", length, extent.name));
    }
    if (size > bytes)
      throw attn::Error(
          fmt::format("{} ({}) needs {}, this machine has {}; valid: smaller dimensions or shorter "
                      "sentences",
                      input.id, fmt::join(axes, " × "), attn::in_bytes(size), attn::in_bytes(bytes)));
  }
}

}  // namespace lessons
