#include <cblas.h>

#include "fast/bench/yardstick.hpp"
#include "fast/exact/gemm.hpp"

namespace attn::bench {

template <class T>
SquareProduct<T>::SquareProduct() : a_(size * size, T{0.5}), b_(size * size, T{0.25}), c_(size * size) {}

template <class T>
void SquareProduct<T>::run() {
  exact::multiply<T>(T{1}, {a_.data(), size, size}, {b_.data(), size, size}, c_.data());
}

void use_blas_threads(int threads) {
  openblas_set_num_threads(threads);
}

std::string blas_core() {
  return openblas_get_corename();
}

template class SquareProduct<float>;
template class SquareProduct<double>;

}  // namespace attn::bench
