#pragma once

#include <cstddef>

/// In this program malloc and its kin, and with them operator new, have no more than this to give at once.
/// Under the address sanitizer, whose malloc it is, ASAN_OPTIONS says so: see CMakeLists.txt.
constexpr std::size_t largest_allocation = std::size_t{64} << 20;
