#pragma once

#include <string_view>

#include "lessons/efficient/variants.hpp"

namespace lessons {

/// The note `variants`: what each does.
void show_variants(const VariantBench& on);

/// The note `comparison`: the table of errors and costs and how these grow with the number of tokens. Its
/// numbers are the steps `comparison/errors` and `comparison/costs`.
void compare_variants(const VariantBench& on);

/// The note `counts`: where the numbers of full attention and of the variant `shown` come from. Those of the
/// others are the note `other-counts`.
void show_counts(const VariantBench& on, std::string_view shown);
void show_other_counts(const VariantBench& on, std::string_view shown);

}  // namespace lessons
