#include "lessons/documents/declared_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/ops/dropout.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

template <std::size_t N>
void DeclaredInputs::keep(const std::string& id, const formula::Axes& axes, Tensor<N> tensor) {
  auto kept = std::make_shared<Tensor<N>>(std::move(tensor));
  auto view = formula::view_of(axes, attn::view_of(*kept));
  view.owner = kept;
  meanings_.sheet().set(id, std::move(view));
}

void DeclaredInputs::tell(const document::Block& block, const attn::About& about,
                          const std::string& weights) {
  if (block.draw == "lengths") return tell_lengths(about);
  if (meanings_.sheet().tensors().count(about.id) > 0)
    throw formula::Error(0, fmt::format("there are two tensors of the name {}", about.id));
  if (block.draw == "mask" || block.draw == "padding") return tell_mask(about, block.draw == "padding");
  if (block.draw == "dropout") return tell_dropout_mask(about, meanings_.sheet().tensor(weights));
  auto& bench = meanings_.bench();
  const auto& lesson = *bench.plan.lesson;
  const auto input = find_input(lesson, bench.options, about.id);
  if (!input)
    throw document::Error(block.place, fmt::format("{} is no input of the lesson; valid: {}", about.id,
                                                   describe_inputs(lesson, bench.options)));
  if (input->draw == Draw::given && !bench.has_given(about.id)) return meanings_.set(about.id, 0.0);
  const auto& declared = block.definition->axes;
  if (const auto option = option_of(block); !option.empty()) return tell_option(about, declared, option);
  if (const auto table = table_of(block); !table.empty()) return tell_rows(about, table);
  const bool has_own_axes = std::any_of(declared.begin(), declared.end(),
                                        [](const auto& axis) { return axis.find('/') != axis.npos; });
  if (has_own_axes) return tell_table(about, declared);
  formula::Axes axes;
  if (has_batch(input->draw) && meanings_.sheet().has_axis(Meanings::batch))
    axes.emplace_back(Meanings::batch);
  for (const auto& extent : extents_of(lesson, *input, bench.options)) {
    if (!length_of(extent, bench.plan) && !bench.has_given(about.id))
      throw document::Error(block.place,
                            fmt::format("the axis {} of {} has no length; valid: an axis of words "
                                        "(token, query, key, source, target) or of an option (d_model "
                                        "of d-model) that the front matter lists",
                                        extent.name, about.id));
    axes.push_back(extent.name);
  }
  if (axes.size() == 1) return keep(about.id, axes, bench.input<1>(about));
  if (axes.size() == 2) return keep(about.id, axes, bench.input<2>(about));
  keep(about.id, axes, bench.input<3>(about));
}

void DeclaredInputs::tell_option(attn::About about, const formula::Axes& axes, std::string_view key) {
  auto& bench = meanings_.bench();
  const auto counts = counts_of_option(bench.options, key);
  if (axes.empty() && counts.empty())
    throw formula::Error(0, fmt::format("--{0} is not given; valid: defaults: --{0} 4", key));
  about.axes = axes;
  formula::Numbers numbers(attn::Shape(axes.size(), counts.size()));
  std::copy(counts.begin(), counts.end(), numbers.begin());
  if (axes.empty()) {
    bench.trace.input(about, static_cast<std::int64_t>(counts.at(0)));
  } else {
    bench.trace.input(about, Integers<1>(xt::cast<std::int64_t>(numbers)));
    std::vector<std::string> labels;
    for (const auto count : counts) labels.push_back(fmt::format("{}", count));
    bench.trace.label(axes.at(0), {{labels}});
  }
  meanings_.set_whole(about.id, axes, std::move(numbers));
}

void DeclaredInputs::tell_lengths(attn::About about) {
  has_told_lengths_ = true;
  about.axes = {Meanings::batch};
  const auto lengths = meanings_.bench().plan.key_tokens().lengths();
  auto counts = Integers<1>::from_shape({lengths.size()});
  std::copy(lengths.begin(), lengths.end(), counts.begin());
  meanings_.bench().trace.settled_input(about, counts);
}

/// A matrix with an axis `t5/bucket` of its own.
void DeclaredInputs::tell_table(const attn::About& about, const formula::Axes& axes) {
  auto& bench = meanings_.bench();
  auto& sheet = meanings_.sheet();
  const std::array<std::size_t, 2> shape = {sheet.size_of(axes.at(0)), sheet.size_of(axes.at(1))};
  keep(about.id, axes, bench.input<2>(about, shape));
}

