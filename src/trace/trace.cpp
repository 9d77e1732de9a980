#include "trace/trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "attn/error.hpp"
#include "attn/ops/precision.hpp"
#include "trace/entry.hpp"
#include "trace/file.hpp"
#include "trace/recurrence.hpp"

namespace attn {

namespace {

/// "(2, 3)": where the element at a row-major offset stands.
std::string index_of(std::size_t offset, const Shape& shape) {
  return fmt::format("({})", fmt::join(index_at(offset, shape), ", "));
}

bool holds(Dtype dtype, double value) {
  if (dtype == Dtype::boolean) return value == 0.0 || value == 1.0;
  return dtype == Dtype::int64 ? is_whole_number(value) : std::isfinite(round_to(dtype, value));
}

std::string_view valid_elements(Dtype dtype) {
  constexpr std::string_view valid[] = {"finite numbers",
                                        "finite numbers up to 3.4e38, the largest of float32",
                                        "finite numbers up to 65504, the largest of float16",
                                        "finite numbers up to 3.38e38, the largest of bfloat16",
                                        "whole numbers",
                                        "0 or 1, where 1 means may be seen"};
  return valid[static_cast<std::size_t>(dtype)];
}

/// Of that shape, which has two axes.
AnyTensor identity_matrix(const Shape& shape) {
  AnyTensor matrix(Dtype::int64, shape);
  for (std::size_t i = 0; i < std::min(shape[0], shape[1]); ++i)
    matrix.elements<std::int64_t>()[i * (shape[1] + 1)] = 1;
  return matrix;
}

/// Throws Error, with `name` and the index, for a floating-point number beyond ±largest.
void require_at_most(const std::string& name, const TensorView& tensor, double largest) {
  if (!is_floating(tensor.dtype)) return;
  const auto count = element_count(tensor.shape);
  for (std::size_t i = 0; i < count; ++i)
    if (std::abs(tensor.at(i)) > largest)
      throw Error(fmt::format("{} has {} at {}; valid: numbers up to {}, whose products stay finite", name,
                              tensor.at(i), index_of(i, tensor.shape), largest));
}

}  // namespace

void copy_elements(const std::string& name, const AnyTensor& given, Dtype dtype, void* elements) {
  const auto view = given.view();
  const auto count = element_count(view.shape);
  if (view.dtype == Dtype::int64 && dtype == Dtype::int64) {  // of which double has not all
    std::copy_n(static_cast<const std::int64_t*>(view.data), count, static_cast<std::int64_t*>(elements));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double value = view.at(i);
    if (!holds(dtype, value))
      throw Error(fmt::format("{} has {} at {}; valid: {}", name, value, index_of(i, view.shape),
                              valid_elements(dtype)));
    store(dtype, elements, i, round_to(dtype, value));
  }
}

std::string shape_with_axes(const Shape& shape, const std::vector<std::string>& axes) {
  if (shape.empty()) return "(scalar)";
  if (axes.size() != shape.size()) return to_string(shape);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shape.size(); ++i) parts.push_back(fmt::format("{} {}", shape[i], axes[i]));
  return fmt::format("({})", fmt::join(parts, " × "));
}

bool Limit::holds(double value) const {
  if (comparison == Comparison::equal) return value == bound;
  return comparison == Comparison::at_most ? value <= bound : value >= bound;
}

Limit at_most(double bound) {
  return {Limit::Comparison::at_most, bound};
}

Limit within_rounding(double bound) {
  return {Limit::Comparison::at_most, bound, true};
}

Limit exactly(double bound) {
  return {Limit::Comparison::equal, bound};
}

Limit at_least(double bound) {
  return {Limit::Comparison::at_least, bound};
}

std::string to_string(const Limit& limit) {
  const char* operators[] = {"<=", "==", ">="};
  return fmt::format("{} {}", operators[static_cast<int>(limit.comparison)], limit.bound);
}

std::string_view name_of(Kind kind) {
  const std::string_view names[] = {"note", "input", "step", "claim", "mistake"};
  return names[static_cast<int>(kind)];
}

