#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/event.hpp"

/// The words that pages for people share, whatever their format.
namespace attn {

/// The lines of a text, without characters that would move a cursor or reorder a line.
std::vector<std::string> lines_of(const std::string& text);

/// The text in quotes, likewise.
std::string quoted(const std::string& text);

/// "d_model=8"; a flag is its name alone. Nothing for what is unset, and nothing for tokens, which stand
/// beside the tensors.
std::string option_text(const std::string& name, const ConfigValue& value);

/// What a step says of itself beside its notice about these numbers: nothing that the notice says already.
std::string note_after_notice(const Event& event);

/// "[query 6 × key 6]", "[6×6]" where the axes have no names, "[scalar]".
std::string named_shape(const std::vector<std::string>& axes, const Shape& shape);
std::string named_shape(const Event& event);

/// "off by less than 1e-12", "exactly 0", "2.5, at least 1"; "0.3, which should be <= 1e-12".
std::string measured(const Measurement& measurement, int precision);

}  // namespace attn
