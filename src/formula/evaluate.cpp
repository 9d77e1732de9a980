#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"
#include "formula/entrywise.hpp"
#include "formula/functions.hpp"
#include "formula/sheet.hpp"

namespace formula {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t much_to_copy = std::size_t{1} << 18;

/// Of row-major elements; 0 along an axis of length 1, as xtensor has it.
std::vector<std::ptrdiff_t> row_major_strides(const attn::Shape& shape) {
  std::vector<std::ptrdiff_t> strides(shape.size());
  std::ptrdiff_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= static_cast<std::ptrdiff_t>(shape[i]))
    strides[i] = shape[i] == 1 ? 0 : stride;
  return strides;
}

template <class Container>
View owned(Axes axes, Container container) {
  return view_of(std::move(axes), std::make_shared<const Container>(std::move(container)));
}

View constant(double number) {
  return owned({}, Numbers(Numbers::shape_type{}, number));
}

View copy_of(const View& view) {
  auto copy =
      view.is_truth ? owned(view.axes, truths_in_order(view)) : owned(view.axes, numbers_in_order(view));
  copy.is_whole = view.is_whole;
  return copy;
}

double element(const View& tensor, std::ptrdiff_t offset) {
  return tensor.is_truth ? static_cast<const bool*>(tensor.data)[offset]
                         : static_cast<const double*>(tensor.data)[offset];
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
    if (!round_ || result.is_truth || !sheet_.rounds(definition.name)) return result;
    auto numbers = numbers_in_order(result);
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

  const View& form(const std::string& name) const {
    const auto found = changed_.find(name);
    return found == changed_.end() ? sheet_.form(name) : found->second;
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
    Numbers places(attn::Shape{length_of(axis)});
    std::iota(places.begin(), places.end(), begin);
    return owned({axis}, std::move(places));
  }

  View entry(const Expr& x) {
    const auto& tensor = this->tensor(x->name);
    const bool is_slice = changed_.count(x->name) > 0 && has(tensor.axes, slice_.axis);
    auto shape = tensor.shape;
    if (is_slice) shape[place_in(tensor.axes, slice_.axis)] = sheet_.size_of(slice_.axis);
    const auto places = linear_indices(with_one_place(x->parts), sheet_, shape);
    return places ? strided(tensor, *places, is_slice) : gathered(x, tensor);
  }

  /// The indices with a number for each that says the same place for all of the slice.
  std::vector<Expr> with_one_place(std::vector<Expr> indices) {
    if (slice_.axis.empty()) return indices;
    for (auto& index : indices) {
      if (linear_index(index, sheet_) || only_axis(index) != slice_.axis) continue;
      const auto places = numbers_in_order(value(index));
      const double first = std::floor(places.flat(0));
      if (std::all_of(places.begin(), places.end(), [&](double place) { return std::floor(place) == first; }))
        index = first;
    }
    return indices;
  }

  /// The axis whose positions are all that is in a formula; "" where more is, or less.
  static std::string only_axis(const Expr& x) {
    const auto axes = free_axes(x);
    return axes.size() == 1 && operands(x).empty() ? axes[0] : "";
  }

  static const void* at_offset(const View& view, std::ptrdiff_t offset) {
    if (view.is_truth) return static_cast<const bool*>(view.data) + offset;
    return static_cast<const double*>(view.data) + offset;
  }

  /// The entries at places that grow by equal steps along each axis: another way to look at the same
  /// elements.
  View strided(const View& tensor, const std::vector<LinearIndex>& places, bool is_slice) const {
    View view{{}, {}, {}, nullptr, tensor.is_truth, tensor.is_whole, tensor.owner};
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
    for (const auto& part : x->parts) places.push_back(value(part));
    Axes axes;
    for (const auto& place : places) add(axes, place.axes);
    Numbers offsets(shape_of(axes), 0.0);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto length = static_cast<double>(tensor.shape[i]);
      const auto stride = static_cast<double>(tensor.strides[i]);
      const auto add = [&, to = offsets.data()](std::size_t first, const double* place, std::size_t count) {
        for (std::size_t k = 0; k < count; ++k) {
          const double index = std::floor(place[k]);
          to[first + k] += index >= 0.0 && index < length ? index * stride : not_a_number;
        }
      };
      along({{.view = places[i]}}, axes).see(0, add);
    }
    for (double& offset : offsets)
      if (!std::isnan(offset)) offset = element(tensor, static_cast<std::ptrdiff_t>(offset));
    return owned(axes, std::move(offsets));
  }

  using Term = Entrywise::Value;

  /// A formula as functions of entries, each of what stands before it. What repeats along an axis is computed
  /// before, and stands there as entries.
  struct Terms {
    Axes axes{};  ///< that the whole has
    std::vector<Term> all{};
    std::vector<std::pair<Expr, std::size_t>> known{};
  };

  /// Which term the formula is.
  std::size_t add(Terms& terms, const Expr& x) {
    for (const auto& [known, term] : terms.known)
      if (same(known, x)) return term;
    const auto term = add_unknown(terms, x);
    terms.known.emplace_back(x, term);
    return term;
  }

  std::size_t add_unknown(Terms& terms, const Expr& x) {
    if (x->op == Op::call) {
      if (const auto whole = expanded(x)) return add(terms, *whole);
      if (const auto is = x->name == "where" ? settled(x->parts[0]) : std::nullopt)
        return add_chosen(terms, x->parts[*is != 0.0 ? 1 : 2], x->parts[*is != 0.0 ? 2 : 1]);
      if (repeats_nowhere(x, terms.axes)) return add_function(terms, x);
    }
    Term term{.view = value(x)};
    term.is_truth = term.view.is_truth;
    if (term.view.axes.empty()) term = {.number = term.view.at({}), .is_truth = term.is_truth};
    terms.all.push_back(std::move(term));
    return terms.all.size() - 1;
  }

  std::size_t add_function(Terms& terms, const Expr& x) {
    Term term{.function = function_named(x->name)};
    for (const auto& part : x->parts) term.operands.push_back(add(terms, part));
    const auto is_truth = [&](std::size_t i) { return terms.all[term.operands[i]].is_truth; };
    term.is_truth = x->name == "where" ? is_truth(1) && is_truth(2) : term.function->is_truth;
    terms.all.push_back(std::move(term));
    return terms.all.size() - 1;
  }

  /// What `where` chooses everywhere. The other part says no more than whether it is a number.
  std::size_t add_chosen(Terms& terms, const Expr& chosen, const Expr& other) {
    const auto term = add(terms, chosen);
    const auto is_truth_of = [&](const Expr& tensor) { return form(tensor->name).is_truth; };
    if (!terms.all[term].is_truth || is_truth(other, is_truth_of)) return term;
    terms.all.push_back(
        {.function = function_named("+"), .operands = {term, add(terms, 0.0)}, .is_truth = false});
    return terms.all.size() - 1;
  }

  static bool repeats_nowhere(const Expr& x, const Axes& axes) {
    const auto own = free_axes(x);
    return std::all_of(axes.begin(), axes.end(), [&](const auto& axis) { return has(own, axis); });
  }

  /// The number that a formula is whatever the tensors are.
  std::optional<double> settled(const Expr& x) {
    if (x->op == Op::number) return x->number;
    if (!operands(x).empty() || !free_axes(x).empty()) return std::nullopt;
    return value(x).at({});
  }

  Terms terms_of(const Expr& x) {
    Terms terms{.axes = free_axes(x)};
    add(terms, x);
    return terms;
  }

  Axes axes_of_terms(const std::vector<Term>& terms) const {
    Axes axes;
    for (const auto& term : terms) add(axes, term.view.axes);
    return axes;
  }

  /// What computes the terms along these axes, as long as they live.
  Entrywise along(std::vector<Term> terms, const Axes& axes) const {
    for (auto& term : terms)
      if (term.view.data != nullptr) term.view.strides = strides_along(axes, term.view);
    return Entrywise(shape_of(axes), std::move(terms));
  }

  View called(const Expr& x) {
    auto terms = terms_of(x);
    const auto last = terms.known.back().second;
    auto& term = terms.all[last];
    if (term.view.data != nullptr) {
      term.view.is_whole = false;
      return std::move(term.view);
    }
    const bool is_truth = term.is_truth;
    const auto axes = axes_of_terms(terms.all);
    const auto program = along(std::move(terms.all), axes);
    return is_truth ? computed<Truths>(program, last, axes) : computed<Numbers>(program, last, axes);
  }

  template <class Container>
  View computed(const Entrywise& program, std::size_t value, const Axes& axes) const {
    Container container(shape_of(axes));
    program.compute(value, container.data());
    return owned(axes, std::move(container));
  }

  View over_axis(const Expr& x) {
    if (!has(order_, x->axis)) order_.push_back(x->axis);
    if (x->name == "softmax") return softmax(x);
    if (const auto whole = expanded(x)) return value(*whole);
    if (x->name == "sum" && is_product(x->parts[0], {x->axis})) return sum_of_products(x);
    if (x->name == "argmax") return places_of_largest(x);
    auto terms = terms_of(x->parts[0]);
    auto axes = axes_of_terms(terms.all);
    if (!has(axes, x->axis)) axes.push_back(x->axis);
    return reduced(x->name, along(std::move(terms.all), axes), terms.known.back().second, axes,
                   place_in(axes, x->axis));
  }

  View reduced(const std::string& f, const Entrywise& program, std::size_t value, Axes axes,
               std::size_t axis) const {
    const auto shape = shape_of(axes);
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(axis));
    const auto folded = [&](double first, const auto& with) {
      Numbers result(shape_of(axes), first);
      fold(program, value, shape, axis, result, with);
      return owned(axes, std::move(result));
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (f == "sum") return folded(0.0, [](double a, double b) { return a + b; });
    // As in NumPy a NaN is kept.
    if (f == "max")
      return folded(-infinity, [](double a, double b) { return std::isnan(b) ? b : std::max(a, b); });
    return folded(infinity, [](double a, double b) { return std::isnan(b) ? b : std::min(a, b); });
  }

  /// Folds what is computed along an axis, in order, into the entries of `result`.
  template <class Fold>
  static void fold(const Entrywise& program, std::size_t value, const attn::Shape& shape, std::size_t axis,
                   Numbers& result, const Fold& with) {
    const auto behind = static_cast<std::ptrdiff_t>(axis) + 1;
    const auto inner = attn::element_count({shape.begin() + behind, shape.end()}), length = shape[axis];
    program.see(value, [&, to = result.data()](std::size_t first, const double* numbers, std::size_t count) {
      while (count > 0) {
        const auto row = first / inner, column = first % inner;
        const auto run = std::min(count, inner == 1 ? length - row % length : inner - column);
        auto* const sum = to + row / length * inner + column;
        if (inner == 1)
          *sum = std::accumulate(numbers, numbers + run, *sum, with);
        else
          std::transform(sum, sum + run, numbers, sum, with);
        first += run, numbers += run, count -= run;
      }
    });
  }

  /// Those of a formula along an axis, which comes last.
  View rows_along(const std::string& axis, const Expr& x) {
    auto part = numbers_of(value(x));
    auto axes = part.axes;
    std::erase(axes, axis);
    axes.push_back(axis);
    return in_order(spread(std::move(part), axes));
  }

  /// The first of several.
  View places_of_largest(const Expr& x) {
    const auto rows = rows_along(x->axis, x->parts[0]);
    auto axes = rows.axes;
    axes.pop_back();
    const auto length = static_cast<std::ptrdiff_t>(rows.shape.back());
    Numbers places(shape_of(axes));
    const auto* row = static_cast<const double*>(rows.data);
    for (double& place : places) {
      place = static_cast<double>(std::max_element(row, row + length) - row);
      row += length;
    }
    auto view = owned(std::move(axes), std::move(places));
    view.is_whole = true;
    return view;
  }

  View softmax(const Expr& x) {
    auto rows = owned_alone(rows_along(x->axis, x->parts[0]));
    auto* const shares = static_cast<double*>(const_cast<void*>(rows.data));
    const auto length = rows.shape.back();
    attn::softmax_rows(shares, attn::element_count(rows.shape) / length, length);
    rows.is_whole = false;
    return rows;
  }

  /// A product, or the sum of one over axes other than `summed`.
  static bool is_product(const Expr& x, const Axes& summed) {
    return is_call(x, "*") || (x->op == Op::over && x->name == "sum" && !has(summed, x->axis) &&
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
    if (const auto indices = indices_that_stay(inner, summed); !indices.empty()) return in_runs(sum, indices);
    const auto x = numbers_of(value(inner->parts[0])), y = numbers_of(value(inner->parts[1]));
    Axes both, rows, columns;
    Axes all;
    add(all, x.axes);
    add(all, y.axes);
    for (const auto& axis : all) {
      if (has(summed, axis)) continue;
      (has(x.axes, axis) && has(y.axes, axis) ? both : has(x.axes, axis) ? rows : columns).push_back(axis);
    }
    const auto left = in_order(spread(x, joined(both, {rows, summed})));
    const auto right = in_order(spread(y, joined(both, {summed, columns})));
    const auto axes = joined(both, {rows, columns});
    Numbers products(shape_of(axes));
    const auto times = count(both), m = count(rows), k = count(summed), n = count(columns);
    for (std::size_t i = 0; i < times; ++i)
      attn::multiply(static_cast<const double*>(left.data) + i * m * k,
                     static_cast<const double*>(right.data) + i * k * n, products.data() + i * m * n, m, k,
                     n);
    return owned(axes, std::move(products));
  }

  /// The indices of factors that stay at one place for a while along an axis, the same one of all: for each
  /// such run the factor is another part of the tensor, and nothing has to be copied. None where little
  /// would be.
  std::vector<Expr> indices_that_stay(const Expr& product, const Axes& summed) const {
    std::vector<Expr> all;
    std::string along;
    if (!slice_.axis.empty()) return all;
    const auto may_be_cut = [&](const std::string& axis) {
      return !axis.empty() && !has(summed, axis) &&
             std::none_of(changed_.begin(), changed_.end(),
                          [&](const auto& one) { return has(one.second.axes, axis); });
    };
    for (const auto& factor : product->parts) {
      const auto is_plain = [](const Expr& index) { return index->op == Op::position; };
      if (factor->op != Op::entry || std::all_of(factor->parts.begin(), factor->parts.end(), is_plain) ||
          count(free_axes(factor)) < much_to_copy)
        continue;
      for (const auto& index : factor->parts) {
        const auto axis = linear_index(index, sheet_) ? "" : only_axis(index);
        if (along.empty() && may_be_cut(axis)) along = axis;
        if (!along.empty() && axis == along) all.push_back(index);
      }
    }
    return all;
  }

  /// A sum of products, put together of what it is along parts of the axis along which these indices go.
  View in_runs(const Expr& sum, const std::vector<Expr>& indices) {
    const auto axis = only_axis(indices[0]);
    const auto length = sheet_.size_of(axis);
    std::vector<std::vector<double>> places(length);
    for (const auto& index : indices) {
      const auto along = numbers_in_order(value(index));
      for (std::size_t i = 0; i < length; ++i) places[i].push_back(std::floor(along.flat(i)));
    }
    std::vector<std::pair<Slice, View>> runs;
    for (std::size_t begin = 0, end = 0; begin < length; begin = end) {
      while (end < length && places[end] == places[begin]) ++end;
      Evaluator part(sheet_, round_, changed_, {axis, begin, end - begin});
      part.order_ = order_;
      runs.emplace_back(part.slice_, part.sum_of_products(sum));
    }
    const auto axes = runs.front().second.axes;
    const auto at = static_cast<std::ptrdiff_t>(place_in(axes, axis));
    const auto shape = shape_of(axes);
    const auto inner = attn::element_count({shape.begin() + at + 1, shape.end()});
    Numbers whole(shape);
    for (const auto& [slice, view] : runs) {
      const auto* from = static_cast<const double*>(view.data);
      const auto run = slice.length * inner;
      for (std::size_t i = slice.begin * inner; i < whole.size(); i += length * inner, from += run)
        std::copy_n(from, run, whole.data() + i);
    }
    return owned(axes, std::move(whole));
  }

  /// A step with other values of some names: what lies between follows.
  View again(const Expr& x) {
    auto changed = changed_;
    for (std::size_t i = 0; i < x->parts.size(); ++i) {
      const auto& name = x->changed[i];
      changed[name] =
          Evaluator(sheet_, round_, changed_, slice_)({name, sheet_.form(name).axes, x->parts[i]});
    }
    const auto is_changed = [&](const auto& name) { return changed.count(name) > 0; };
    for (const auto& definition : sheet_.computed_anew(x, is_changed)) {
      if (is_changed(definition.name)) continue;
      if (const auto* together = sheet_.recurrence_of(definition.name))
        compute_anew(*together, changed);
      else
        changed[definition.name] = Evaluator(sheet_, round_, changed, slice_).rounded(definition);
    }
    const auto found = changed.find(x->name);
    if (found != changed.end()) return found->second;
    return entry(formula::entry(x->name, formula::positions(sheet_.form(x->name).axes)));
  }

  void compute_anew(Recurrence together, std::map<std::string, View>& changed) const {
    auto sheet = sheet_;
    for (const auto& [name, view] : changed) sheet.set(name, view);
    std::erase_if(together.steps, [&](const auto& step) { return changed.count(step.name) > 0; });
    sheet.compute(together);
    for (const auto& step : together.steps) changed[step.name] = sheet.tensor(step.name);
  }

  /// Adds what is not among the axes yet; they are in the order of the result's.
  void add(Axes& axes, const Axes& more) const {
    for (const auto& axis : more) {
      const auto place = place_in(order_, axis);
      const auto is_behind = [&](const auto& other) { return place < place_in(order_, other); };
      if (!has(axes, axis)) axes.insert(std::find_if(axes.begin(), axes.end(), is_behind), axis);
    }
  }

  attn::Shape shape_of(const Axes& axes) const {
    attn::Shape shape;
    shape.reserve(axes.size());
    for (const auto& axis : axes) shape.push_back(length_of(axis));
    return shape;
  }

  std::size_t count(const Axes& axes) const {
    return std::accumulate(axes.begin(), axes.end(), std::size_t{1},
                           [this](auto all, const auto& axis) { return all * length_of(axis); });
  }

  /// Those of a view along these axes, in this order; 0 along one that it does not have.
  static std::vector<std::ptrdiff_t> strides_along(const Axes& axes, const View& view) {
    std::vector<std::ptrdiff_t> strides;
    strides.reserve(axes.size());
    for (const auto& axis : axes) {
      const auto at = place_in(view.axes, axis);
      strides.push_back(at == view.axes.size() ? 0 : view.strides[at]);
    }
    return strides;
  }

  /// Along these axes, in this order; repeated along those that it does not have.
  View spread(View view, const Axes& axes) const {
    if (view.axes == axes) return view;
    view.strides = strides_along(axes, view);
    view.shape = shape_of(axes);
    view.axes = axes;
    return view;
  }

  /// Row-major: as it is, or a copy.
  static View in_order(View view) {
    if (view.strides != row_major_strides(view.shape)) return copy_of(view);
    return view;
  }

  static View numbers_of(View view) {
    if (view.is_truth) return owned(view.axes, numbers_in_order(view));
    return view;
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
    const auto at = place_in(sheet_.form(entry->name).axes, axis_);
    return at == entry->parts.size() || same(entry->parts[at], position(axis_));
  }

  bool follows_in_slices(const Expr& again, std::set<std::string> anew) const {
    const auto steps = sheet_.computed_anew(again, [&](const auto& name) { return anew.count(name) > 0; });
    anew.insert(again->changed.begin(), again->changed.end());
    return std::all_of(steps.begin(), steps.end(), [&](const auto& step) {
      const bool follows = sheet_.recurrence_of(step.name) == nullptr && (*this)(step.expr, anew);
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
  return element(*this, offset);
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

std::vector<std::string> Sheet::operands_with(const Definition& step) const {
  const auto* together = recurrence_of(step.name);
  if (together == nullptr) return operands(step.expr);
  std::vector<std::string> all;
  for (const auto& one : together->steps)
    for (auto& operand : operands(one.expr)) all.push_back(std::move(operand));
  return all;
}

std::set<std::string> Sheet::needed_for(const IsNamed& is_wanted,
                                        const std::set<std::string>& sources) const {
  std::set<std::string> needed;
  const auto is_needed = [&](const Definition& step) {
    return (is_wanted(step.name) || needed.count(step.name) > 0) && sources.count(step.name) == 0;
  };
  for (auto step = definitions_.rbegin(); step != definitions_.rend(); ++step) {
    const auto* together = recurrence_of(step->name);
    const bool is_one_needed = together == nullptr
                                   ? is_needed(*step)
                                   : std::any_of(together->steps.begin(), together->steps.end(), is_needed);
    if (!is_one_needed) continue;
    needed.insert(step->name);
    for (auto& operand : operands_with(*step)) needed.insert(std::move(operand));
  }
  return needed;
}

std::vector<Definition> Sheet::computed_anew(const Expr& again, const IsNamed& is_changed) const {
  std::set<std::string> anew(again->changed.begin(), again->changed.end());
  std::vector<Definition> steps;
  const auto* last = recurrence_of(again->name);
  const auto& end = last == nullptr ? again->name : last->steps.back().name;
  for (const auto& definition : definitions_) {
    const auto from = operands_with(definition);
    if (std::any_of(from.begin(), from.end(), [&](const auto& name) {
          return anew.count(name) > 0 || (is_changed && is_changed(name));
        })) {
      steps.push_back(definition);
      anew.insert(definition.name);
    }
    if (definition.name == end) break;
  }
  const auto needed = needed_for([&](const auto& name) { return name == again->name; });
  std::erase_if(steps, [&](const Definition& step) { return needed.count(step.name) == 0; });
  return steps;
}

Numbers Sheet::row_of(const Definition& definition, const std::string& axis, std::size_t place) const {
  const auto row = Evaluator(*this, round_, {}, {axis, place, 1}).rounded(definition);
  return numbers_in_order(row);
}

View Sheet::rounded_value(const Definition& definition) const {
  return Evaluator(*this, round_, {}).rounded(definition);
}

bool Sheet::can_drop(const std::string& name) const {
  return definition_of(name) != nullptr && recurrence_of(name) == nullptr && dropped_.count(name) == 0;
}

void Sheet::drop(const std::string& name) {
  if (!can_drop(name)) return;
  auto& tensor = tensors_.at(name);
  tensor.data = nullptr;
  tensor.owner = nullptr;
  dropped_.insert(name);
}

void Sheet::compute_dropped(const std::string& name) const {
  if (dropped_.erase(name) == 0) return;
  auto value = rounded_value(*definition_of(name));
  auto& tensor = tensors_.at(name);
  value.is_whole = tensor.is_whole;
  tensor = std::move(value);
}

void Sheet::keep(Definition definition, View value, bool is_rounded) {
  if (!is_rounded) unrounded_.insert(definition.name);
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
