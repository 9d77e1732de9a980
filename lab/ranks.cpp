#include "lab/ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "attn/lists.hpp"
#include "fast/ranks/network.hpp"
#include "lab/output.hpp"

namespace lab {

namespace {

attn::fast::Network* joined_network = nullptr;
bool is_other_rank = false;

bool runs_on_ranks(const std::vector<std::string_view>& arguments) {
  return !arguments.empty() && (arguments.front() == "ring" ||
                                (arguments.front() == "bench" && attn::contains(arguments, "--ranks")));
}

}  // namespace

Ranks::Ranks(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
  if (!attn::fast::started_by_mpirun() || !runs_on_ranks(arguments)) return;
  is_other_rank = environment("OMPI_COMM_WORLD_RANK").value_or("0") != "0";  // before MPI is loaded
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
