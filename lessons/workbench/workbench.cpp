#include "lessons/workbench/workbench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <xtensor/xmath.hpp>

#include "attn/error.hpp"
#include "attn/ops/matmul.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

std::vector<std::string> numbered_up_to(std::size_t count, std::vector<std::string> words) {
  while (words.size() < count) words.push_back(fmt::format("#{}", words.size()));
  return words;
}

Workbench::Workbench(const Plan& the_plan, attn::Trace& the_trace)
    : draws_(the_plan.options), plan(the_plan), options(the_plan.options), trace(the_trace) {}

Workbench::Workbench(const Plan& the_plan, std::unique_ptr<attn::Trace> mute_trace)
    : draws_(the_plan.options),
      mute_trace_(std::move(mute_trace)),
      mute_options_(the_plan.options),
      plan(the_plan),
      options(mute_options_),
      trace(*mute_trace_) {
  mute_options_.dropout = 0.0;
}

Workbench Workbench::mute() const {
  return Workbench(plan, std::make_unique<attn::Trace>(trace.mute()));
}

void Workbench::label(const std::vector<std::string>& axes, const attn::TokenBatch& tokens) {
  for (const auto& axis : axes) trace.label(axis, tokens.labels());
}

namespace {

/// The vector of each token [batch×token×d_model], and zeros for padding.
template <class VectorOf>
Tensor<3> rows_of(const attn::TokenBatch& tokens, std::size_t d_model, const VectorOf& vector_of) {
  Tensor<3> X = xt::zeros<double>({tokens.size(), tokens.length(), d_model});
  for (std::size_t b = 0; b < tokens.size(); ++b)
    for (std::size_t i = 0; i < tokens.tokens[b].size(); ++i) {
      const auto vector = vector_of(tokens.tokens[b][i]);
      std::copy(vector.begin(), vector.end(), &X(b, i, 0));
    }
  return X;
}

}  // namespace

Tensor<3> Workbench::embed(const attn::About& about, const attn::TokenBatch& tokens) {
  const auto needs_none = is_given_without_draws(about.id) && !plan.vectors;
  const auto X = trace.input(
      about, needs_none ? Tensor<3>({tokens.size(), tokens.length(), d_model()}, 0.0)
                        : rows_of(tokens, d_model(), [this](const auto& token) { return vector_of(token); }));
  if (!trace.is_given(about.id)) return X;
  for (std::size_t b = 0; b < tokens.size(); ++b)
    for (std::size_t i = 0; i < tokens.tokens[b].size(); ++i)
      given_.emplace(tokens.tokens[b][i], std::vector<double>(&X(b, i, 0), &X(b, i, 0) + X.shape(2)));
  return X;
}

Tensor<3> Workbench::known_vectors_of(const attn::TokenBatch& tokens) {
  return rows_of(tokens, d_model(), [this](const std::string& token) {
    const auto* const given = attn::value_in(given_, token);
    return given == nullptr ? vector_of(token) : *given;
  });
}

bool Workbench::is_given_without_draws(const std::string& id) const {
  return draws_by_name(options) && trace.is_given(id);
}

const Input& Workbench::declaration(const std::string& id) {
  const auto full_id = trace.full_id(id);
  if (inputs_.empty()) inputs_ = plan.lesson->inputs(options);
  for (const auto& input : inputs_)
    if (input.id == full_id) return input;
  throw std::logic_error(
      fmt::format("[workbench] the lesson {} declares no input {}", plan.lesson->name, full_id));
}

Slices Workbench::slices_of(const Input& input, std::size_t rank) const {
  const auto extents = extents_of(*plan.lesson, input, options);
  Slices slices{.batched = rank == extents.size() + 1};
  for (std::size_t axis = 0; axis < extents.size() && !slices.axis; ++axis) {
    const bool is_vocabulary = extents[axis].name == "vocabulary";
    if (is_vocabulary) slices.entries = trace.labels(extents[axis].name).of(0);
    if (is_vocabulary || text_of(extents[axis].dimension, plan) != nullptr)
      slices.axis = axis + (slices.batched ? 1 : 0);
  }
  return slices;
}

attn::AnyRank<double> Workbench::draw_weight(const Input& input, const attn::Shape& shape) {
  const bool multiplies_from_left = input.draw == Draw::left_weight;
  const auto rows = shape.front(), columns = shape.size() == 1 ? std::size_t{1} : shape.back();
  const auto fan_in = multiplies_from_left ? columns : rows, fan_out = multiplies_from_left ? rows : columns;
  if (options.weight_scale == "uniform") return draws_.uniform(shape);
  if (options.weight_scale == "linear") {
    const auto drawn = draws_.linear(fan_out, fan_in);
    attn::AnyRank<double> weight(multiplies_from_left ? drawn : attn::transpose(drawn));
    weight.reshape(shape);
    return weight;
  }
  return draws_.normal(input.id, standard_deviation(options.weight_scale, fan_in, fan_out), shape,
                       slices_of(input, shape.size()));
}

