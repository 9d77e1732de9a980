#pragma once

#include "attn/ops/permute.hpp"
#include "attn/tensor.hpp"

namespace lessons {

using attn::Tensor;

/// What scores and encodings know about positions, as numbers that claims can be made of. All are the largest
/// deviation over all samples and heads. They throw std::invalid_argument, with both shapes, where these do
/// not match.

/// How much the score of some pair of words changes when the words change their order: `reordered` are the
/// scores of the tokens in that order, both [batch×head×query×key].
double change_by_order(const Tensor<4>& scores, const Tensor<4>& reordered, const attn::RowOrder& order);

/// How much some score changes when the words stand further on: `twice` [batch×head×2n×2n] are the scores of
/// the sentence said twice in a row, whose second half is compared with `scores` [batch×head×n×n].
double change_by_moving(const Tensor<4>& scores, const Tensor<4>& twice);

/// How far the rows k, …, k + n − 1 of `longer` [m×d], a sinusoidal encoding of more positions, are from the
/// n rows of `encoding` [n×d] turned by the angles k ωᵢ. A row (sin, cos) turns clockwise.
double deviation_from_rotation(const Tensor<2>& encoding, const Tensor<2>& longer, std::size_t k);

/// How much the length of some row of x [batch×n×d] differs from that of the same row of y.
double change_of_length(const Tensor<3>& x, const Tensor<3>& y);

}  // namespace lessons
