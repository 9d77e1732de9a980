#include "fast/ranks/network.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "attn/error.hpp"

namespace attn::fast {

void Network::start(const std::vector<Transfer>& transfers) {
  for (const auto& transfer : transfers)
    if (plays(transfer.from) && transfer.from != transfer.to) bytes_sent_[transfer.from] += transfer.bytes;
  carry(transfers);
}

void Network::finish() {
  const auto begin = std::chrono::steady_clock::now();
  wait();
  seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Network::share(const std::vector<Part>& parts) {
  std::vector<Transfer> transfers;
  for (const auto& part : parts)
    for (std::size_t to = 0; to < ranks(); ++to)
      if (to != part.owner && !(plays(to) && plays(part.owner)))
        transfers.push_back({part.owner, to, part.data, part.data, part.bytes});
  carry(transfers);
  wait();
}

void Network::reset_counts() {
  std::fill(bytes_sent_.begin(), bytes_sent_.end(), 0);
  seconds_waited_ = 0.0;
}

namespace {

class LocalNetwork : public Network {
 public:
  explicit LocalNetwork(std::size_t ranks) : Network(ranks, {0, ranks}) {}

 private:
  void carry(const std::vector<Transfer>& transfers) override {
    for (const auto& transfer : transfers)
      if (transfer.bytes > 0) std::memcpy(transfer.destination, transfer.source, transfer.bytes);
  }
  void wait() override {}
};

}  // namespace

std::unique_ptr<Network> local_network(std::size_t ranks) {
  return std::make_unique<LocalNetwork>(ranks);
}

namespace {

constexpr auto module_name = "attnlab_mpi.so";

/// Beside the program where it was built, and where it is installed.
std::filesystem::path find_module() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& place : {folder / module_name, folder.parent_path() / "lib" / "attnlab" / module_name})
    if (std::filesystem::exists(place)) return place;
  throw Error(
      "mpirun started this program, which was built without MPI; valid: install libopenmpi-dev and "
      "openmpi-bin and build again, or run it without mpirun");
}

}  // namespace

bool started_by_mpirun() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
}

std::unique_ptr<Network> join_mpirun() {
  const auto path = find_module();
  // Open MPI's own modules look for its names among all that are loaded.
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) throw Error(fmt::format("MPI cannot be loaded: {}; valid: build again", dlerror()));
  using Join = Network* (*)();
  const auto join = reinterpret_cast<Join>(dlsym(module, "attnlab_join_mpi"));
  if (join == nullptr)
    throw Error(fmt::format("{} is no module of this program; valid: build again", path.string()));
  return std::unique_ptr<Network>(join());
}

void require_same_text(Network& network, const std::string& text) {
  std::vector<std::string> texts;
  for (const auto length : of_all_ranks(network, std::uint64_t{text.size()}))
    texts.emplace_back(length, '\0');
  texts[network.here().begin] = text;
  std::vector<Network::Part> parts;
  for (std::size_t rank = 0; rank < network.ranks(); ++rank)
    parts.push_back({rank, texts[rank].data(), texts[rank].size()});
  network.share(parts);
  for (std::size_t rank = 1; rank < texts.size(); ++rank)
    if (texts[rank] != texts[0])
      throw Error(
          fmt::format("rank {} was started as \"{}\" and rank 0 as \"{}\"; valid: one version and the "
                      "same arguments for all ranks",
                      rank, texts[rank], texts[0]));
}

}  // namespace attn::fast
