#include "tests/unit/fast/exact_result.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/fast/draws.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/numbers.hpp"

using attn::exact::Call;
using attn::exact::Kernel;
using attn::exact::Sizes;

namespace {

/// A problem in the type that a kernel works in.
template <class T>
class TypedProblem {
 public:
  TypedProblem(const ExactProblem& problem, int threads)
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

  Call<T> call() {
    return {.sizes = problem_.sizes,
            .visible = problem_.visible,
            .scale = static_cast<T>(problem_.scale),
            .query = query_.data(),
            .key = key_.data(),
            .value = value_.data(),
            .output = result.output.data(),
            .log_sum_exp = result.log_sum_exp.data(),
            .threads = threads_,
            .d_output = d_output_.data(),
            .d_query = result.d_query.data(),
            .d_key = result.d_key.data(),
            .d_value = result.d_value.data()};
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
  TypedProblem<T> one(problem, threads);
  kernel.forward(one.call());
  return one.result;
}

template <class T>
ExactResult<T> run(const Kernel& kernel, const ExactProblem& problem, int threads) {
  TypedProblem<T> one(problem, threads);
  kernel.forward(one.call());
  kernel.backward(one.call());
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
