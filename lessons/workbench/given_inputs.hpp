#pragma once

#include "lessons/workbench/options.hpp"
#include "trace/given.hpp"
#include "trace/stored_trace.hpp"

namespace lessons {

struct Lesson;

/// Fills in what follows from the tensors of --input. A trace of the same lesson brings its own options
/// along, except those that were typed; then the shapes of the inputs decide the dimensions, the number of
/// samples and of tokens. Tokens are called 1, 2, 3 … where neither a typed sentence, nor the trace's, nor
/// the lesson's own has as many. Looks at shapes, and at the elements of inputs that are options or lengths
/// only.
///
/// Throws attn::Error for shapes that contradict each other or a typed option (both named).
void follow_inputs(const Lesson& lesson, const attn::StoredTrace& file, Options& options);

/// The inputs of the file. The steps of a trace are left out: the lesson computes them.
attn::GivenTensors read_inputs(const attn::StoredTrace& file);

}  // namespace lessons
