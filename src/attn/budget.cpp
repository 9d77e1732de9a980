#include "attn/budget.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>

namespace attn {

namespace {

std::atomic<std::size_t> budget = std::numeric_limits<std::size_t>::max(), taken = 0;

}  // namespace

void set_memory_budget(std::size_t bytes) {
  budget = bytes;
}

void take_memory(std::size_t bytes) {
  const auto before = taken.fetch_add(bytes);
  const auto limit = budget.load();
  if (before <= limit && bytes <= limit - before) return;
  taken.fetch_sub(bytes);
  throw OutOfBudget(bytes);
}

void give_memory(std::size_t bytes) noexcept {
  taken.fetch_sub(bytes);
}

double free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (double kibibytes = 0.0; name == "MemAvailable:" && file >> kibibytes) return 1024.0 * kibibytes;
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

std::string in_bytes(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit) bytes /= 1024.0;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

}  // namespace attn
