#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xvectorize.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"
#include "formula/functions.hpp"
#include "formula/linear_index.hpp"
#include "formula/sheet.hpp"

namespace formula {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Axes joined(Axes axes, std::initializer_list<Axes> more) {
  for (const auto& some : more) axes.insert(axes.end(), some.begin(), some.end());
  return axes;
}

/// Of row-major elements; 0 along an axis of length 1, as xtensor has it.
std::vector<std::ptrdiff_t> row_major_strides(const attn::Shape& shape) {
  std::vector<std::ptrdiff_t> strides(shape.size());
  std::ptrdiff_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= static_cast<std::ptrdiff_t>(shape[i]))
    strides[i] = shape[i] == 1 ? 0 : stride;
  return strides;
}

/// The elements of a view as an xtensor expression, valid as long as the view. Strides may lead to the same
/// element more than once; the size that xtensor asks for is that of the shape.
template <class Element>
auto elements(const View& view) {
  return xt::adapt(static_cast<const Element*>(view.data), attn::element_count(view.shape),
                   xt::no_ownership(), view.shape, view.strides);
}

template <class Container>
View owned(Axes axes, Container container) {
  return view_of(std::move(axes), std::make_shared<const Container>(std::move(container)));
}

View constant(double number) {
  return owned({}, Numbers(Numbers::shape_type{}, number));
}

View copy_of(const View& view) {
  auto copy = view.is_truth ? owned(view.axes, Truths(elements<bool>(view)))
                            : owned(view.axes, Numbers(elements<double>(view)));
  copy.is_whole = view.is_whole;
  return copy;
}

double number_of(const View& scalar) {
  return scalar.at({});
}

bool is_row_major(const View& view) {
  return view.strides == row_major_strides(view.shape);
}

/// A part of an axis; of none where it has no name.
struct Slice {
  std::string axis{};
  std::size_t begin = 0, length = 0;
};

/// One value of a formula, or of formulas that other ones were put in the place of, or a slice of it. A
/// changed tensor with the axis of the slice has that part alone (see Sliceable).
class Evaluator {
 public:
  Evaluator(const Sheet& sheet, const Sheet::Round& round, const std::map<std::string, View>& changed,
            const Slice& slice = {})
      : sheet_(sheet), round_(round), changed_(changed), slice_(slice) {}

  View rounded(const Definition& definition) {
    auto result = (*this)(definition);
    if (!round_ || result.is_truth) return result;
    Numbers numbers = elements<double>(result);
    round_(numbers);
    const bool is_whole = result.is_whole;
    result = owned(result.axes, std::move(numbers));
    result.is_whole = is_whole;
    return result;
  }

  View operator()(const Definition& definition) {
    order_ = definition.axes;
    return in_order(spread(value(definition.expr), definition.axes));
  }

 private:
  const View& tensor(const std::string& name) const {
    const auto found = changed_.find(name);
    return found == changed_.end() ? sheet_.tensor(name) : found->second;
  }

  View value(const Expr& x) {
    switch (x->op) {
      case Op::number:
        return constant(x->number);
      case Op::size:
        return constant(static_cast<double>(sheet_.size_of(x->name)));
      case Op::position:
        return positions(x->name);
      case Op::entry:
        return entry(x);
      case Op::call:
        return called(x);
      case Op::over:
        return over_axis(x);
      default:
        return again(x);
    }
  }

  std::size_t begin_of(const std::string& axis) const { return axis == slice_.axis ? slice_.begin : 0; }
  std::size_t length_of(const std::string& axis) const {
    return axis == slice_.axis ? slice_.length : sheet_.size_of(axis);
  }

  View positions(const std::string& axis) const {
    const auto begin = static_cast<double>(begin_of(axis));
    return owned({axis}, Numbers(xt::arange<double>(begin, begin + static_cast<double>(length_of(axis)))));
  }

  /// Of a tensor that has all of its axes the entries in the slice.
  View sliced(View view) const {
    const auto at = place_in(view.axes, slice_.axis);
    if (at == view.axes.size()) return view;
    view.shape[at] = slice_.length;
    view.data = at_offset(view, static_cast<std::ptrdiff_t>(slice_.begin) * view.strides[at]);
    return view;
  }

