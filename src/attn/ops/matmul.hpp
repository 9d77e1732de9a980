#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

namespace attn {

/// Matrix products.
///
/// Every number that a lesson prints must be the same on every machine, so a product of at most 2^18
/// multiply-adds is summed in order by plain loops, and only larger ones go to BLAS, whose order of
/// summation depends on the CPU and on the number of threads. Each sample of a batch counts by itself.

/// a b for each matrix of a batch: [batch…×m×k] · [batch…×k×n] → [batch…×m×n]; ranks 2 to 4.
/// Throws std::invalid_argument, with both shapes, where they do not match.
template <std::size_t N>
Tensor<N> matmul(const Tensor<N>& a, const Tensor<N>& b) requires Rank<N, 2, 4>;

/// The same of one matrix, row by row in memory: [m×k] · [k×n] → [m×n].
void multiply(const double* a, const double* b, double* product, std::size_t m, std::size_t k, std::size_t n);

/// x W: the last axis of x [batch…×n×d_in] times weight [d_in×d_out]; ranks 2 to 4.
/// Throws std::invalid_argument, with both shapes, where they do not match.
template <std::size_t N>
Tensor<N> linear(const Tensor<N>& x, const Tensor<2>& weight) requires Rank<N, 2, 4>;

/// x W + b: the bias [d_out] is added to every row.
template <std::size_t N>
Tensor<N> linear(const Tensor<N>& x, const Tensor<2>& weight, const Tensor<1>& bias) requires Rank<N, 2, 4>;

/// xᵀ: the last two axes exchanged, as a copy; ranks 2 to 4.
template <std::size_t N>
Tensor<N> transpose(const Tensor<N>& x) requires Rank<N, 2, 4>;

/// A matrix times a vector: [m×k] · [k] → [m]; and a vector times a matrix: [k] · [k×n] → [n].
/// Both throw std::invalid_argument, with both shapes, where they do not match.
Tensor<1> matmul(const Tensor<2>& a, const Tensor<1>& x);
Tensor<1> matmul(const Tensor<1>& x, const Tensor<2>& b);

/// For a program that has held BLAS to one thread while it was loaded: the first large product gives BLAS a
/// thread for each processor. Without this call the library leaves the threads of BLAS as they are.
void start_threads_when_worth();

}  // namespace attn
