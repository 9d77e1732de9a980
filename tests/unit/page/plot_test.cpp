#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "attn/text/width.hpp"
#include "page/curve.hpp"
#include "page/text/text.hpp"

using attn::Tensor;

namespace {

template <std::size_t N>
attn::Event curve(const Tensor<N>& values, const std::vector<std::string>& axes,
                  const std::vector<attn::AxisLabels>& labels) {
  return {.kind = attn::Kind::step,
          .tensor = attn::view_of(values),
          .axes = axes,
          .labels = labels,
          .curve = true};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a scale is logarithmic only where positive values span more than a factor of a hundred") {
  CHECK(attn::scale_of({1.0, 101.0}).is_logarithmic);
  CHECK_FALSE(attn::scale_of({1.0, 100.0}).is_logarithmic);
  CHECK_FALSE(attn::scale_of({0.0, 1000.0}).is_logarithmic);
  CHECK_FALSE(attn::scale_of({-1.0, 1000.0}).is_logarithmic);
}

TEST_CASE("a scale places its ends at 0 and 1 and knows one value only as the middle") {
  const auto linear = attn::scale_of({-2.0, 6.0, std::nan("")});
  CHECK(linear.place(-2.0) == 0.0);
  CHECK(linear.place(6.0) == 1.0);
  CHECK(linear.place(0.0) == 0.25);
  const auto logarithmic = attn::scale_of({1.0, 10000.0});
  CHECK(logarithmic.place(100.0) == Approx(0.5));
  CHECK(attn::scale_of({7.0}).place(7.0) == 0.5);
  CHECK(attn::scale_of({}).place(0.5) == 0.5);
}

TEST_CASE("points stand at their labels where these are numbers, else at their indices") {
  const Tensor<1> values = {1.0, 2.0, 3.0};
  CHECK(attn::curves_of(curve(values, {"d_k"}, {{{{"4", "16", "64"}}}})).positions ==
        std::vector<double>{4.0, 16.0, 64.0});
  CHECK(attn::curves_of(curve(values, {"length"}, {{{{"n=4", "n=16", "n=64"}}}})).positions ==
        std::vector<double>{4.0, 16.0, 64.0});
  CHECK(attn::curves_of(curve(values, {"token"}, {{{{"4", "b", "64"}}}})).positions ==
        std::vector<double>{0.0, 1.0, 2.0});
  CHECK(attn::curves_of(curve(values, {"position"}, {{}})).positions == std::vector<double>{0.0, 1.0, 2.0});
}

TEST_CASE("a rising line goes from the bottom left to the top right") {
  const Tensor<1> values = {0.0, 1.0};
  const auto lines = lines_of(attn::format_plot(attn::curves_of(curve(values, {"position"}, {{}})), 80));
  REQUIRE(lines.size() == 10);
  CHECK(lines[0].find("1┤") != std::string::npos);
  CHECK(lines[7].find("0┤") != std::string::npos);
  CHECK(lines[0].substr(lines[0].size() - 3) != "⠀");
  CHECK(lines[7].find("┤⠀") == std::string::npos);
  CHECK(lines[9] == "  over position");
}

TEST_CASE("a plot fits the terminal and draws four lines at most") {
  const Tensor<2> values = xt::ones<double>({6, 300});
  const auto text = attn::format_plot(attn::curves_of(curve(values, {"head", "position"}, {{}, {}})), 80);
  for (const auto& line : lines_of(text)) CHECK(attn::display_width(line) <= 80);
  CHECK(text.find("head 3") != std::string::npos);
  CHECK(text.find("head 4") == std::string::npos);
  CHECK(text.find("… and 2 more") != std::string::npos);
}

TEST_CASE("values that are not finite are left out of a plot") {
  const Tensor<1> values = {1.0, std::nan(""), INFINITY, 2.0};
  const auto text = attn::format_plot(attn::curves_of(curve(values, {"position"}, {{}})), 80);
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
}

TEST_CASE("positions get a logarithmic scale together with the values where they grow eightfold") {
  const Tensor<1> steep = {1.0, 16.0, 256.0}, flat = {1.0, 2.0, 3.0};
  CHECK(attn::curves_of(curve(steep, {"token"}, {{{{"4", "16", "32"}}}})).horizontal.is_logarithmic);
  CHECK_FALSE(attn::curves_of(curve(steep, {"token"}, {{{{"4", "8", "16"}}}})).horizontal.is_logarithmic);
  CHECK_FALSE(attn::curves_of(curve(steep, {"token"}, {{}})).horizontal.is_logarithmic);
  CHECK_FALSE(attn::curves_of(curve(flat, {"token"}, {{{{"4", "16", "32"}}}})).horizontal.is_logarithmic);
}

TEST_CASE("a tick has four digits, or all of a long whole number") {
  CHECK(attn::tick(65536.0) == "65536");
  CHECK(attn::tick(15831.3) == "15831");
  CHECK(attn::tick(0.123456) == "0.1235");
  CHECK(attn::tick(1e12) == "1e+12");
}
