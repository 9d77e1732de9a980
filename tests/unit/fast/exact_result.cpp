#include "tests/unit/fast/exact_result.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/fast/draws.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/numbers.hpp"

using attn::exact::Backward;
using attn::exact::Forward;
using attn::exact::Kernel;
using attn::exact::Sizes;

namespace {

/// A problem in the type that a kernel works in.
template <class T>
class Call {
 public:
  Call(const ExactProblem& problem, int threads)
      : problem_(problem),
        threads_(threads),
        query_(rounded<T>(problem.query)),
        key_(rounded<T>(problem.key)),
        value_(rounded<T>(problem.value)),
        d_output_(rounded<T>(problem.d_output)) {
    const auto nan = std::numeric_limits<T>::quiet_NaN();
    result.output.assign(d_output_.size(), nan);
    const auto& sizes = problem.sizes;
    result.log_sum_exp.assign(sizes.samples * sizes.heads * sizes.n_q, nan);
    result.d_query.assign(query_.size(), nan);
    result.d_key.assign(key_.size(), nan);
    result.d_value.assign(value_.size(), nan);
  }

  Forward<T> forward() {
    return {problem_.sizes, problem_.visible,     static_cast<T>(problem_.scale), query_.data(), key_.data(),
            value_.data(),  result.output.data(), result.log_sum_exp.data(),      threads_};
  }

  Backward<T> backward() {
    return {forward(), d_output_.data(), result.d_query.data(), result.d_key.data(), result.d_value.data()};
  }

  ExactResult<T> result;

 private:
  const ExactProblem& problem_;
  int threads_;
  std::vector<T> query_, key_, value_, d_output_;
};

}  // namespace

template <class T>
ExactResult<T> run_forward(const Kernel& kernel, const ExactProblem& problem, int threads) {
  Call<T> one(problem, threads);
  kernel.forward(one.forward());
  return one.result;
}

template <class T>
ExactResult<T> run(const Kernel& kernel, const ExactProblem& problem, int threads) {
  Call<T> one(problem, threads);
  kernel.forward(one.forward());
  kernel.backward(one.backward());
  return one.result;
}

void for_each_version(const Sizes& sizes, const VersionCheck& check) {
  for (const Kernel& kernel : attn::exact::kernels()) {
    if (!kernel.fits(sizes)) continue;
    if (kernel.name != "simd") {
      check(kernel, std::string(kernel.name));
      continue;
    }
    for_each_isa([&] {
      check(kernel, std::string(kernel.name) + " with " + std::string(name_of(attn::simd::isa_in_use())));
    });
  }
}

template <class T>
double relative_error(const std::vector<T>& actual, const std::vector<double>& expected, double scale) {
  const auto flushed = static_cast<double>(std::numeric_limits<T>::min());
  const double error = largest_difference(actual, expected) - flushed;
  return error <= 0.0 ? 0.0 : error / scale;
}

template <class T>
double forward_error(const ExactResult<T>& actual, const ExactResult<double>& expected) {
  return std::max(
      relative_error(actual.output, expected.output, largest(expected.output)),
      relative_error(actual.log_sum_exp, expected.log_sum_exp, std::max(1.0, largest(expected.log_sum_exp))));
}

double digits(double relative_error) {
  return -std::log10(relative_error);
}

#define INSTANTIATE(T)                                                                       \
  template ExactResult<T> run_forward(const Kernel&, const ExactProblem&, int);              \
  template ExactResult<T> run(const Kernel&, const ExactProblem&, int);                      \
  template double relative_error(const std::vector<T>&, const std::vector<double>&, double); \
  template double forward_error(const ExactResult<T>&, const ExactResult<double>&);
INSTANTIATE(float)
INSTANTIATE(double)
