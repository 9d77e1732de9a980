#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/ops/mask.hpp"
#include "document/prose.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

void DeclaredInputs::tell(const document::Block& block, const attn::About& about, const Scope& scope) {
  if (block.draw == "lengths") return tell_lengths(about);
  if (meanings_.sheet().tensors().count(about.id) > 0)
    throw formula::Error(0, fmt::format("there are two tensors of the name {}", about.id));
  if (block.draw == "mask" || block.draw == "padding") return tell_mask(about, block.draw == "padding");
  if (block.draw == "dropout")
    return tell_dropout_mask(about, meanings_.sheet().tensor(scope.prefix + "weights"));
  auto& bench = meanings_.bench();
  const auto& lesson = *bench.plan.lesson;
  const auto input = find_input(lesson, bench.options, about.id);
  if (!input)
    throw document::Error(block.place, fmt::format("{} is no input of the lesson; valid: {}", about.id,
                                                   describe_inputs(lesson, bench.options)));
  if (input->draw == Draw::given && !bench.has_given(about.id)) return meanings_.set(about.id, 0.0);
  auto declared = scope.axes_of(block);
  if (const auto option = option_of(block); !option.empty()) return tell_option(about, declared, option);
  if (const auto table = table_of(block); !table.empty()) return tell_rows(about, table);
  if (const auto formula = formula_of(block); !formula.text().empty())
    return tell_computed(
        about, meanings_.sheet().resolved({about.id, meanings_.with_heads_there(declared),
                                           meanings_.settled(document::read_formula(formula), scope)}));
  const auto extents = extents_of(lesson, *input, bench.options);
  if (extents.size() < declared.size()) declared = meanings_.with_heads_there(std::move(declared));
  formula::Axes axes;
  std::vector<std::size_t> shape;
  if (has_samples(block) && meanings_.sheet().has_axis(Meanings::batch)) {
    axes.emplace_back(Meanings::batch);
    shape.push_back(meanings_.sheet().size_of(Meanings::batch));
  }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const auto own = without_length(declared.at(i));
    axes.push_back(has_own_length(own) ? own : extents[i].name);
    shape.push_back(length_along(block, about.id, own, extents[i]));
  }
  tell_shaped(block, about, axes, shape);
}

std::size_t DeclaredInputs::length_along(const document::Block& block, const std::string& id,
                                         const std::string& axis, const Extent& extent) const {
  const auto& bench = meanings_.bench();
  const auto& sheet = meanings_.sheet();
  if (sheet.has_axis(axis) && has_own_length(axis)) return sheet.size_of(axis);
  if (const auto length = length_of(extent, bench.plan)) return *length;
  if (const auto given = bench.length_of_given(id, extent.name, 0); given > 0) return given;
  if (sheet.has_axis(axis)) return sheet.size_of(axis);
  throw document::Error(
      block.place,
      fmt::format("the axis {0} of {1} has no length; valid: an axis of words (token, query, key, "
                  "source, target) or of an option (d_model of d-model) that the front matter "
                  "lists, {0}=d_model, or axes: {0} = 4 in the front matter",
                  axis, id));
}

void DeclaredInputs::tell_shaped(const document::Block& block, const attn::About& about,
                                 const formula::Axes& axes, const std::vector<std::size_t>& shape) {
  if (shape.empty() || shape.size() > 4)
    throw document::Error(
        block.place,
        fmt::format("{0} has {1} axes{2}; valid: 1 to 4. A single number is {0}[one], with axes: one = 1 "
                    "in the front matter",
                    about.id, shape.size(),
                    axes.size() > block.definition->axes.size() ? ", that of the samples included" : ""));
  meanings_.sheet().set(about.id, owned_view(meanings_.bench().input(about, shape), axes));
}

void DeclaredInputs::tell_option(attn::About about, const formula::Axes& axes, std::string_view key) {
  auto& bench = meanings_.bench();
  const auto counts = counts_of_option(bench.options, key);
  if (axes.empty() && counts.empty())
    throw formula::Error(0, fmt::format("--{0} is not given; valid: defaults: --{0} 4", key));
  about.axes = axes;
  formula::Numbers numbers(attn::Shape(axes.size(), counts.size()));
  std::copy(counts.begin(), counts.end(), numbers.begin());
  std::vector<std::string> labels;
  for (const auto count : counts) labels.push_back(fmt::format("{}", count));
  if (!axes.empty()) bench.trace.label(axes[0], {{labels}});
  if (axes.empty())
    bench.trace.input(about, static_cast<std::int64_t>(counts.at(0)));
  else
    bench.trace.input(about, Integers<1>(xt::cast<std::int64_t>(numbers)));
  meanings_.set_whole(about.id, axes, std::move(numbers));
}