  View entry(const Expr& x) {
    const auto& tensor = this->tensor(x->name);
    const bool is_slice = changed_.count(x->name) > 0 && has(tensor.axes, slice_.axis);
    auto shape = tensor.shape;
    if (is_slice) shape[place_in(tensor.axes, slice_.axis)] = sheet_.size_of(slice_.axis);
    const auto places = linear_indices(x->parts, sheet_, shape);
    return places ? strided(tensor, *places, is_slice) : gathered(x, tensor);
  }

  static const void* at_offset(const View& view, std::ptrdiff_t offset) {
    if (view.is_truth) return static_cast<const bool*>(view.data) + offset;
    return static_cast<const double*>(view.data) + offset;
  }

  /// The entries at places that grow by equal steps along each axis: another way to look at the same
  /// elements.
  View strided(const View& tensor, const std::vector<LinearIndex>& places, bool is_slice) const {
    View view = tensor;
    view.axes.clear();
    view.shape.clear();
    view.strides.clear();
    std::ptrdiff_t offset = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      offset += places[i].first * tensor.strides[i];
      for (const auto& [axis, step] : places[i].steps) {
        if (!is_slice) offset += static_cast<std::ptrdiff_t>(begin_of(axis)) * step * tensor.strides[i];
        const auto at = place_in(view.axes, axis);
        if (at == view.axes.size()) {
          view.axes.push_back(axis);
          view.shape.push_back(length_of(axis));
          view.strides.push_back(0);
        }
        if (view.shape[at] > 1) view.strides[at] += step * tensor.strides[i];
      }
    }
    view.data = at_offset(tensor, offset);
    return view;
  }

  /// The entries at places that formulas compute; NaN where there is none.
  View gathered(const Expr& x, const View& tensor) {
    std::vector<View> places;
    for (const auto& part : x->parts) places.push_back(numbers_of(value(part)));
    const auto axes = axes_of(places);
    Numbers offsets(shape_of(axes), 0.0);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto place = spread(places[i], axes);
      const auto index = xt::floor(elements<double>(place));
      const auto length = static_cast<double>(tensor.shape[i]);
      const auto stride = static_cast<double>(tensor.strides[i]);
      Numbers moved = offsets + xt::where(index >= 0.0 && index < length, index * stride, not_a_number);
      offsets = std::move(moved);
    }
    for (double& offset : offsets)
      if (!std::isnan(offset)) offset = element(tensor, static_cast<std::ptrdiff_t>(offset));
    return owned(axes, std::move(offsets));
  }

  static double element(const View& tensor, std::ptrdiff_t offset) {
    return tensor.is_truth ? static_cast<const bool*>(tensor.data)[offset]
                           : static_cast<const double*>(tensor.data)[offset];
  }

  View called(const Expr& x) {
    if (const auto whole = expanded(x)) return value(*whole);
    std::vector<View> parts;
    for (const auto& part : x->parts) parts.push_back(value(part));
    const auto& f = x->name;
    if (f == "where") return chosen(parts);
    if (f == "and" || f == "or" || f == "not") return combined(f, parts);
    for (auto& part : parts) part = numbers_of(std::move(part));
    if (is_truth(x)) return compared(f, parts);
    return parts.size() == 1 ? of_one(*function_named(f), parts[0]) : of_two(f, parts);
  }

  View of_one(const Function& function, const View& x) {
    const auto e = elements<double>(x);
    if (function.name == "exp") return owned(x.axes, Numbers(xt::exp(e)));
    if (function.name == "tanh") return owned(x.axes, Numbers(xt::tanh(e)));
    if (function.name == "neg") return owned(x.axes, Numbers(-e));
    return owned(x.axes, Numbers(xt::vectorize([&](double number) { return function.value(&number); })(e)));
  }

  View of_two(const std::string& f, std::vector<View>& parts) {
    if (parts[1].axes.empty() && (f == "*" || f == "/")) {
      const auto e = elements<double>(parts[0]);
      const double y = number_of(parts[1]);
      return owned(parts[0].axes, f == "*" ? Numbers(e * y) : Numbers(e / y));
    }
    const auto axes = axes_of(parts);
    const auto left = spread(parts[0], axes), right = spread(parts[1], axes);
    const auto x = elements<double>(left), y = elements<double>(right);
    if (f == "+") return owned(axes, Numbers(x + y));
    if (f == "-") return owned(axes, Numbers(x - y));
    if (f == "*") return owned(axes, Numbers(x * y));
    if (f == "/") return owned(axes, Numbers(x / y));
    const auto& function = *function_named(f);
    const auto both = [&](double a, double b) {
      const double operands[] = {a, b};
      return function.value(operands);
    };
    return owned(axes, Numbers(xt::vectorize(both)(x, y)));
  }

  View compared(const std::string& f, std::vector<View>& parts) {
    const auto axes = axes_of(parts);
    const auto left = spread(parts[0], axes), right = spread(parts[1], axes);
    const auto x = elements<double>(left), y = elements<double>(right);
    if (f == "<") return owned(axes, Truths(xt::less(x, y)));
    if (f == "<=") return owned(axes, Truths(xt::less_equal(x, y)));
    return owned(axes, Truths(xt::equal(x, y)));
  }

  View combined(const std::string& f, std::vector<View>& parts) {
    for (auto& part : parts) part = truths_of(std::move(part));
    if (f == "not") return owned(parts[0].axes, Truths(!elements<bool>(parts[0])));
    const auto axes = axes_of(parts);
    const auto left = spread(parts[0], axes), right = spread(parts[1], axes);
    const auto x = elements<bool>(left), y = elements<bool>(right);
    return owned(axes, f == "and" ? Truths(x && y) : Truths(x || y));
  }

  View chosen(std::vector<View>& parts) {
    const auto condition = truths_of(std::move(parts[0]));
    if (parts[1].is_truth && parts[2].is_truth) return chosen_truths(condition, parts[1], parts[2]);
    const auto yes = numbers_of(std::move(parts[1])), no = numbers_of(std::move(parts[2]));
    const std::vector all = {condition, yes, no};
    const auto axes = axes_of(all);
    const auto where = spread(condition, axes), x = spread(yes, axes);
    const auto is = elements<bool>(where);
    if (no.axes.empty()) return owned(axes, Numbers(xt::where(is, elements<double>(x), number_of(no))));
    const auto y = spread(no, axes);
    return owned(axes, Numbers(xt::where(is, elements<double>(x), elements<double>(y))));
  }

  View chosen_truths(const View& condition, const View& yes, const View& no) {
    const auto axes = axes_of({condition, yes, no});
    const auto where = spread(condition, axes), x = spread(yes, axes), y = spread(no, axes);
    return owned(axes, Truths(xt::where(elements<bool>(where), elements<bool>(x), elements<bool>(y))));
  }

  View over_axis(const Expr& x) {
    if (!has(order_, x->axis)) order_.push_back(x->axis);
    if (x->name == "softmax") return softmax(x);
    if (const auto whole = expanded(x)) return value(*whole);
    if (x->name == "sum" && is_product(x->parts[0], {x->axis})) return sum_of_products(x);
    const Axes over = {x->axis};
    auto part = numbers_of(value(x->parts[0]));
    if (!has(part.axes, x->axis)) part = spread(part, joined(part.axes, {over}));
    return reduced(x->name, part, place_in(part.axes, x->axis));
  }

  static View reduced(const std::string& f, const View& x, std::size_t axis) {
    auto axes = x.axes;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(axis));
    const auto e = elements<double>(x);
    if (f == "sum") return owned(axes, Numbers(xt::sum(e, {axis})));
    // xt::amax and xt::amin begin with the largest finite number.
    const auto largest = [](double a, double b) { return std::max(a, b); };
    const auto least = [](double a, double b) { return std::min(a, b); };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (f == "max")
      return owned(
          axes, Numbers(xt::reduce(xt::make_xreducer_functor(largest, xt::const_value<double>(-infinity)), e,
                                   {axis})));
    if (f == "min")
      return owned(axes,
                   Numbers(xt::reduce(xt::make_xreducer_functor(least, xt::const_value<double>(infinity)), e,
                                      {axis})));
    return places_of_largest(x, std::move(axes), axis);
  }

  /// The first of several.
  static View places_of_largest(const View& x, Axes axes, std::size_t axis) {
    View rows = x;
    const auto move_last = [axis](auto& of_axes) {
      const auto at = of_axes.begin() + static_cast<std::ptrdiff_t>(axis);
      std::rotate(at, at + 1, of_axes.end());
    };
    move_last(rows.shape);
    move_last(rows.strides);
    const Numbers numbers = elements<double>(rows);
    const auto length = static_cast<std::ptrdiff_t>(rows.shape.back());
    Numbers places(attn::Shape(rows.shape.begin(), rows.shape.end() - 1));
    const double* row = numbers.data();
    for (double& place : places) {
      place = static_cast<double>(std::max_element(row, row + length) - row);
      row += length;
    }
    auto view = owned(std::move(axes), std::move(places));
    view.is_whole = true;
    return view;
  }

  View softmax(const Expr& x) {
    auto part = numbers_of(value(x->parts[0]));
    auto axes = part.axes;
    if (const auto at = place_in(axes, x->axis); at < axes.size())
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(at));
    axes.push_back(x->axis);
    Numbers shares = elements<double>(spread(part, axes));
    attn::softmax_rows(shares.data(), shares.size() / sheet_.size_of(x->axis), sheet_.size_of(x->axis));
    return owned(axes, std::move(shares));
  }

  /// A product, or the sum of one over axes other than `summed`.
  static bool is_product(const Expr& x, const Axes& summed) {
    return (x->op == Op::call && x->name == "*") ||
           (x->op == Op::over && x->name == "sum" && !has(summed, x->axis) &&
            is_product(x->parts[0], joined(summed, {{x->axis}})));
  }

  /// Σ x · y over one axis or several: a matrix product for each position of the axes that both keep.
  View sum_of_products(const Expr& sum) {
    Axes summed;
    auto inner = sum;
    for (; inner->op == Op::over; inner = inner->parts[0]) {
      if (!has(order_, inner->axis)) order_.push_back(inner->axis);
      summed.push_back(inner->axis);
    }
    const auto x = numbers_of(value(inner->parts[0])), y = numbers_of(value(inner->parts[1]));
    Axes both, rows, columns;
    for (const auto& axis : axes_of({x, y})) {
      if (has(summed, axis)) continue;
      (has(x.axes, axis) && has(y.axes, axis) ? both : has(x.axes, axis) ? rows : columns).push_back(axis);
    }
    const auto left = in_order(spread(x, joined(both, {rows, summed})));
    const auto right = in_order(spread(y, joined(both, {summed, columns})));
    const auto axes = joined(both, {rows, columns});
    Numbers products(shape_of(axes));
    const auto m = count(rows), k = count(summed), n = count(columns);
    for (std::size_t i = 0; i < count(both); ++i)
      attn::multiply(static_cast<const double*>(left.data) + i * m * k,
                     static_cast<const double*>(right.data) + i * k * n, products.data() + i * m * n, m, k,
                     n);
    return owned(axes, std::move(products));
  }

  /// A step with other values of some names: what lies between follows.
  View again(const Expr& x) {
    auto changed = changed_;
    for (std::size_t i = 0; i < x->parts.size(); ++i) {
      const auto& name = x->changed[i];
      changed[name] =
          Evaluator(sheet_, round_, changed_, slice_)({name, sheet_.tensor(name).axes, x->parts[i]});
    }
    std::set<std::string> names;
    for (const auto& one : changed) names.insert(one.first);
    for (const auto& definition : sheet_.computed_anew(x, names))
      if (changed.count(definition.name) == 0)
        changed[definition.name] = Evaluator(sheet_, round_, changed, slice_).rounded(definition);
    const auto found = changed.find(x->name);
    return found == changed.end() ? sliced(sheet_.tensor(x->name)) : found->second;
  }

  /// The axes of several, in the order of the result's.
  Axes axes_of(const std::vector<View>& parts) const {
    Axes axes;
    for (const auto& part : parts)
      for (const auto& axis : part.axes)
        if (!has(axes, axis)) axes.push_back(axis);
    std::stable_sort(axes.begin(), axes.end(), [this](const auto& a, const auto& b) {
      return place_in(order_, a) < place_in(order_, b);
    });
    return axes;
  }

  attn::Shape shape_of(const Axes& axes) const {
    attn::Shape shape;
    for (const auto& axis : axes) shape.push_back(length_of(axis));
    return shape;
  }

  std::size_t count(const Axes& axes) const { return attn::element_count(shape_of(axes)); }

  /// Along these axes, in this order; repeated along those that it does not have.
  View spread(const View& view, const Axes& axes) const {
    View result = view;
    result.axes = axes;
    result.shape = shape_of(axes);
    result.strides.clear();
    for (const auto& axis : axes) {
      const auto at = place_in(view.axes, axis);
      result.strides.push_back(at == view.axes.size() ? 0 : view.strides[at]);
    }
    return result;
  }

  /// Row-major: as it is, or a copy.
  static View in_order(const View& view) { return is_row_major(view) ? view : copy_of(view); }

  static View numbers_of(View view) {
    return view.is_truth ? owned(view.axes, Numbers(xt::cast<double>(elements<bool>(view)))) : view;
  }

  static View truths_of(View view) {
    return view.is_truth ? view : owned(view.axes, Truths(xt::not_equal(elements<double>(view), 0.0)));
  }

  const Sheet& sheet_;
  const Sheet::Round& round_;
  const std::map<std::string, View>& changed_;
  const Slice slice_;
  Axes order_;  ///< of the result, then those that are summed over
};