attn::AnyRank<double> Workbench::draw(const Input& input, const attn::Shape& shape) {
  switch (input.draw) {
    case Draw::normal:
      return draws_.normal(input.id, 1.0, shape, slices_of(input, shape.size()));
    case Draw::weight:
    case Draw::left_weight:
      return draw_weight(input, shape);
    case Draw::ones:
      return attn::AnyRank<double>(shape, 1.0);
    case Draw::zeros:
    case Draw::given:
      return attn::AnyRank<double>(shape, 0.0);
    default:
      throw std::logic_error(fmt::format("[workbench] the page draws {}", input.id));
  }
}

attn::AnyRank<double> Workbench::input(attn::About about, const attn::Shape& shape) {
  const auto& declared = declaration(about.id);
  const auto extents = extents_of(*plan.lesson, declared, options);
  about.axes.clear();
  for (const auto& extent : extents) about.axes.push_back(extent.name);
  if (declared.draw == Draw::embedding && shape.size() == 3)
    return embed(about, *text_of(extents.front().dimension, plan));
  auto numbers = is_given_without_draws(about.id) ? attn::AnyRank<double>(shape, 0.0) : draw(declared, shape);
  trace.input(about, shape, numbers.data());
  return numbers;
}

attn::AnyRank<double> Workbench::input(attn::About about, std::size_t rank) {
  const auto extents = extents_of(*plan.lesson, declaration(about.id), options);
  attn::Shape shape(rank);
  if (rank == extents.size() + 1) shape[0] = std::max(plan.sentence.size(), plan.source.size());
  std::transform(extents.begin(), extents.end(), shape.end() - static_cast<std::ptrdiff_t>(extents.size()),
                 [&](const Extent& extent) {
                   const auto length = length_of(extent, plan);
                   return length ? *length : length_of_given(about.id, extent.name, 0);
                 });
  return input(std::move(about), shape);
}

bool Workbench::has_given(const std::string& id) const {
  return trace.is_given(id) && find_input(*plan.lesson, options, trace.full_id(id));
}

std::size_t Workbench::length_of_given(const std::string& id, std::string_view axis,
                                       std::size_t needed) const {
  const auto input = find_input(*plan.lesson, options, trace.full_id(id));
  if (!input || !trace.is_given(id)) return needed;
  const auto& tensor = plan.given.at(trace.full_id(id)).tensor;
  const auto extents = extents_of(*plan.lesson, *input, options);
  if (!tensor || tensor->shape().size() < extents.size()) return needed;
  const auto from_end = std::find_if(extents.rbegin(), extents.rend(),
                                     [&](const Extent& extent) { return extent.name == axis; });
  const auto length = *(tensor->shape().rbegin() + (from_end - extents.rbegin()));
  if (length < needed)
    throw attn::Error(fmt::format("{} has the shape ({}); valid: {} or more along its axis {}",
                                  trace.given_name(id), attn::to_string(tensor->shape()), needed, axis));
  return length;
}

std::size_t Workbench::vocabulary_size(const std::vector<std::string>& ids, std::size_t known,
                                       bool by_number) const {
  const bool is_given = attn::any_of(ids, [&](const auto& id) { return has_given(id); });
  const auto least = by_number && is_given ? 1 : known;
  auto size = least;
  for (const auto& id : ids) size = std::max(size, length_of_given(id, "vocabulary", least));
  return size;
}

std::size_t Workbench::checked_index(const std::string& id, std::int64_t index, std::size_t count) const {
  if (index < 0 || static_cast<std::uint64_t>(index) >= count)
    throw attn::Error(fmt::format("{} has {}; valid: 0 to {}", trace.given_name(id), index, count - 1));
  return static_cast<std::size_t>(index);
}

std::optional<attn::fast::Visibility> Workbench::visibility() const {
  if (mask_is_given) return std::nullopt;
  const auto& keys = plan.key_tokens();
  return attn::fast::Visibility{
      .causal = options.causal,
      .window = options.window,
      .key_lengths = keys.is_padded() ? keys.lengths() : std::vector<std::size_t>()};
}

void Workbench::draw_vectors(const attn::TokenBatch& tokens) {
  if (plan.vectors || draws_by_name(options)) return;
  for (const auto& sentence : tokens.tokens)
    for (const auto& token : sentence) draw_vector(token);
}

const std::vector<double>& Workbench::draw_vector(const std::string& token) {
  if (const auto* const drawn = attn::value_in(drawn_, token)) return *drawn;
  const auto row = draws_.normal("token " + token, 1.0, {d_model()});
  return drawn_.emplace(token, std::vector<double>(row.begin(), row.end())).first->second;
}

std::vector<double> Workbench::vector_of(const std::string& token) {
  const bool is_missing_start = token == attn::start_token && plan.vectors && !plan.vectors->has(token);
  if (is_missing_start) return std::vector(d_model(), 0.0);
  if (plan.vectors) return plan.vectors->at(token);
  if (draws_by_name(options)) return draw_vector(token);
  if (drawn_.empty())
    for (const auto* batch : {&plan.memory, &plan.sentence, &plan.source, &plan.target}) draw_vectors(*batch);
  return drawn_.at(token);
}

}  // namespace lessons
