#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "attn/ops/mask.hpp"
#include "document/prose.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

std::size_t length_along(Telling& run, const document::Block& block, const std::string& id,
                         const std::string& axis, const Extent& extent) {
  const auto& bench = run.bench();
  const auto& sheet = run.sheet();
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

/// Shows whole numbers, or those that are given in their place, as formulas take them, and returns them.
std::vector<std::int64_t> tell_whole(Telling& run, const attn::About& about, const formula::Axes& axes,
                                     const attn::Shape& shape, std::vector<std::int64_t> whole) {
  auto& trace = run.bench().trace;
  shape.empty() ? void(trace.input(about, whole.at(0))) : trace.input(about, shape, whole.data());
  formula::Numbers numbers(shape);
  std::copy(whole.begin(), whole.end(), numbers.begin());
  auto view = owned_view(std::move(numbers), axes);
  view.is_whole = true;
  run.sheet().set(about.id, std::move(view));
  return whole;
}

void tell_option(Telling& run, attn::About about, const formula::Axes& axes, std::string_view key) {
  const auto counts = counts_of_option(run.bench().options, key);
  if (axes.empty() && counts.empty())
    throw formula::Error(0, fmt::format("--{0} is not given; valid: defaults: --{0} 4", key));
  about.axes = axes;
  std::vector<std::string> labels;
  for (const auto count : counts) labels.push_back(fmt::format("{}", count));
  if (!axes.empty()) run.bench().trace.label(axes[0], {{labels}});
  tell_whole(run, about, axes, attn::Shape(axes.size(), counts.size()), {counts.begin(), counts.end()});
}

void tell_rows(Telling& run, attn::About about, const std::string& table) {
  const auto length = run.bench().plan.key_tokens().length();
  about.axes = {"token"};
  for (const auto row : tell_whole(run, about, about.axes, {length}, std::vector<std::int64_t>(length)))
    run.bench().checked_index(about.id, row, run.sheet().tensor(table).shape[0]);
}

void tell_settled_mask(Telling& run, attn::About about, const formula::View& view) {
  const bool has_batch = formula::has(view.axes, Meanings::batch);
  if (view.axes.size() != (has_batch ? 3 : 2))
    throw formula::Error(0, fmt::format("{} has other axes than two; valid: {}[query, key]: as CONDITION",
                                        about.id, name_on_page(about.id)));
  auto mask =
      Mask<3>::from_shape({has_batch ? view.shape[0] : 1, view.shape.end()[-2], view.shape.end()[-1]});
  std::copy_n(static_cast<const bool*>(view.data), mask.size(), mask.begin());
  about.axes = shown_axes(view.axes);
  run.bench().trace.settled_input(about, mask);
  run.sheet().set(about.id, view);
}

void tell_formula(Telling& run, attn::About about, const formula::Definition& definition) {
  if (about.formula.empty()) add_formula(about, definition, run.sheet());
  auto view = formula::owned_alone(run.sheet().value(definition));
  view.axes = definition.axes;
  view.is_truth ? tell_settled_mask(run, std::move(about), view)
                : tell_made_input(run, std::move(about), view);
}

/// Shows the mask [batch×query×key]: a query sees a key where `--causal`, `--window`, the padding of the keys
/// and the mask of `--input` all let it; nothing where every query may see every key.
std::optional<Mask<3>> shown_mask(Workbench& bench, const attn::TokenBatch& queries,
                                  const attn::TokenBatch& keys, const std::string& title) {
  const auto& options = bench.options;
  auto& trace = bench.trace;
  const auto n_q = queries.length(), n_k = keys.length();
  const auto position = n_q == n_k ? std::string("i") : fmt::format("i + {} − {}", n_k, n_q);
  std::optional<Mask<3>> mask;
  std::vector<std::string> rules;
  const auto restrict_to = [&](const Mask<3>& visible, std::string rule) {
    mask = mask ? attn::both(*mask, visible) : visible;
    rules.push_back(std::move(rule));
  };
  if (options.causal)
    restrict_to(attn::repeat_mask(attn::causal_mask(n_q, n_k), keys.size()), "j ≤ " + position);
  if (options.window)
    restrict_to(attn::repeat_mask(attn::window_mask(n_q, n_k, *options.window), keys.size()),
                fmt::format("|{} − j| ≤ {}", position, *options.window));
  const auto by_position = mask;
  const auto rules_of_position = fmt::format("{}", fmt::join(rules, " and "));
  if (keys.is_padded()) restrict_to(attn::padding_mask(keys.lengths(), n_q, n_k), "j < lengths");
  if (!mask && !trace.is_given("mask")) return mask;
  if (!mask) mask = Mask<3>({keys.size(), n_q, n_k}, true);
  attn::About about = {.id = "mask", .title = title, .axes = {"query", "key"}};
  auto shown = trace.given_or(about, *mask);  // which says what is padding
  if (by_position) shown = attn::both(shown, *by_position);
  bench.mask_is_given = shown != *mask;
  const bool ends_count = n_q != n_k && (options.causal || options.window);
  about.note = "Query i may look at key j where 1 stands.";
  if (bench.mask_is_given) {
    about.formula = by_position ? "given mask and " + rules_of_position : "";
    about.note +=
        by_position ? " A key is seen where the given mask and the rules all let it." : " It is a given one.";
  } else {
    about.formula = fmt::format("{}", fmt::join(rules, " and "));
    if (ends_count) about.note += " The sequences end together: the last query stands beside the last key.";
    if (queries.is_padded()) about.note += " What <pad> looks at is filling: nobody reads its rows.";
  }
  if (attn::has_empty_row(shown))
    about.note += " A query that may look at nothing gets no weights and the output 0.";
  return trace.shown_input(about, shown);
}

void tell_mask(Telling& run, const attn::About& about, bool of_padding_alone) {
  const auto prefix = about.id.substr(0, about.id.rfind('/') + 1);
  auto& bench = run.bench();
  const auto& plan = bench.plan;
  auto& mask = run.masks[prefix];
  const auto& keys = plan.key_tokens();
  const auto show = [&] {
    mask = of_padding_alone ? shown_mask(bench, keys, keys, "Who may look at whom")
                            : shown_mask(bench, plan.query_tokens(), keys, about.title);
    if (of_padding_alone && mask && *mask != attn::padding_mask(keys.lengths(), keys.length(), keys.length()))
      throw attn::Error(
          fmt::format("{} hides other keys than the padding; valid for this lesson: lengths alone",
                      bench.trace.given_name("mask")));
  };
  prefix.empty() ? show() : bench.trace.within(prefix.substr(0, prefix.size() - 1), show);
  run.meanings.set(prefix + "has_mask", mask.has_value());
  if (!mask) return;
  auto view = formula::view_of({Meanings::batch, "query", "key"}, attn::view_of(*mask));
  for (std::size_t i = 0; i < 2; ++i)
    if (view.shape[i] == 1) {  // an axis of length 1 is repeated
      view.shape[i] = run.sheet().size_of(view.axes[i]);
      view.strides[i] = 0;
    }
  run.sheet().set(prefix + "mask", std::move(view));
}

void tell_dropout_mask(Telling& run, attn::About about, const formula::View& weights) {
  auto& bench = run.bench();
  about.axes.assign(weights.axes.begin() + 1, weights.axes.end());
  about.formula = fmt::format("binomial(1, 1 − p), p = {:g}", bench.options.dropout);
  const auto drawn = attn::dropout_mask<1>(bench.random(about.id), bench.options.dropout,
                                           {attn::element_count(weights.shape)});
  const auto mask = tell_whole(run, about, weights.axes, weights.shape, {drawn.begin(), drawn.end()});
  if (std::any_of(mask.begin(), mask.end(), [](std::int64_t kept) { return kept != 0 && kept != 1; }))
    throw attn::Error(fmt::format("{} has other elements than 0 and 1; valid: 1 for a weight that is kept",
                                  bench.trace.given_name(about.id)));
}

}  // namespace

