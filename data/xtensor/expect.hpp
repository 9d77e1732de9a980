#include <cstdio>
#include <string>

namespace {

template <class Element>
xt::xarray<Element> array(const std::vector<std::size_t>& shape, const std::vector<double>& numbers) {
  xt::xarray<Element> result = xt::zeros<Element>(shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) result.flat(i) = static_cast<Element>(numbers[i]);
  return result;
}

int agree = 0, wrong = 0;

void expect(const std::string& name, const xt::xarray<double>& computed, const xt::xarray<double>& expected) {
  double largest = 1.0;
  for (const double x : expected)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  bool is_equal = computed.shape() == expected.shape();
  for (std::size_t i = 0; is_equal && i < expected.size(); ++i) {
    const double x = computed.flat(i), y = expected.flat(i);
    is_equal = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance * largest;
  }
  ++(is_equal ? agree : wrong);
  if (!is_equal) std::printf("%s differs\n", name.c_str());
}