void Trace::page(std::vector<OnPage> events, std::vector<std::string> claims) {
  const auto add_unless_listed = [&](const std::string& id, auto where) {
    if (find_by_id(events, id) == nullptr) events.insert(where(), {.id = id});
  };
  for (const auto* id : {"code", "flow", "idea", "missing-model", "unknown-word", "without-model", "lexicon",
                         "left-aside", "names", "overflow", "defined"})
    add_unless_listed(id, [&] { return events.begin(); });
  add_unless_listed("next", [&] { return events.end(); });
  page_ = std::move(events);
  claims_on_page_ = std::move(claims);
}

void Trace::place_on_page(Event& event) const {
  if (const auto* found = find_by_id(page_, event.id)) {
    event.place = Place{static_cast<std::size_t>(found - page_.data()), found->in_one_line, found->is_plotted,
                        found->has_table};
    event.has_notice = found->notice != nullptr;
    if (found->notice) event.notice = found->notice(event);
  } else if (page_.empty()) {
    event.place = Place{ids_.size()};
  } else if (event.kind == Kind::claim) {
    const bool is_shown = claims_on_page_.empty() || contains(claims_on_page_, event.id);
    if (is_shown || !event.measurement->holds()) event.place = Place{page_.size() + ids_.size()};
  }
}

void Trace::note(const std::string& id, const std::string& title, const std::string& text,
                 const std::string& formula) {
  send({.kind = Kind::note, .id = id, .title = title, .formula = formula, .note = text});
}

void Trace::picture(const std::string& id, const std::string& title, const std::string& text,
                    const std::string& marks) {
  Event event{.kind = Kind::note, .id = id, .title = title, .note = text};
  event.marks = marks;
  send(event);
}

void Trace::claim(const Claim& claim) {
  Event event{.kind = Kind::claim,
              .id = claim.id,
              .title = claim.claim,
              .formula = claim.formula,
              .note = claim.note};
  event.measurement = Measurement{claim.claim, claim.value, claim.limit};
  all_claims_hold_ = all_claims_hold_ && event.measurement->holds();
  send(event);
}

std::string Trace::find(const std::string& name) const {
  for (auto group = prefix_; !group.empty(); group.erase(group.find_last_of('/', group.size() - 2) + 1))
    if (ids_.count(group + name) > 0) return group + name;
  return name;
}

void Trace::require_all_given_used(const std::vector<std::string>& others) {
  if (options_.given == nullptr) return;
  const auto is_input = [this](const auto& one) { return contains(input_ids_, one.first); };
  const bool has_input = any_of(*options_.given, is_input);
  std::vector<std::string> steps;
  for (const auto& one : *options_.given) {
    const auto& [id, given] = one;
    if (is_input(one)) continue;
    if (!has_input || !given.may_be_step || ranks_.count(id) == 0) {
      for (const auto& other : others)
        if (!contains(input_ids_, other)) input_ids_.push_back(other);
      throw Error(fmt::format("{} in {} is no input of this run; valid: {}", id, given.option,
                              fmt::join(input_ids_, ", ")));
    }
    steps.push_back(id);
  }
  if (!steps.empty())
    note("left-aside", "Results in --input",
         fmt::format("These are computed again, and those of the file are left aside: {}.",
                     fmt::join(steps, ", ")));
}

void Trace::tell_overflow() {
  if (all_claims_hold_ || overflow_.empty()) return;
  note("overflow", "Why claims do not hold",
       fmt::format("{}, but {} ends at {:g}: beyond that it has ∞, and what is computed from ∞ is ∞ or nan. "
                   "With smaller numbers or another --dtype they would hold. Lesson stability is about that.",
                   overflow_, name_of(options_.dtype), largest_number(options_.dtype)));
}

void Trace::round(const About& about, double* elements, std::size_t count) {
  if (options_.dtype == Dtype::float64) return;
  for (auto* element = elements; element != elements + count; ++element) {
    const double rounded = round_to(options_.dtype, *element);
    if (overflow_.empty() && std::isinf(rounded) && std::isfinite(*element))
      overflow_ = fmt::format("{} has {:g}", full_id(about.id), *element);
    *element = rounded;
  }
}

void Trace::watch(Kind kind, const About& about, const TensorView& tensor, void* elements,
                  const Mistakes& mistakes, std::optional<Tapped::Row> row) const {
  if (!options_.watch) return;
  const auto id = full_id(about.id);
  options_.watch({kind, id, tensor.dtype, tensor.shape, elements, about.axes, mistakes, row,
                  about.explain ? &about.explain : nullptr});
}

