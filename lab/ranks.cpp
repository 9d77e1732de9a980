#include "lab/ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "fast/ranks/network.hpp"

namespace lab {

namespace {

attn::fast::Network* joined_network = nullptr;
bool is_other_rank = false;

bool runs_on_ranks(const std::vector<std::string_view>& arguments) {
  if (arguments.empty()) return false;
  const auto asks_for_ranks = [](std::string_view argument) { return argument == "--ranks"; };
  return arguments.front() == "ring" ||
         (arguments.front() == "bench" && std::any_of(arguments.begin(), arguments.end(), asks_for_ranks));
}

/// Before MPI is loaded its launcher says who this is.
bool launcher_says_other_rank() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank != nullptr && std::string_view(rank) != "0";
}

}  // namespace

Ranks::Ranks(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
  if (!attn::fast::started_by_mpirun() || !runs_on_ranks(arguments)) return;
  is_other_rank = launcher_says_other_rank();
  identity_ = fmt::format("attnlab " ATTNLAB_VERSION ": {}", fmt::join(arguments, " "));
  network_ = attn::fast::join_mpirun();
  joined_network = network_.get();
}

void Ranks::require_alike() const {
  if (network_) attn::fast::require_same_text(*network_, identity_);
}

Ranks::~Ranks() {
  joined_network = nullptr;
}

attn::fast::Network* network() {
  return joined_network;
}

bool is_first_rank() {
  return !is_other_rank;
}

}  // namespace lab
