#pragma once

#include <string>

#include "fast/matrix.hpp"

/// OpenBLAS.
namespace attn::fast {

/// c = factor · a b through BLAS.
template <class T>
void multiply(T factor, const Matrix<T>& a, const Matrix<T>& b, T* c);

/// c += a b through BLAS.
template <class T>
void add_product(const Matrix<T>& a, const Matrix<T>& b, T* c);

/// While an object of this class exists, each product runs on the thread that calls it, whatever number of
/// threads BLAS was given: kernels distribute heads over threads, and the digits of a product do not depend
/// on their number.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

/// BLAS uses this number of threads from here on.
void set_blas_threads(int threads);

/// The processor that OpenBLAS has chosen its kernels for: "SkylakeX".
std::string blas_core();

}  // namespace attn::fast
