#include "lab/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "attn/text/width.hpp"

namespace lab {

namespace {

constexpr std::size_t cells = 30, width = 79;
const char* const back_and_wipe = "\r\x1B[K";

/// On a terminal, and where ATTNLAB_PROGRESS says otherwise as it says.
bool is_wanted() {
  const char* asked = std::getenv("ATTNLAB_PROGRESS");
  return asked == nullptr ? isatty(STDERR_FILENO) == 1 : std::string_view(asked) == "1";
}

}  // namespace

ProgressBar::ProgressBar() : is_wanted_(is_wanted()) {}

ProgressBar::~ProgressBar() {
  if (was_shown_) fmt::print(stderr, "{}", back_and_wipe);
}

void ProgressBar::show(double share, const std::string& next) {
  if (!is_wanted_) return;
  was_shown_ = true;
  const double done = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(std::lround(done * cells));
  std::string bar;
  for (std::size_t i = 0; i < cells; ++i) bar += i < full ? "█" : "░";
  fmt::print(stderr, "{}{}", back_and_wipe,
             attn::shorten(fmt::format("{} {:3.0f} %  {}", bar, 100.0 * done, next), width));
  std::fflush(stderr);
}

ProgressOfRun::ProgressOfRun(attn::Sink& next, std::string_view lesson) : next_(next) {
#ifndef __EMSCRIPTEN__  // which has no threads
  if (is_wanted()) clock_ = std::thread([this, name = std::string(lesson)] { tell(name); });
#endif
}

ProgressOfRun::~ProgressOfRun() {
  if (!clock_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_one();
  clock_.join();
}

void ProgressOfRun::receive(const attn::Event& event) {
  if (clock_.joinable()) {
    const std::lock_guard lock(mutex_);
    last_ = event.id;
  }
  next_.receive(event);
}

void ProgressOfRun::tell(const std::string& lesson) {
  using std::chrono::seconds;
  std::unique_lock lock(mutex_);
  int passed = 1;
  for (; !ended_.wait_for(lock, seconds(1), [this] { return has_ended_; }); ++passed)
    if (passed > 1) {
      const auto after = last_.empty() ? "" : fmt::format(", after {}", last_);
      fmt::print(stderr, "{}{}", back_and_wipe,
                 attn::shorten(fmt::format("{}: computing for {} s{}", lesson, passed, after), width));
      std::fflush(stderr);
    }
  if (passed > 2) fmt::print(stderr, "{}", back_and_wipe);
}

}  // namespace lab
