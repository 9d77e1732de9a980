#include <attn/attention.hpp>
#include <iostream>
#include <xtensor/xio.hpp>
#include <xtensor/xview.hpp>

int main() {
  const xt::xtensor<double, 2> X = {{1, 0, 2, 1}, {0, 1, 1, 0}, {3, 1, 0, 2}};  // [token×d_model]
  const auto left = xt::view(X, xt::all(), xt::range(0, 2)), right = xt::view(X, xt::all(), xt::range(2, 4));
  const auto [output, weights] = attn::attention(left, right, X, {.causal = true});
  std::cout << weights << '\n';

  const xt::xarray<double> W = xt::eye<double>(4);
  const attn::MultiHeadWeights two_heads = {.heads = 2, .W_Q = W, .W_K = W, .W_V = W, .W_O = W};
  const auto positioned = X + attn::sinusoidal_encoding(3, 4);
  std::cout << attn::multi_head_attention(positioned, two_heads).output << '\n';
  try {
    attn::attention(X, left, X);
  } catch (const attn::Error& error) {
    std::cout << error.what() << '\n';
  }
}
