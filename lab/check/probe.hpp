#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lab/output.hpp"
#include "lessons/workbench/probe.hpp"

namespace lab {

/// Inputs for somebody else's implementation of a lesson.
struct MakeProbe {
  std::shared_ptr<const lessons::Lesson> lesson;  ///< whose defaults are those of the probe
  lessons::Options options{};
  std::optional<std::string> output{};
  std::optional<std::uint32_t>
      last_seed{};                     ///< of several probes, one for each seed from that of `options` on
  std::optional<std::string> names{};  ///< a file with a line for each probe, whose name that is
  bool is_audit = false;               ///< asks which mistakes the dimensions hide
  Paging paging = Paging::automatic;
};

/// Writes the inputs to the file and prints the task sheet, or tells what the dimensions hide. Of several
/// seeds each has a file with the seed in its name, of several names one of that name, and its task sheet
/// beside it, .txt. Throws attn::Error for bad input.
void run_probe(const MakeProbe& probe);

}  // namespace lab
