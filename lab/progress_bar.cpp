#include "lab/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "attn/text/width.hpp"

namespace lab {

namespace {

constexpr std::size_t cells = 30, width = 79;
const char* const back_and_wipe = "\r\x1B[K";

}  // namespace

ProgressBar::ProgressBar() : is_seen_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (is_seen_) fmt::print(stderr, "{}", back_and_wipe);
}

void ProgressBar::show(double share, const std::string& next) {
  if (!is_seen_) return;
  const double done = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(std::lround(done * cells));
  std::string bar;
  for (std::size_t i = 0; i < cells; ++i) bar += i < full ? "█" : "░";
  fmt::print(stderr, "{}{}", back_and_wipe,
             attn::shorten(fmt::format("{} {:3.0f} %  {}", bar, 100.0 * done, next), width));
  std::fflush(stderr);
}

}  // namespace lab
