#pragma once

#include "page/page.hpp"

namespace attn::page {

/// The note of an event. Its `formula` is formulas in the note `idea`, a diagram in `flow`, code in `code`,
/// commands in `next`, in all of their groups; else words and numbers in columns, or a picture.
Note note_of(const Event& event);

}  // namespace attn::page
