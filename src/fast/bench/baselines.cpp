#include "fast/bench/baselines.hpp"

#include "fast/gemm.hpp"

namespace attn::bench {

template <class T>
SquareProduct<T>::SquareProduct() : a_(size * size, T{0.5}), b_(size * size, T{0.25}), c_(size * size) {}

template <class T>
void SquareProduct<T>::run() {
  fast::multiply<T>(T{1}, {a_.data(), size, size}, {b_.data(), size, size}, c_.data());
}

template class SquareProduct<float>;
template class SquareProduct<double>;

}  // namespace attn::bench
