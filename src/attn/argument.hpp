#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <xtensor/xarray.hpp>

#include "attn/tensor.hpp"

namespace attn {

/// A container whose rank is known only while the program runs, as that of xt::xarray.
template <class Element>
using AnyRank = xt::xarray<Element, xt::layout_type::row_major, BudgetAllocator<Element>>;

/// Whether expressions of type E have a rank between these, as far as their type tells.
template <class E, std::size_t least, std::size_t most>
constexpr bool may_have_rank = [] {
  if constexpr (requires { std::tuple_size<typename E::shape_type>::value; })
    return least <= std::tuple_size_v<typename E::shape_type> &&
           std::tuple_size_v<typename E::shape_type> <= most;
  else
    return !xt::has_fixed_rank_t<E>::value ||
           (least <= xt::get_rank<E>::value && xt::get_rank<E>::value <= most);
}();

/// An argument of a function: any xtensor expression or container of real numbers, or of bool for a mask, of
/// rank `least` to `most`, copied into a container of rank `most`. An axis that it lacks has length 1 there
/// and stands before the last two. A rank that only the running program knows is for the function to check.
template <std::size_t least, std::size_t most = least, class Element = double>
struct Argument {
  Argument() = default;

  template <class E>
  Argument(const xt::xexpression<E>& expression) : is_given(true) {
    static_assert(
        may_have_rank<E, least, most>,
        "attn: an argument has a rank that does not fit: valid is rank 2 to 4, 2 or 3 for tokens of "
        "multi-head attention, 2 for a matrix of weights, 1 for a bias");
    static_assert(std::is_arithmetic_v<typename E::value_type> &&
                      std::is_same_v<typename E::value_type, bool> == std::is_same_v<Element, bool>,
                  "attn: a mask has elements of type bool, true where a query may see a key, and all other "
                  "arguments have real numbers");
    AnyRank<Element> evaluated = expression.derived_cast();
    shape.assign(evaluated.shape().begin(), evaluated.shape().end());
    if (shape.size() < least || most < shape.size()) return;
    auto all = shape;
    while (all.size() < most) all.insert(all.end() - 2, 1);
    evaluated.reshape(all);
    elements = std::move(evaluated);
  }

  bool is_given = false;
  Shape shape{};                    ///< as it was given
  Array<Element, most> elements{};  ///< none where the rank does not fit
};

}  // namespace attn
