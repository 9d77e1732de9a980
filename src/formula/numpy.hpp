#pragma once

#include <string>
#include <vector>

#include "formula/sheet.hpp"

namespace formula {

/// Lines of NumPy that compute a resolved formula from arrays of the names of its operands, in the idiom that
/// a person would write: `scores = Q @ K.T`, `Q_heads = Q.reshape(5, 2, 4).swapaxes(0, 1)`,
/// `masked = np.where(mask, scaled, -np.inf)`, else broadcasting or einsum. A name is what `identifier`
/// makes of it. Tensors of truth values are arrays of bool, those of whole numbers of int; `erf` needs the
/// module `math`. An axis of length 1 called `batch` is left out of all arrays where `drops_batch`. The first
/// of several steps that are computed together stands for all, as a loop; of the others there are no lines.
std::vector<std::string> numpy_lines(const Sheet& sheet, const Definition& definition, bool drops_batch);

/// The functions that these lines call and NumPy does not have: those that round to a format.
std::vector<std::string> numpy_functions(const Definition& definition);

/// Of a formula that is one tensor reshaped and transposed, `Q[query, head * size(d_k) + d_k]`: its shape,
/// the shapes in between and that of the result, without the samples of a batch. None of another formula.
std::vector<attn::Shape> shapes_of_reshape(const Sheet& sheet, const Definition& definition);

/// A name with `/ . = -` as an identifier of Python and C++.
std::string identifier(const std::string& name);

/// Lines of C++ with xtensor and xtensor-blas that compute it, from `xt::xarray<double>` of those names, or
/// of `bool` where the tensor is of truth values: `const xt::xarray<double> scores = xt::linalg::dot(Q,
/// xt::transpose(K));`. Loops over the entries' indices where xtensor has no word for it.
std::vector<std::string> xtensor_lines(const Sheet& sheet, const Definition& definition,
                                       bool drops_batch = false);

/// What a program of such lines begins with: headers, and the functions in the namespace `lab` that they
/// call.
std::string xtensor_head();

/// What follows in one that asserts each step: `array` makes an input of numbers, `expect` compares to within
/// `tolerance`, and counts in `agree` and `wrong`.
std::string xtensor_expect();

}  // namespace formula
