#include "trace/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/text/trim.hpp"
#include "trace/file.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

namespace fs = std::filesystem;

constexpr const char* rows_of_numbers = "rows of numbers, with commas between them";

/// The text up to the separator, which both are taken off what is left.
std::string_view take_up_to(char separator, std::string_view& left) {
  const auto part = left.substr(0, left.find(separator));
  left.remove_prefix(std::min(part.size() + 1, left.size()));
  return part;
}

/// A number of a cell, which may be infinite or NaN.
std::optional<double> number_of_cell(std::string_view cell) {
  const auto number = parse_number(cell);
  if (number) return number;
  const auto special = number_in(cell);
  return special && !std::isfinite(*special) ? special : std::nullopt;
}

/// Appends the numbers of one line. Returns how many they are.
std::size_t append_row(std::vector<double>& numbers, std::string_view line, const std::string& place) {
  std::size_t count = 0;
  for (bool is_last = false; !is_last; ++count) {
    is_last = line.find(',') == std::string_view::npos;
    const auto cell = trimmed(take_up_to(',', line));
    const auto number = number_of_cell(cell);
    if (!number) refuse(place, fmt::format("{} is no number", in_message(cell)), rows_of_numbers);
    numbers.push_back(*number);
  }
  return count;
}

AnyTensor matrix_in(const File& file) {
  auto left = trimmed(file.bytes());
  std::vector<double> numbers;
  std::size_t rows = 0, columns = 0;
  while (!left.empty()) {
    const auto place = fmt::format("{}: line {}", file.path(), ++rows);
    const auto count = append_row(numbers, take_up_to('\n', left), place);
    if (rows == 1) columns = count;
    if (count != columns)
      refuse(place, fmt::format("it has {} numbers, but line 1 has {}", count, columns),
             "as many in every line");
  }
  if (rows == 0) refuse(file.path(), "it is empty", rows_of_numbers);
  AnyTensor matrix(Dtype::float64, {rows, columns});
  std::copy(numbers.begin(), numbers.end(), matrix.elements<double>());
  return matrix;
}

void add_matrix(StoredTrace& trace, std::string name, const File& file) {
  if (!is_valid_name(name)) refuse(file.path(), fmt::format("it is called {}", in_message(name)), valid_name);
  trace.add({.id = std::move(name)}, matrix_in(file));
}

bool is_csv(const fs::path& path) {
  return path.extension() == ".csv";
}

/// The files of rows in a folder and in those inside it, by name.
std::vector<fs::path> csv_files_in(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (is_csv(entry->path()) && entry->is_regular_file(error)) files.push_back(entry->path());
  if (error) refuse(folder, error.message(), "a folder that can be read");
  std::sort(files.begin(), files.end());
  return files;
}

std::string cell_of(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (value.is_number()) return value.dump();
  const auto text = value.is_array()
                        ? fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), " "))
                        : value.get<std::string>();
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

AnyTensor read_csv(const std::string& path) {
  return matrix_in(File(path, rows_of_numbers));
}

std::unique_ptr<StoredTrace> open_csv(const File& file) {
  auto trace = std::make_unique<StoredTrace>();
  add_matrix(*trace, fs::path(file.path()).stem().string(), file);
  return trace;
}

bool has_csv_files(const std::string& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && !csv_files_in(folder).empty();
}

std::unique_ptr<StoredTrace> open_csv_folder(const std::string& folder) {
  auto trace = std::make_unique<StoredTrace>();
  for (const auto& path : csv_files_in(folder))
    add_matrix(*trace, fs::relative(path, folder).replace_extension().string(),
               File(path.string(), rows_of_numbers));
  return trace;
}

std::string csv_of(const nlohmann::ordered_json& objects) {
  std::string text;
  for (const auto& object : objects) {
    std::vector<std::string> names, cells;
    for (const auto& [name, value] : object.items()) {
      names.push_back(name);
      cells.push_back(cell_of(value));
    }
    if (text.empty()) text = fmt::format("{}\n", fmt::join(names, ","));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace attn
