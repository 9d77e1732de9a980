#pragma once

#include <string>
#include <string_view>

#include "trace/element_type.hpp"

namespace attn {

/// The header of an .npy file, such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }: a literal
/// of Python with these three names in any order. Throws Error, with `place`, for any other.
Layout parse_npy_header(std::string_view literal, std::string_view place);

}  // namespace attn