/// Whether a formula can be computed a slice along `axis` at a time: nothing goes over the axis, and of
/// tensors that are computed anew each entry needs no others along it.
class Sliceable {
 public:
  Sliceable(const Sheet& sheet, std::string axis) : sheet_(sheet), axis_(std::move(axis)) {}

  bool operator()(const Expr& x, const std::set<std::string>& anew = {}) const {
    if (x->op == Op::over && x->axis == axis_) return false;
    if (x->op == Op::entry && anew.count(x->name) > 0 && !is_taken_along(x)) return false;
    if (x->op == Op::again && !follows_in_slices(x, anew)) return false;
    return std::all_of(x->parts.begin(), x->parts.end(),
                       [&](const Expr& part) { return (*this)(part, anew); });
  }

 private:
  bool is_taken_along(const Expr& entry) const {
    const auto at = place_in(sheet_.tensor(entry->name).axes, axis_);
    return at == entry->parts.size() || same(entry->parts[at], position(axis_));
  }

  bool follows_in_slices(const Expr& again, std::set<std::string> anew) const {
    const auto steps = sheet_.computed_anew(again, anew);
    anew.insert(again->changed.begin(), again->changed.end());
    return std::all_of(steps.begin(), steps.end(), [&](const auto& step) {
      const bool follows = (*this)(step.expr, anew);
      anew.insert(step.name);
      return follows;
    });
  }

