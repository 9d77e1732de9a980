#pragma once

#include <memory>
#include <string>

#include "fast/ranks/network.hpp"

namespace lab {

/// Joins the processes that mpirun started, where the command is one that runs on several ranks: `ring` and
/// `bench --ranks`. All others know nothing of mpirun, and none is joined without it. To be made once, before
/// the arguments are read, and kept to the end.
class Ranks {
 public:
  /// Throws attn::Error as attn::fast::join_mpirun does.
  Ranks(int argc, char** argv);

  /// Throws attn::Error where another rank has other arguments or another version.
  void require_alike() const;

  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

 private:
  std::string identity_;  ///< what must be the same for all ranks
  std::unique_ptr<attn::fast::Network> network_;
};

/// The other processes; null where this one was not started by mpirun or has no part in it.
attn::fast::Network* network();

/// Whether this process is the one that prints, which is the case where it is alone.
bool is_first_rank();

}  // namespace lab
