#pragma once

#include <ctime>

/// The seconds of this process's processors that the work takes, whatever else the machine does.
template <class Work>
double processor_seconds(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// What takes an instant takes less, under sanitizers too; what takes the square of its time takes more.
inline constexpr double instant = 5.0;