  const Sheet& sheet_;
  std::string axis_;
};

/// How many numbers the largest table has that a formula goes through. A sum of products is a product of
/// matrices, which has no table of its terms.
std::size_t largest_table(const Sheet& sheet, Axes axes, const Expr& x) {
  const bool is_matrix_product = x->op == Op::over && x->name == "sum" && x->parts[0]->name == "*" &&
                                 x->parts[0]->parts[0]->op == Op::entry &&
                                 x->parts[0]->parts[1]->op == Op::entry;
  if (x->op == Op::over && !is_matrix_product && !has(axes, x->axis)) axes.push_back(x->axis);
  std::size_t most = 1;
  for (const auto& axis : axes) most *= sheet.size_of(axis);
  if (x->op == Op::again)
    for (const auto& step : sheet.computed_anew(x))
      most = std::max(most, largest_table(sheet, step.axes, step.expr));
  for (const auto& part : x->parts) most = std::max(most, largest_table(sheet, axes, part));
  return most;
}

template <class Container>
View view_of_container(Axes axes, std::shared_ptr<const Container> container, bool is_truth) {
  const attn::Shape shape(container->shape().begin(), container->shape().end());
  const void* data = container->data();
  return {std::move(axes), shape, row_major_strides(shape), data, is_truth, false, std::move(container)};
}

}  // namespace

