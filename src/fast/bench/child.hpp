#pragma once

#include <functional>
#include <optional>
#include <variant>
#include <vector>

/// Work in a process of its own: its memory can be measured, and it can be ended at any time.
namespace attn::bench {

/// How a process ended that did not finish its work.
enum class Ending { too_slow, out_of_memory, failed };

/// Does the work in a process forked off this one and hands back the numbers that it returned. Of the threads
/// only the caller's lives on there, so nothing may have been computed on several threads before. Throws
/// std::system_error where the system refuses.
std::variant<std::vector<double>, Ending> run_in_child(const std::function<std::vector<double>()>& work);

/// Ends the process as too slow unless it is gone after so many seconds.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
};

/// From here on every allocation of a page or more is mapped by itself and unmapped once it is freed, so that
/// the address space tells to a page what is in use. Slow.
void map_allocations_one_by_one();

/// How far the address space of this process has grown, at most, since this object was made.
class AddressSpaceMeter {
 public:
  AddressSpaceMeter();
  ~AddressSpaceMeter();
  AddressSpaceMeter(const AddressSpaceMeter&) = delete;
  AddressSpaceMeter& operator=(const AddressSpaceMeter&) = delete;

  /// In bytes; nothing on systems that do not tell.
  std::optional<double> growth() const;

 private:
  std::optional<double> peak_before_;
  void* filling_ = nullptr;  ///< of what was mapped before and no longer is, up to the peak
  std::size_t filling_size_ = 0;
};

}  // namespace attn::bench
