#pragma once

#include <memory>
#include <string>

#include "fast/ranks/network.hpp"

/// The processes that mpirun started, as a network. MPI is a module of its own, attnlab_mpi.so, which is
/// loaded when this is called for and built where Open MPI is installed.
namespace attn::fast {

/// Whether Open MPI's mpirun started this process.
bool started_by_mpirun();

/// Joins the other processes; this one plays the rank that mpirun gave it. A process that ends early, stops
/// or cannot be reached ends all others within 10 s, with a line that names its rank. None is through with
/// the network before all are.
///
/// Throws attn::Error where there is no such module beside the program.
std::unique_ptr<Network> join_mpirun();

/// Throws attn::Error, in every process, where one was given another text than rank 0, with its rank.
void require_same_text(Network& network, const std::string& text);

}  // namespace attn::fast