double View::at(const attn::Index& index) const {
  std::ptrdiff_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i)
    offset += static_cast<std::ptrdiff_t>(index[i]) * strides[i];
  return is_truth ? static_cast<const bool*>(data)[offset] : static_cast<const double*>(data)[offset];
}

View view_of(Axes axes, std::shared_ptr<const Numbers> numbers) {
  return view_of_container(std::move(axes), std::move(numbers), false);
}

View view_of(Axes axes, std::shared_ptr<const Truths> truths) {
  return view_of_container(std::move(axes), std::move(truths), true);
}

View view_of(Axes axes, const attn::TensorView& tensor) {
  return {std::move(axes), tensor.shape, row_major_strides(tensor.shape), tensor.data,
          tensor.dtype == attn::Dtype::boolean};
}

View owned_alone(View view) {
  constexpr long mine = 1;
  return view.owner.use_count() == mine ? view : copy_of(view);
}

View Sheet::value(const Definition& definition) const {
  return Evaluator(*this, round_, {})(definition);
}

void Sheet::in_slices(const Definition& definition, const std::function<void(const View& slice)>& see) const {
  constexpr std::size_t most_at_once = std::size_t{1} << 20;
  const auto all = largest_table(*this, definition.axes, definition.expr);
  const auto axis = std::find_if(definition.axes.begin(), definition.axes.end(),
                                 [&](const auto& one) { return size_of(one) > 1; });
  const bool fits = all <= most_at_once || axis == definition.axes.end();
  if (fits || !Sliceable(*this, *axis)(definition.expr)) return see(value(definition));
  const auto whole = size_of(*axis);
  const auto at_once = std::max<std::size_t>(1, most_at_once / (all / whole));
  for (std::size_t begin = 0; begin < whole; begin += at_once)
    see(Evaluator(*this, round_, {}, {*axis, begin, std::min(at_once, whole - begin)})(definition));
}

