#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/stored_trace.hpp"

namespace lab {

/// A dump that was computed from other inputs than the probe's.
class OtherProbe : public attn::Error {
 public:
  using attn::Error::Error;
};

/// A dump of which nothing says which probe it is of.
class UnknownProbe : public attn::Error {
 public:
  using attn::Error::Error;
};

/// How far a tensor is from another of the same shape: the largest difference, in units of the other's
/// largest number. Infinite where the shapes differ.
double distance(const attn::TensorView& tensor, const attn::TensorView& other);

/// Within this distance a float16 or a printed input is still the same; inputs of another probe are farther.
inline constexpr double distance_of_other_probe = 0.01;

/// A probe's id: eight hexadecimal digits that follow from the ids, shapes and numbers of its inputs.
std::string id_of_probe(const attn::Tensors& inputs);

/// The probe that a file's config names; nothing where it names none.
std::string named_probe(const attn::StoredTrace& file);

/// The files of a folder that may be probes, by name.
std::vector<std::filesystem::path> probes_in(const std::string& folder);

/// The probe of somebody's dump in a folder of probes: the one of the dump's file name or of the folder's
/// that it is in, or the one that its config names, or the one whose inputs it has. A `probe` that is no
/// folder is that of every dump. Throws OtherProbe where the dump's config names another, UnknownProbe where
/// it names none and no probe of the folder is its.
std::string probe_of(const std::string& probe, const attn::StoredTrace& dump, const std::string& path);

}  // namespace lab
