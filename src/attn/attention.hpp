#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <xtensor/xarray.hpp>

#include "attn/error.hpp"
#include "attn/ops/positional.hpp"
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

/// Attention for other programs. Arguments are any xtensor expressions or containers (xt::xtensor,
/// xt::xarray, views; any allocator, layout and type of number). Computed is in float64; results are
/// containers of the arguments' rank. "…" stands for no axis, for batch or for batch×head. What does not fit
/// is an attn::Error that names the tensor, its shape and what would be valid, or a static_assert where a
/// type tells it. The numbers are those of the lessons, bit for bit; a query that may see no key gets zeros,
/// and NaN stays NaN.

using Rows = Argument<2, 4>;
using Tokens = Argument<2, 3>;
using Matrix = Argument<2>;
using Vector = Argument<1>;
using AnyMask = Argument<2, 4, bool>;

/// Which keys a query may see, and how sharply it chooses among them. The last query stands where the last
/// key does.
struct AttentionOptions {
  bool causal = false;                  ///< no key after the query
  std::optional<std::size_t> window{};  ///< no key that is more positions away, on either side
  AnyMask mask{};  ///< true = may be seen: [query×key], [batch×query×key] or [batch×head×query×key];
                   ///< along an axis of length 1 it is repeated
  double temperature = 1.0;  ///< divides the scores
  Matrix angles{};  ///< of rotary attention (Su et al. 2021), not of additive: by how much each pair of
                    ///< numbers of a query and of a key is turned, [position×pair]
};

/// A mixture of values for each query, and the share of each key in it.
struct Attended {
  AnyRank<double> output, weights;
};

/// softmax(Q Kᵀ / (√d_k · temperature)) V (Vaswani et al. 2017, equation 1): Q […×query×d_k], K […×key×d_k],
/// V […×key×d_v] → output […×query×d_v], weights […×query×key]. Where Q has more heads than K and V, as many
/// neighbouring heads of Q read each of theirs (Ainslie et al. 2023).
Attended attention(const Rows& Q, const Rows& K, const Rows& V, const AttentionOptions& options = {});

/// The weights of multi-head attention; they multiply from the right. W_K has columns for kv_head heads.
struct MultiHeadWeights {
  std::size_t heads = 1;
  Matrix W_Q{}, W_K{}, W_V{};  ///< [d_model×head·d_k], [d_model×kv_head·d_k], [d_model×kv_head·d_v]
  Matrix W_O{};                ///< [head·d_v×d_model]
  Vector b_Q{}, b_K{}, b_V{}, b_O{};  ///< added where they are given
};

/// Concat(head₀, …) W_O, headᵢ = attention(X_query W_Qⁱ, X_key W_Kⁱ, X_key W_Vⁱ) (Vaswani et al. 2017,
/// section 3.2.2): X_query [query×d_model], X_key [key×d_model] → output [query×d_model], weights
/// [head×query×key], or all of them with batch before.
Attended multi_head_attention(const Tokens& X_query, const Tokens& X_key, const MultiHeadWeights& weights,
                              const AttentionOptions& options = {});
Attended multi_head_attention(const Tokens& X, const MultiHeadWeights& weights,
                              const AttentionOptions& options = {});

/// What Bahdanau et al. 2014 (appendix A.1.2) compare a query with a state by.
struct AdditiveWeights {
  Matrix W_q{}, W_k{};  ///< [d_q×d_a], [d×d_a]
  Vector v_a{};         ///< [d_a]
  Vector b_q{}, b_k{};  ///< [d_a], added where they are given
};

/// softmax(v_a · tanh(queryᵢ W_q + stateⱼ W_k) / temperature) states: queries […×query×d_q], states […×key×d]
/// → output […×query×d], weights […×query×key].
Attended additive_attention(const Rows& queries, const Rows& states, const AdditiveWeights& weights,
                            const AttentionOptions& options = {});

/// The weights of an LSTM as PyTorch has them: they multiply from the left, a block of rows for each of the
/// gates i, f, g, o.
struct LstmParameters {
  Matrix W_ih{}, W_hh{};  ///< [4·hidden×d_in], [4·hidden×hidden]
  Vector b_ih{}, b_hh{};  ///< [4·hidden], added where they are given
};

/// What goes from one step of an LSTM to the next: the state that others see and the memory.
struct LstmState {
  AnyRank<double> h, c;
};

/// A step of an LSTM (Hochreiter & Schmidhuber 1997), f ∘ c + i ∘ g and o ∘ tanh of that, for each row of x
/// […×n×d_in] with its own state before, h and c […×n×hidden].
LstmState lstm_cell(const Rows& x, const Rows& h, const Rows& c, const LstmParameters& weights);

/// The state after a step of a decoder, and what it has looked at.
struct DecoderStep {
  AnyRank<double> h, c, context, weights;
};

/// A step of the decoder of Bahdanau et al. 2014: h asks the states […×key×d] by additive attention, and the
/// cell reads [y; context], y […×n×d_in].
DecoderStep bahdanau_cell(const Rows& y, const Rows& h, const Rows& c, const Rows& states,
                          const LstmParameters& lstm, const AdditiveWeights& attention,
                          const AttentionOptions& options = {});

/// Rotary position embedding (Su et al. 2021): pair i of row p of x […×position×d] is turned by
/// (first_position + p) · 10000^(−2i/d). (The sinusoidal one is added: x + attn::sinusoidal_encoding(n, d).)
AnyRank<double> rotary_encoding(const Rows& x, Pairing pairing = Pairing::adjacent,
                                std::size_t first_position = 0);

}  // namespace attn
