#include "attn/text/word_vectors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/text_file.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

using Fields = std::vector<std::string_view>;

constexpr std::size_t longest_line = std::size_t{1} << 22;
constexpr std::size_t largest_dimension = longest_line / 2;  ///< a number and a space are two bytes at least
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view valid_file =
    "a text file with a line for each word: the word, then its numbers, separated by spaces";
constexpr std::string_view valid_count = "a header COUNT DIMENSION that counts the lines after it, or none";

/// The whole number that the field is; the largest there is where it is larger.
std::optional<std::size_t> whole_number_in(std::string_view field) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (end != field.data() + field.size()) return std::nullopt;
  return error == std::errc() ? number : std::numeric_limits<std::size_t>::max();
}

/// The fields of the next line that has any, until the line after; none at the end of the file.
Fields next_fields(TextLines& file) {
  Fields fields;
  while (fields.empty()) {
    auto line = file.next();
    if (!line) break;
    if (file.count() == 1 && line->starts_with(byte_order_mark)) line->remove_prefix(byte_order_mark.size());
    if (line->ends_with('\r')) line->remove_suffix(1);
    if (line->find('\0') != line->npos) file.fail("the line has a NUL byte, as in a binary file");
    fields = words_in(*line);
  }
  return fields;
}

/// The line "COUNT DIMENSION" with which word2vec and fastText begin, and GloVe does not.
struct Header {
  std::size_t count;
  std::size_t dimension;
};

std::optional<Header> parse_header(const TextLines& file, const Fields& fields) {
  const auto count = whole_number_in(fields.front()), dimension = whole_number_in(fields.back());
  if (fields.size() != 2 || !count || !dimension) return std::nullopt;
  if (*dimension == 0 || *dimension > largest_dimension)
    file.fail(fmt::format("the header promises vectors of {} numbers", shorten(fields[1], 40)),
              fmt::format("1 to {}", largest_dimension));
  return Header{*count, *dimension};
}

double parse_component(const TextLines& file, std::string_view field) {
  const auto number = parse_number(field);
  if (!number) file.fail(fmt::format("{} is not a finite number", in_message(field)));
  return *number;
}

/// The word takes what the numbers leave. Some words of GloVe have spaces in them, but none ends with a
/// number.
std::string parse_word(const TextLines& file, const Fields& fields, std::size_t dimension) {
  const bool too_few = fields.size() < dimension + 1;
  const std::size_t parts = too_few ? 1 : fields.size() - dimension;
  if (too_few || (parts > 1 && parse_number(fields[parts - 1])))
    file.fail(fmt::format("{} has a vector of length {}, not {} as in the lines before",
                          in_message(fields[0]), fields.size() - 1, dimension));
  const auto& last = fields[parts - 1];
  const std::string_view word(fields[0].data(),
                              static_cast<std::size_t>(last.data() + last.size() - fields[0].data()));
  require_valid_utf8(word, file.place() + ": the word");
  return nfc(word);
}

using Vocabulary = std::unordered_map<std::string, std::vector<double>>;

/// The words of a small vocabulary, the most similar ones of a large one.
std::vector<std::string> suggestions(const Vocabulary& vocabulary, const std::string& token) {
  constexpr std::size_t small_vocabulary = 10, few = 3;
  const bool list_all = vocabulary.size() <= small_vocabulary;
  const auto farthest = std::max<std::size_t>(1, code_points(token).size() / 2);

  std::vector<std::tuple<std::size_t, std::string>> ranked;
  for (const auto& [word, vector] : vocabulary) {
    const auto distance = list_all ? 0 : edit_distance(token, word);
    if (list_all || distance <= farthest) ranked.emplace_back(distance, word);
  }
  std::sort(ranked.begin(), ranked.end());
  if (!list_all && ranked.size() > few) ranked.resize(few);

  std::vector<std::string> words;
  for (const auto& [distance, word] : ranked) words.push_back(in_message(word));
  return words;
}

}  // namespace

WordVectors WordVectors::load(const std::string& path) {
  TextLines file(path, std::string(valid_file), longest_line);
  WordVectors result;
  result.path_ = path;
  auto fields = next_fields(file);
  if (fields.empty()) throw Error(fmt::format("{} is empty; valid: {}", path, valid_file));
  const auto header = parse_header(file, fields);
  if (header) fields = next_fields(file);
  if (fields.empty()) file.fail("no vector follows the header");
  if (fields.size() == 1) file.fail(fmt::format("no number follows {}", in_message(fields[0])));
  result.dimension_ = header ? header->dimension : fields.size() - 1;

  std::size_t count = 0;
  for (; !fields.empty(); fields = next_fields(file)) {
    if (header && ++count > header->count)
      file.fail(fmt::format("this is more than the {} vectors of the header", header->count), valid_count);
    auto word = parse_word(file, fields, result.dimension_);
    std::vector<double> vector;
    for (auto i = fields.size() - result.dimension_; i < fields.size(); ++i)
      vector.push_back(parse_component(file, fields[i]));
    result.vectors_.emplace(std::move(word), std::move(vector));
  }
  if (header && count < header->count)
    file.fail(fmt::format("the file ends after {} of the {} vectors of its header", count, header->count),
              valid_count);
  return result;
}

const std::vector<double>* WordVectors::find(const std::string& token) const {
  const auto* as_written = value_in(vectors_, nfc(token));
  return as_written != nullptr ? as_written : value_in(vectors_, nfc(lower_case(token)));
}

const std::vector<double>& WordVectors::at(const std::string& token) const {
  if (const auto* vector = find(token)) return *vector;

  const auto words = suggestions(vectors_, token);
  throw Error(fmt::format("{} is not among the {} words of {}; valid: {}", in_message(token), vectors_.size(),
                          path_,
                          words.empty() ? "words of that file, as written or in lower case"
                                        : fmt::format("{}", fmt::join(words, ", "))));
}

}  // namespace attn
