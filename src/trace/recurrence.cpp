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

void Recurrence::watch(Rows& rows, const Mistakes& mistakes) {
  if (!trace_.options_.watch) return;
  auto whole = rows.elements;
  const auto with_row_of = [&](const Mistake& mistake) -> std::optional<AnyTensor> {
    auto row = mistake.result(nullptr);
    if (!row || row->shape() != rows.row_shape) return std::nullopt;
    AnyTensor changed(TensorView{Dtype::float64, rows.shape, whole.data()});
    for_each_run(rows.row_shape, rows.axis, length_, t_,
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
  trace_.watch(Kind::step, rows.about, {Dtype::float64, rows.shape, nullptr}, whole.data(), in_the_whole,
               Tapped::Row{rows.axis, t_});
  for_each_run(rows.row_shape, rows.axis, length_, t_,
               [&](std::size_t in_whole, std::size_t, std::size_t count) {
                 std::copy_n(&whole[in_whole], count, &rows.elements[in_whole]);
               });
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
  const auto each_run = [&](auto copy) { for_each_run(row_shape, axis, length_, t_, copy); };
  each_run([&](std::size_t in_whole, std::size_t in_row, std::size_t count) {
    std::copy_n(elements + in_row, count, &rows.elements[in_whole]);
  });
  watch(rows, mistakes);
  each_run([&](std::size_t in_whole, std::size_t in_row, std::size_t count) {
    trace_.round(about, &rows.elements[in_whole], count);
    std::copy_n(&rows.elements[in_whole], count, elements + in_row);
  });
}

void Recurrence::show(const std::string& id) {
  const auto& rows = tensors_.at(trace_.prefix_ + id);
  const Trace::Restore<std::string> restore{trace_.prefix_, trace_.prefix_};
  trace_.prefix_ = rows.group;
  trace_.emit(Kind::step, rows.about, {trace_.dtype(), rows.shape, rows.elements.data()});
}

}  // namespace attn