bool Trace::take_row(const About& about, const Shape& shape, double* elements, const Mistakes& mistakes) {
  if (recurrence_ == nullptr) return false;
  recurrence_->take(about, shape, elements, mistakes);
  return true;
}

void Trace::take_given(const About& about, TensorView tensor, void* elements) const {
  if (!is_given(about.id)) return;
  const auto name = given_name(about.id);
  const auto& given = options_.given->at(prefix_ + about.id).tensor;
  auto axes = about.axes;
  const bool has_batch = tensor.shape.size() == axes.size() + 1;
  if (has_batch && (options_.batched || (given && given->shape().size() == tensor.shape.size())))
    axes.insert(axes.begin(), "batch");
  else if (has_batch)
    tensor.shape.erase(tensor.shape.begin());
  const auto valid = shape_with_axes(tensor.shape, axes);
  if (given && given->shape() != tensor.shape)
    throw Error(
        fmt::format("{} has the shape ({}); valid for this run: {}", name, to_string(given->shape()), valid));
  if (given) {
    copy_elements(name, *given, tensor.dtype, elements);
    if (options_.given_of_any_size.count(prefix_ + about.id) == 0)
      require_at_most(name, tensor, options_.largest_given);
    return;
  }
  if (tensor.shape.size() != 2)
    throw Error(fmt::format("{} is identity, which is a matrix; valid for this run: {}", name, valid));
  copy_elements(name, identity_matrix(tensor.shape), tensor.dtype, elements);
}

void Trace::require_equal(const About& about, const TensorView& expected, const TensorView& given) const {
  for (std::size_t i = 0; i < element_count(expected.shape); ++i)
    if (expected.at(i) != given.at(i))
      throw Error(
          fmt::format("{} has {} where this run has {}; it follows from the other inputs and the options; "
                      "valid: leave it out",
                      given_name(about.id), given.at(i), expected.at(i)));
}

void Trace::emit(Kind kind, const About& about, TensorView tensor) {
  if (sink_ == nullptr) return;
  if (kind == Kind::input) input_ids_.push_back(prefix_ + about.id);
  Event event{.kind = kind,
              .id = about.id,
              .title = about.title,
              .formula = about.formula,
              .mathml = about.mathml,
              .note = about.note,
              .axes = about.axes,
              .distribution = about.distribution,
              .curve = about.curve,
              .linear = about.linear,
              .after_overflow = !overflow_.empty()};
  for (const auto& name : about.from) event.inputs.push_back(find(name));
  const bool has_batch = tensor.shape.size() == about.axes.size() + 1;
  if (!has_batch && tensor.shape.size() != about.axes.size())
    throw std::logic_error(fmt::format("[trace] {} has rank {} but {} axes are named", about.id,
                                       tensor.shape.size(), about.axes.size()));
  const bool shows_batch = has_batch && options_.batched;
  if (has_batch && !options_.batched) tensor.shape.erase(tensor.shape.begin());
  if (shows_batch) event.axes.insert(event.axes.begin(), "batch");

  for (const auto& axis : event.axes) {
    const auto* labels = value_in(labels_, axis);
    const bool are_shown = labels != nullptr && (shows_batch || !labels->per_sample());
    event.labels.push_back(are_shown ? *labels : AxisLabels{});
  }
  ranks_[prefix_ + about.id] = tensor.shape.size();
  if (about.worked) event.worked = worked_as_shown(about.worked, has_batch && !shows_batch);
  event.worked_at = about.worked_at;
  if (about.worked_at && shows_batch) event.worked_at->insert(event.worked_at->begin(), 0);
  event.tensor = std::move(tensor);
  send(event);
}

/// The same with the full ids of operands, and without the batch axis where it is not shown.
WorkedOut Trace::worked_as_shown(const WorkedOut& worked, bool drops_batch) const {
  using Shown = std::pair<std::string, const std::size_t*>;  // the full id, and its rank where it is known
  return [this, &worked, drops_batch, shown = std::map<std::string, Shown>()](Index at) mutable {
    if (drops_batch) {
      at.push_back(0);
      std::rotate(at.begin(), at.end() - 1, at.end());
    }
    auto result = worked(at);
    result.for_each_operand([&](Operand& operand) {
      auto& [id, rank] = shown[operand.tensor];
      if (id.empty()) {
        id = find(operand.tensor);
        rank = value_in(ranks_, id);
      }
      operand.tensor = id;
      if (rank == nullptr || operand.index.size() != *rank + 1) return;
      std::copy(operand.index.begin() + 1, operand.index.end(), operand.index.begin());
      operand.index.pop_back();
    });
    return result;
  };
}

