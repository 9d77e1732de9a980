#include "trace/recurrence.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace attn {

namespace {

/// Elements of a tensor that stand together for one place on the axes before `axis`: those of one row.
std::size_t elements_after(const Shape& shape, std::size_t axis) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end(), std::size_t{1},
                         std::multiplies<>());
}

/// Copies between row t of a whole tensor and the row alone: `copy(in_whole, in_row, count)` for each run of
/// elements that stand together.
template <class Copy>
void for_each_run(const Shape& row_shape, std::size_t axis, std::size_t length, std::size_t t, Copy copy) {
  const auto run = elements_after(row_shape, axis);
  for (std::size_t i = 0; i * run < element_count(row_shape); ++i) copy((i * length + t) * run, i * run, run);
}

}  // namespace

Shape Recurrence::shape_of(const Rows& rows) {
  auto shape = rows.row_shape;
  shape[rows.axis] = rows.rows.size();
  return shape;
}

std::vector<double> Recurrence::elements_of(const Rows& rows) {
  std::vector<double> elements(element_count(shape_of(rows)));
  for (std::size_t t = 0; t < rows.rows.size(); ++t) {
    if (rows.rows[t].empty()) continue;
    for_each_run(rows.row_shape, rows.axis, rows.rows.size(), t,
                 [&](std::size_t in_whole, std::size_t in_row, std::size_t count) {
                   std::copy_n(&rows.rows[t][in_row], count, &elements[in_whole]);
                 });
  }
  return elements;
}

void Recurrence::watch(Rows& rows, const Mistakes& mistakes) {
  if (!trace_.options_.watch) return;
  const auto shape = shape_of(rows);
  auto whole = elements_of(rows);
  const auto with_row_of = [&](const Mistake& mistake) -> std::optional<AnyTensor> {
    auto row = mistake.result(nullptr);
    if (!row || row->shape() != rows.row_shape) return std::nullopt;
    AnyTensor changed(TensorView{Dtype::float64, shape, whole.data()});
    for_each_run(rows.row_shape, rows.axis, rows.rows.size(), t_,
                 [&](std::size_t in_whole, std::size_t in_row, std::size_t count) {
                   std::copy_n(row->elements<double>() + in_row, count,
                               changed.elements<double>() + in_whole);
                 });
    return changed;
  };
  Mistakes in_the_whole;
  in_the_whole.reserve(mistakes.size());
  for (const auto& mistake : mistakes)  // two references: a closure that needs no memory of its own
    in_the_whole.emplace_back(mistake.id(), [&mistake, &with_row_of] { return with_row_of(mistake); });
  trace_.watch(Kind::step, rows.about, {Dtype::float64, shape, nullptr}, whole.data(), in_the_whole,
               Tapped::Row{rows.axis, t_});
  for_each_run(rows.row_shape, rows.axis, rows.rows.size(), t_,
               [&](std::size_t in_whole, std::size_t in_row, std::size_t count) {
                 std::copy_n(&whole[in_whole], count, &rows.rows[t_][in_row]);
               });
}

void Recurrence::take(const About& about, const Shape& row_shape, double* elements,
                      const Mistakes& mistakes) {
  const auto id = trace_.prefix_ + about.id;
  const auto named = std::find(about.axes.begin(), about.axes.end(), axis_) - about.axes.begin();
  const auto axis = static_cast<std::size_t>(named) + row_shape.size() - about.axes.size();
  if (axis >= row_shape.size() || row_shape[axis] != 1)
    throw std::logic_error("[recurrence] " + id + " is no single row along " + axis_);
  const auto [place, is_new] = tensors_.try_emplace(
      id, Rows{.group = trace_.prefix_, .about = about, .axis = axis, .row_shape = row_shape, .rows = {}});
  auto& rows = place->second;
  if (is_new) {
    const bool drops_batch = row_shape.size() > about.axes.size() && !trace_.options_.batched;
    trace_.ranks_[id] = row_shape.size() - (drops_batch ? 1 : 0);
  }
  rows.rows.resize(length_);
  auto& row = rows.rows.at(t_);
  row.assign(elements, elements + element_count(row_shape));
  watch(rows, mistakes);
  trace_.round(about, row.data(), row.size());
  std::copy(row.begin(), row.end(), elements);
}

void Recurrence::show(const std::string& id) {
  const auto& rows = tensors_.at(trace_.prefix_ + id);
  const Trace::Restore<std::string> restore{trace_.prefix_, trace_.prefix_};
  trace_.prefix_ = rows.group;
  const auto elements = elements_of(rows);
  trace_.emit(Kind::step, rows.about, {trace_.dtype(), shape_of(rows), elements.data()});
}

}  // namespace attn