void tell_declared(Telling& run, const document::Block& block, const attn::About& about, const Scope& scope) {
  if (block.draw == "lengths") return tell_lengths(run, about);
  if (run.sheet().tensors().count(about.id) > 0)
    throw formula::Error(0, fmt::format("there are two tensors of the name {}", about.id));
  if (block.draw == "mask" || block.draw == "padding") return tell_mask(run, about, block.draw == "padding");
  if (block.draw == "dropout")
    return tell_dropout_mask(run, about, run.sheet().tensor(scope.prefix + "weights"));
  auto& bench = run.bench();
  const auto& lesson = *bench.plan.lesson;
  const auto input = find_input(lesson, bench.options, about.id);
  if (!input)
    throw document::Error(block.place, fmt::format("{} is no input of the lesson; valid: {}", about.id,
                                                   describe_inputs(lesson, bench.options)));
  if (input->draw == Draw::given && !bench.has_given(about.id)) return run.meanings.set(about.id, 0.0);
  auto declared = scope.axes_of(block);
  const auto origin = origin_of(block);
  if (!origin.option.empty()) return tell_option(run, about, declared, origin.option);
  if (!origin.table.empty()) return tell_rows(run, about, std::string(origin.table));
  if (!origin.formula.text().empty()) {
    const auto formula = run.meanings.settled(document::read_formula(origin.formula), scope);
    return tell_formula(run, about,
                        run.sheet().resolved({about.id, run.meanings.with_heads_there(declared), formula}));
  }
  const auto extents = extents_of(lesson, *input, bench.options);
  if (extents.size() < declared.size()) declared = run.meanings.with_heads_there(std::move(declared));
  formula::Axes axes;
  std::vector<std::size_t> shape;
  if (has_samples(block) && run.sheet().has_axis(Meanings::batch)) {
    axes.emplace_back(Meanings::batch);
    shape.push_back(run.sheet().size_of(Meanings::batch));
  }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const auto own = without_length(declared.at(i));
    axes.push_back(has_own_length(own) ? own : extents[i].name);
    shape.push_back(length_along(run, block, about.id, own, extents[i]));
  }
  if (shape.empty() || shape.size() > 4)
    throw document::Error(
        block.place,
        fmt::format("{0} has {1} axes{2}; valid: 1 to 4. A single number is {0}[one], with axes: one = 1 "
                    "in the front matter",
                    about.id, shape.size(),
                    axes.size() > block.definition->axes.size() ? ", that of the samples included" : ""));
  run.sheet().set(about.id, owned_view(run.bench().input(about, shape), axes));
}

