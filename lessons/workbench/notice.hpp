#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace lessons {

/// `Here "cat" looks most at "mat" (0.4775).`: the largest share in a table of attention weights
/// [(batch×head×)query×key]. Of equal shares it names the first. Empty where no query sees a key.
std::string strongest_pair(const attn::Event& weights);

/// `In head 0 every word looks most at "good". In head 1 the words look at different ones.`: of a table of
/// weights [(batch×)head×query×key].
std::string heads_look_at(const attn::Event& weights);

/// The key with the largest share in a row of a table of weights, the first of several. Rows are counted over
/// samples, heads and queries.
std::size_t strongest_in_row(const attn::Event& weights, std::size_t row);

/// `The word order differs: "chat" looks at "cat", and the next word, "noir", looks back at "black".`: the
/// first of the rows 0 … words − 1 of a table of weights [target×source] whose next one looks further back.
/// Empty where there is none.
std::string words_that_cross(const attn::Event& weights, std::size_t words);

/// The name of the entry `index` along the axis `axis` of the first sample: its token, or else its index.
std::string name_along(const attn::Event& event, std::size_t axis, std::size_t index);

/// A small table for a note: the first column begins at the left, all others end at the right, two spaces
/// apart. A row may have fewer cells than others; a column that says nothing in any row takes no room.
std::string in_columns(const std::vector<std::vector<std::string>>& rows);

/// The places 0 … count − 1 of a list that is shown; where there are more than `most`, the first and the last
/// ones with nothing between them.
std::vector<std::optional<std::size_t>> places_shown(std::size_t count, std::size_t most);

/// A token as such a table shows it: shortened where it is long.
std::string as_row_name(const std::string& token);

}  // namespace lessons
