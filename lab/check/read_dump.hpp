#pragma once

#include <string>
#include <vector>

#include "lab/check/check.hpp"
#include "trace/diagnosis/replay.hpp"

namespace lab {

/// The lesson on some inputs, and what was assumed about them.
struct Inputs {
  lessons::Plan plan;
  std::vector<std::string> assumptions{};
};

/// The lesson on the inputs of the probe or, without one, on those that the file itself has. Throws
/// attn::Error.
Inputs inputs_of(const CheckDump& check, const attn::StoredTrace& file, const std::string& path);

/// Those of --rename, where the weight of a layer remains one: nn.Linear has it as [out×in].
attn::Renames renames_of(const CheckDump& check);

/// A file beside the lesson on the inputs that it is of.
struct Read {
  lessons::Plan plan;
  std::vector<attn::ExpectedTensor> expected;
  attn::Dump dump;
  bool has_input_of_probe = false;

  attn::Rerun rerun() const {
    return [this](const attn::Watch& watch) { lessons::run_watched(*plan.lesson, plan, watch); };
  }
};

/// The dump in `file` as its names, options and shapes have it. `source` is the file that has the inputs.
/// Throws attn::Error, OtherProbe where an input is another than the probe's.
Read read_as_said(const CheckDump& check, const attn::StoredTrace& file, const attn::StoredTrace& source,
                  const std::string& path);

}  // namespace lab
