/// The compiler refuses each of the lines below and says what their comment says (tests/package/try).
#include <attn/attention.hpp>
#include <attn/ops/matmul.hpp>

const xt::xtensor<double, 1> vector;
const xt::xtensor<double, 2> matrix;
const xt::xtensor<double, 5> five;

const auto a = attn::attention(vector, matrix, matrix);                    // valid is rank 2 to 4
const auto b = attn::attention(five, five, five);                          // valid is rank 2 to 4
const auto c = attn::attention(matrix, matrix, matrix, {.mask = matrix});  // a mask has elements of type bool
const auto d = attn::multi_head_attention(matrix, {.W_Q = five});          // 2 for a matrix of weights
const auto e = attn::transpose(attn::Tensor<5>());                         // Rank<N, 2, 4>
