#pragma once

#include <string_view>

#include "lessons/efficient/variants.hpp"

namespace lessons {

/// The notes `variants`, what each does; `comparison`, the table of errors and costs and how these grow with
/// the number of tokens; and `counts`, where the numbers of full attention and of the variant `shown` come
/// from. Those of the others are the note `other-counts`.
void compare_variants(const VariantBench& on, std::string_view shown);

}  // namespace lessons
