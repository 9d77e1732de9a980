#include "lessons/sdpa/fused_layouts.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "formula/parse.hpp"

namespace lessons {

namespace {

constexpr std::array names = {'Q', 'K', 'V'};

using Order = std::array<std::size_t, 3>;
constexpr Order queries_keys_values = {0, 1, 2};
constexpr std::array<Order, 5> wrong_orders = {{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

/// The columns of a fused weight in the order in which it has them, by their places in Q, K and V side by
/// side.
using Packing = std::vector<std::size_t>;

/// Of each group of heads its queries, then its keys, then its values; with one group all queries first.
Packing packed(const std::array<std::size_t, 3>& widths, const Order& order, std::size_t groups = 1) {
  const std::array<std::size_t, 3> begins = {0, widths[0], widths[0] + widths[1]};
  Packing packing;
  for (std::size_t group = 0; group < groups; ++group)
    for (const auto part : order)
      for (std::size_t i = 0; i < widths[part] / groups; ++i)
        packing.push_back(begins[part] + group * (widths[part] / groups) + i);
  return packing;
}

/// What the step that a run has computed, of which X[token, d_model] is the first operand and W_Q the second,
/// would be with each of the three weights, [batch×token×width].
class Projected {
 public:
  Projected(const formula::Sheet& sheet, const formula::Definition& step) : sheet_(sheet) {
    const auto operands = formula::operands(step.expr);
    X_ = operands.at(0);
    prefix_ = operands.at(1).substr(0, operands.at(1).rfind("W_"));
    row_ = step.axes.at(step.axes.size() - 2);
    d_model_ = sheet_.tensor(operands.at(1)).axes.at(0);
    for (std::size_t part = 0; part < names.size(); ++part) widths[part] = sheet_.size_of(column_of(part));
  }

  /// How many groups of heads have keys and values of their own.
  std::size_t groups() const {
    const auto column = column_of(1);
    const auto dot = column.find("·");
    return dot == std::string::npos ? 1 : sheet_.size_of(column.substr(0, dot));
  }

  formula::View with_weight_of(std::size_t part) {
    const auto bias = fmt::format("{}b_{}", prefix_, names[part]);
    const auto text = fmt::format("sum({0}) {1}[{2}, {0}] * {3}W_{4}{5}", d_model_, X_, row_, prefix_,
                                  names[part], sheet_.find(bias) != nullptr ? " + " + bias : "");
    return sheet_.value(sheet_.resolved({"", {"batch", row_, column_of(part)}, formula::parse(text)}));
  }

  std::array<std::size_t, 3> widths{};

 private:
  std::string column_of(std::size_t part) const {
    return sheet_.tensor(fmt::format("{}W_{}", prefix_, names[part])).axes.at(1);
  }

  formula::Sheet sheet_;
  std::string X_, prefix_, row_, d_model_;
};

/// The columns that part `own` gets where the fused weight is packed one way and cut another.
Tensor<3> cut(Projected& projected, std::size_t own, const Packing& is, const Packing& believed) {
  std::vector<formula::View> parts;
  for (std::size_t part = 0; part < names.size(); ++part) parts.push_back(projected.with_weight_of(part));
  const auto& widths = projected.widths;
  const std::array<std::size_t, 4> begins = {0, widths[0], widths[0] + widths[1],
                                             widths[0] + widths[1] + widths[2]};
  const auto& shape = parts[own].shape;
  auto result = Tensor<3>::from_shape({shape[0], shape[1], widths[own]});
  for (std::size_t place = 0; place < is.size(); ++place) {
    if (believed[place] < begins[own] || believed[place] >= begins[own + 1]) continue;
    std::size_t part = 0;
    while (is[place] >= begins[part + 1]) ++part;
    for (std::size_t b = 0; b < shape[0]; ++b)
      for (std::size_t i = 0; i < shape[1]; ++i)
        result(b, i, believed[place] - begins[own]) = parts[part].at({b, i, is[place] - begins[part]});
  }
  return result;
}

attn::Mistakes layouts_of(const DocumentRun& run, const std::string& id, std::size_t own) {
  const auto& step = *run.sheet().definition_of(id);
  const auto operands = formula::operands(step.expr);  // --define may give it any formula
  if (operands.size() < 2 || !operands[1].ends_with(fmt::format("W_{}", names[own]))) return {};
  const auto projected = std::make_shared<Projected>(run.sheet(), step);
  attn::Mistakes mistakes;
  const auto add = [&](const std::string& name, const Packing& is, const Packing& believed) {
    if (is != believed)
      mistakes.emplace_back("qkv-layout:" + name, [=] { return cut(*projected, own, is, believed); });
  };
  const auto& widths = projected->widths;
  const auto in_thirds = packed(widths, queries_keys_values),
             by_group = packed(widths, queries_keys_values, projected->groups());
  for (const auto& order : wrong_orders) {
    std::string name;
    for (const auto part : order) name += names[part];
    add(name, in_thirds, packed(widths, order));
  }
  add("by-group-cut-in-thirds", by_group, in_thirds);
  add("in-thirds-cut-by-group", in_thirds, by_group);
  return mistakes;
}

}  // namespace

void add_fused_layouts(Functions& functions) {
  for (std::size_t own = 0; own < names.size(); ++own)
    functions.mistakes[std::string(1, names[own])] = [own](DocumentRun& run, const std::string& id) {
      return layouts_of(run, id, own);
    };
}

}  // namespace lessons