void tell_made_input(Telling& run, attn::About about, const formula::View& numbers) {
  about.axes = shown_axes(numbers.axes);
  const auto rank = numbers.axes.size();
  if (rank < 1 || rank > 4)
    throw formula::Error(
        0, fmt::format("{} has {} axes; valid: 1 to 4, that of the samples included", about.id, rank));
  formula::Numbers made(numbers.shape);
  std::copy_n(static_cast<const double*>(numbers.data), made.size(), made.begin());
  if (numbers.is_whole) {
    tell_whole(run, about, numbers.axes, numbers.shape, {made.begin(), made.end()});
  } else {
    run.bench().trace.input(about, numbers.shape, made.data());
    run.sheet().set(about.id, owned_view(std::move(made), numbers.axes));
  }
}

void tell_lengths(Telling& run, attn::About about) {
  run.has_told_lengths = true;
  about.axes = {Meanings::batch};
  const auto lengths = run.bench().plan.key_tokens().lengths();
  auto counts = Integers<1>::from_shape({lengths.size()});
  std::copy(lengths.begin(), lengths.end(), counts.begin());
  run.bench().trace.settled_input(about, counts);
}

formula::View foreseen(Telling& run, const formula::Axes& axes) {
  static constexpr double nothing = 0.0;  // again and again
  return {.axes = axes,
          .shape = run.sheet().shape_of(axes),
          .strides = std::vector<std::ptrdiff_t>(axes.size()),
          .data = &nothing};
}

void foresee_input(Telling& run, const formula::Definition& declaration) {
  const auto& bench = run.bench();
  const auto& lesson = *bench.plan.lesson;
  const auto& id = declaration.name;
  const auto input = find_input(lesson, bench.options, id);
  if (!input) return;
  if (input->draw == Draw::given && !bench.has_given(id)) return run.meanings.set(id, 0.0);
  auto& sheet = run.sheet();
  const auto extents = extents_of(lesson, *input, bench.options);
  auto axes = declaration.axes;
  std::transform(axes.begin(), axes.end(), axes.begin(), without_length);
  if (extents.size() < axes.size()) axes = run.meanings.with_heads_there(std::move(axes));
  if (axes.empty())
    for (const auto& extent : extents) axes.push_back(extent.name);
  for (std::size_t i = 0; i < std::min(axes.size(), extents.size()); ++i)
    if (const auto length = length_of(extents[i], bench.plan); length && !sheet.has_axis(axes[i]))
      sheet.axis(axes[i], *length);
  if (has_batch(input->draw) && sheet.has_axis(Meanings::batch)) axes.insert(axes.begin(), Meanings::batch);
  auto view = foreseen(run, axes);
  view.is_whole = input->draw == Draw::page;  // a mask, which the page makes itself
  sheet.set(id, std::move(view));
}

}  // namespace lessons