void DeclaredInputs::tell_rows(attn::About about, const std::string& table) {
  auto& bench = meanings_.bench();
  const auto& axis = meanings_.bench().plan.key_tokens();
  about.axes = {"token"};
  const auto rows = bench.trace.input(about, Integers<1>({axis.length()}, 0));
  for (const auto row : rows) bench.checked_index(about.id, row, meanings_.sheet().tensor(table).shape[0]);
  meanings_.set_whole(about.id, about.axes, xt::cast<double>(rows));
}

void DeclaredInputs::tell_mask(const attn::About& about, bool of_padding_alone) {
  auto& bench = meanings_.bench();
  const auto& plan = bench.plan;
  mask_ = of_padding_alone ? bench.padding_mask(plan.key_tokens())
                           : bench.mask(plan.query_tokens(), plan.key_tokens(), about.title);
  set_mask(mask_);
}

void DeclaredInputs::set_mask(const std::optional<Mask<3>>& mask) {
  meanings_.set("has_mask", mask.has_value());
  if (!mask) return;
  auto view = formula::view_of({Meanings::batch, "query", "key"}, attn::view_of(*mask));
  for (std::size_t i = 0; i < 2; ++i)
    if (view.shape[i] == 1) {
      view.shape[i] = meanings_.sheet().size_of(view.axes[i]);
      view.strides[i] = 0;
    }
  meanings_.sheet().set("mask", std::move(view));
}

template <std::size_t N>
void DeclaredInputs::tell_dropout_mask(const attn::About& about, const formula::View& weights) {
  auto& bench = meanings_.bench();
  std::array<std::size_t, N> shape;
  std::copy(weights.shape.begin(), weights.shape.end(), shape.begin());
  const auto mask =
      bench.trace.input(about, attn::dropout_mask<N>(bench.random(about.id), bench.options.dropout, shape));
  if (std::any_of(mask.begin(), mask.end(), [](std::int64_t kept) { return kept != 0 && kept != 1; }))
    throw attn::Error(fmt::format("{} has other elements than 0 and 1; valid: 1 for a weight that is kept",
                                  bench.trace.given_name(about.id)));
  meanings_.set_whole(about.id, weights.axes, xt::cast<double>(mask));
}

void DeclaredInputs::tell_dropout_mask(attn::About about, const formula::View& weights) {
  about.axes.assign(weights.axes.begin() + 1, weights.axes.end());
  about.formula = fmt::format("binomial(1, 1 − p), p = {:g}", meanings_.bench().options.dropout);
  weights.axes.size() == 3 ? tell_dropout_mask<3>(about, weights) : tell_dropout_mask<4>(about, weights);
}

formula::View DeclaredInputs::foreseen(const formula::Axes& axes) const {
  static constexpr double nothing = 0.0;  // again and again
  formula::View view{.axes = axes, .strides = std::vector<std::ptrdiff_t>(axes.size()), .data = &nothing};
  for (const auto& axis : axes) view.shape.push_back(meanings_.sheet().size_of(axis));
  return view;
}

void DeclaredInputs::foresee(const formula::Definition& declaration) {
  const auto& bench = meanings_.bench();
  const auto& lesson = *bench.plan.lesson;
  const auto& id = declaration.name;
  const auto input = find_input(lesson, bench.options, id);
  if (!input) return;
  if (input->draw == Draw::given && !bench.has_given(id)) return meanings_.set(id, 0.0);
  auto& sheet = meanings_.sheet();
  const auto extents = extents_of(lesson, *input, bench.options);
  auto axes = declaration.axes;
  std::transform(axes.begin(), axes.end(), axes.begin(), without_length);
  if (axes.empty())
    for (const auto& extent : extents) axes.push_back(extent.name);
  for (std::size_t i = 0; i < std::min(axes.size(), extents.size()); ++i)
    if (const auto length = length_of(extents[i], bench.plan); length && !sheet.has_axis(axes[i]))
      sheet.axis(axes[i], *length);
  if (has_batch(input->draw) && sheet.has_axis(Meanings::batch)) axes.insert(axes.begin(), Meanings::batch);
  auto view = foreseen(axes);
  view.is_whole = input->draw == Draw::page;  // a mask, which the page makes itself
  sheet.set(id, std::move(view));
}

}  // namespace lessons