std::vector<Definition> Sheet::computed_anew(const Expr& again, std::set<std::string> changed) const {
  changed.insert(again->changed.begin(), again->changed.end());
  std::vector<Definition> steps;
  for (const auto& definition : definitions_) {
    const auto from = operands(definition.expr);
    const auto is_changed = [&](const auto& name) { return changed.count(name) > 0; };
    if (std::any_of(from.begin(), from.end(), is_changed)) {
      steps.push_back(definition);
      changed.insert(definition.name);
    }
    if (definition.name == again->name) break;
  }
  std::set<std::string> needed = {again->name};
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (needed.count(step->name) > 0)
      for (const auto& operand : operands(step->expr)) needed.insert(operand);
  std::erase_if(steps, [&](const Definition& step) { return needed.count(step.name) == 0; });
  return steps;
}

View Sheet::rounded_value(const Definition& definition) const {
  return Evaluator(*this, round_, {}).rounded(definition);
}

Numbers Sheet::take(const std::string& name) {
  auto view = owned_alone(std::move(tensors_.at(stands_for(name))));
  tensors_.erase(stands_for(name));
  return std::move(*static_cast<Numbers*>(const_cast<void*>(view.owner.get())));
}

void Sheet::keep(Definition definition, View value) {
  set(definition.name, std::move(value));
  definitions_.push_back(std::move(definition));
}

const View& Sheet::compute(const Definition& definition) {
  auto full = resolved(definition);
  auto value = rounded_value(full);
  keep(std::move(full), std::move(value));
  return tensor(definition.name);
}

}  // namespace formula