void Trace::send(Event event) {
  if (sink_ == nullptr) return;
  event.id = prefix_ + event.id;
  if (!is_valid_id(event.id)) throw std::logic_error(fmt::format("[trace] \"{}\" is no valid id", event.id));
  if (!ids_.insert(event.id).second)
    throw std::logic_error(fmt::format("[trace] id {} is used twice", event.id));
  last_id_ = event.id;
  place_on_page(event);
  sink_->receive(event);
}

void Recurrence::Rows::put(const double* row, std::size_t t, double* whole) const {
  const auto run = strides_of(row_shape)[axis];
  for (std::size_t i = 0; i * run < element_count(row_shape); ++i)
    std::copy_n(row + i * run, run, whole + (i * shape[axis] + t) * run);
}

void Recurrence::Rows::get(const double* whole, std::size_t t, double* row) const {
  const auto run = strides_of(row_shape)[axis];
  for (std::size_t i = 0; i * run < element_count(row_shape); ++i)
    std::copy_n(whole + (i * shape[axis] + t) * run, run, row + i * run);
}

void Recurrence::watch(const Rows& rows, double* row, const Mistakes& mistakes) {
  if (!trace_.options_.watch) return;
  auto whole = rows.elements;
  const auto with_row_of = [&](const Mistake& mistake) -> std::optional<AnyTensor> {
    auto mistaken = mistake.result(nullptr);
    if (!mistaken || mistaken->shape() != rows.row_shape) return std::nullopt;
    AnyTensor changed(TensorView{Dtype::float64, rows.shape, whole.data()});
    rows.put(mistaken->elements<double>(), t_, changed.elements<double>());
    return changed;
  };
  Mistakes in_the_whole;
  in_the_whole.reserve(mistakes.size());
  for (const auto& mistake : mistakes)  // two references: a closure that needs no memory of its own
    in_the_whole.emplace_back(mistake.id(), [&mistake, &with_row_of] { return with_row_of(mistake); });
  trace_.watch(Kind::step, rows.about, {Dtype::float64, rows.shape, nullptr}, whole.data(), in_the_whole,
               Tapped::Row{rows.axis, t_});
  rows.get(whole.data(), t_, row);
}

void Recurrence::take(const About& about, const Shape& row_shape, double* elements,
                      const Mistakes& mistakes) {
  const auto id = trace_.prefix_ + about.id;
  const auto named = std::find(about.axes.begin(), about.axes.end(), axis_) - about.axes.begin();
  const auto axis = static_cast<std::size_t>(named) + row_shape.size() - about.axes.size();
  if (axis >= row_shape.size() || row_shape[axis] != 1)
    throw std::logic_error("[recurrence] " + id + " is no single row along " + axis_);
  auto shape = row_shape;
  shape[axis] = length_;
  const auto [place, is_new] = tensors_.try_emplace(
      id,
      Rows{.group = trace_.prefix_, .about = about, .axis = axis, .row_shape = row_shape, .shape = shape});
  auto& rows = place->second;
  if (is_new) {
    rows.elements.resize(element_count(shape));
    const bool drops_batch = row_shape.size() > about.axes.size() && !trace_.options_.batched;
    trace_.ranks_[id] = row_shape.size() - (drops_batch ? 1 : 0);
  }
  rows.put(elements, t_, rows.elements.data());
  watch(rows, elements, mistakes);
  trace_.round(about, elements, element_count(row_shape));
  rows.put(elements, t_, rows.elements.data());
}

void Recurrence::show(const std::string& id) {
  const auto& rows = tensors_.at(trace_.prefix_ + id);
  const Trace::Restore restore{trace_.prefix_, trace_.prefix_};
  trace_.prefix_ = rows.group;
  trace_.emit(Kind::step, rows.about, {trace_.dtype(), rows.shape, rows.elements.data()});
}

}  // namespace attn