void DeclaredInputs::tell_made(attn::About about, const formula::View& numbers) {
  for (const auto& axis : numbers.axes)
    if (axis != Meanings::batch) about.axes.push_back(name_on_page(axis));
  const auto rank = numbers.axes.size();
  if (rank < 1 || rank > 4)
    throw formula::Error(
        0, fmt::format("{} has {} axes; valid: 1 to 4, that of the samples included", about.id, rank));
  formula::Numbers made(numbers.shape);
  std::copy_n(static_cast<const double*>(numbers.data), made.size(), made.begin());
  auto& trace = meanings_.bench().trace;
  if (!numbers.is_whole) {
    trace.input(about, numbers.shape, made.data());
    return meanings_.sheet().set(about.id, owned_view(std::move(made), numbers.axes));
  }
  std::vector<std::int64_t> whole(made.begin(), made.end());
  trace.input(about, numbers.shape, whole.data());
  std::copy(whole.begin(), whole.end(), made.begin());
  meanings_.set_whole(about.id, numbers.axes, std::move(made));
}

void DeclaredInputs::tell_lengths(attn::About about) {
  has_told_lengths_ = true;
  about.axes = {Meanings::batch};
  const auto lengths = meanings_.bench().plan.key_tokens().lengths();
  auto counts = Integers<1>::from_shape({lengths.size()});
  std::copy(lengths.begin(), lengths.end(), counts.begin());
  meanings_.bench().trace.settled_input(about, counts);
}

void DeclaredInputs::tell_computed(attn::About about, const formula::Definition& definition) {
  if (about.formula.empty()) add_formula(about, definition, meanings_.sheet());
  auto view = formula::owned_alone(meanings_.sheet().value(definition));
  view.axes = definition.axes;
  view.is_truth ? tell_settled_mask(std::move(about), view) : tell_made(std::move(about), view);
}

void DeclaredInputs::tell_settled_mask(attn::About about, const formula::View& view) {
  const bool has_batch = formula::has(view.axes, Meanings::batch);
  if (view.axes.size() != (has_batch ? 3 : 2))
    throw formula::Error(0, fmt::format("{} has other axes than two; valid: {}[query, key]: as CONDITION",
                                        about.id, name_on_page(about.id)));
  auto mask =
      Mask<3>::from_shape({has_batch ? view.shape[0] : 1, view.shape.end()[-2], view.shape.end()[-1]});
  std::copy_n(static_cast<const bool*>(view.data), mask.size(), mask.begin());
  about.axes = {name_on_page(view.axes.end()[-2]), name_on_page(view.axes.end()[-1])};
  meanings_.bench().trace.settled_input(about, mask);
  meanings_.sheet().set(about.id, view);
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
  const auto prefix = about.id.substr(0, about.id.rfind('/') + 1);
  auto& bench = meanings_.bench();
  const auto& plan = bench.plan;
  auto& mask = masks_[prefix];
  const auto show = [&] {
    mask = of_padding_alone ? bench.padding_mask(plan.key_tokens())
                            : bench.mask(plan.query_tokens(), plan.key_tokens(), about.title);
  };
  prefix.empty() ? show() : bench.trace.within(prefix.substr(0, prefix.size() - 1), show);
  set_mask(mask, prefix);
}

void DeclaredInputs::set_mask(const std::optional<Mask<3>>& mask, const std::string& prefix) {
  meanings_.set(prefix + "has_mask", mask.has_value());
  if (!mask) return;
  auto view = formula::view_of({Meanings::batch, "query", "key"}, attn::view_of(*mask));
  for (std::size_t i = 0; i < 2; ++i)
    if (view.shape[i] == 1) {
      view.shape[i] = meanings_.sheet().size_of(view.axes[i]);
      view.strides[i] = 0;
    }
  meanings_.sheet().set(prefix + "mask", std::move(view));
}

void DeclaredInputs::tell_dropout_mask(attn::About about, const formula::View& weights) {
  auto& bench = meanings_.bench();
  about.axes.assign(weights.axes.begin() + 1, weights.axes.end());
  about.formula = fmt::format("binomial(1, 1 − p), p = {:g}", bench.options.dropout);
  auto mask = attn::dropout_mask<1>(bench.random(about.id), bench.options.dropout,
                                    {attn::element_count(weights.shape)});
  bench.trace.input(about, weights.shape, mask.data());
  if (std::any_of(mask.begin(), mask.end(), [](std::int64_t kept) { return kept != 0 && kept != 1; }))
    throw attn::Error(fmt::format("{} has other elements than 0 and 1; valid: 1 for a weight that is kept",
                                  bench.trace.given_name(about.id)));
  formula::Numbers kept(weights.shape);
  std::copy(mask.begin(), mask.end(), kept.begin());
  meanings_.set_whole(about.id, weights.axes, std::move(kept));
}

formula::View DeclaredInputs::foreseen(const formula::Axes& axes) const {
  static constexpr double nothing = 0.0;  // again and again
  return {.axes = axes,
          .shape = meanings_.sheet().shape_of(axes),
          .strides = std::vector<std::ptrdiff_t>(axes.size()),
          .data = &nothing};
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
  if (extents.size() < axes.size()) axes = meanings_.with_heads_there(std::move(axes));
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
