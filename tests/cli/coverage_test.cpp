#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"

namespace fs = std::filesystem;

namespace {

using Strings = std::vector<std::string>;

const fs::path root = ATTNLAB_ROOT;

/// A row of a table in data/tutorial/README.md: what stands in each of its columns.
struct Row {
  std::string line;
  std::map<std::string, std::string> cells;
};

/// "| a | b |" → {"a", "b"}.
Strings cells_of(const std::string& line) {
  static const std::regex cell("\\| *([^|]*[^| ])? *(?=\\|)");
  Strings cells;
  for (std::sregex_iterator match(line.begin(), line.end(), cell), end; match != end; ++match)
    cells.push_back((*match)[1]);
  return cells;
}

bool is_rule(const std::string& line) {
  return line.rfind("|--", 0) == 0;
}

std::vector<Row> rows_of(const std::string& document) {
  std::vector<Row> rows;
  Strings columns;
  for (const auto& line : lines_of(document)) {
    const bool is_table = line.rfind('|', 0) == 0;
    if (!is_table) columns.clear();
    if (!is_table || is_rule(line)) continue;
    const auto cells = cells_of(line);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    INFO(line);
    REQUIRE(cells.size() == columns.size());
    Row row{line, {}};
    for (std::size_t i = 0; i < cells.size(); ++i) row.cells[columns[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

std::vector<Row> rows() {
  auto rows = rows_of(read_file(root / "data/tutorial/README.md"));
  REQUIRE(rows.size() > 100);
  return rows;
}

/// What stands `between backticks` in the row's column, if it has that column.
Strings code_in(const Row& row, const std::string& column) {
  const auto cell = row.cells.find(column);
  if (cell == row.cells.end()) return {};
  static const std::regex code("`([^`]+)`");
  Strings pieces;
  for (std::sregex_iterator match(cell->second.begin(), cell->second.end(), code), end; match != end; ++match)
    pieces.push_back((*match)[1]);
  return pieces;
}

/// "multihead --residual: residual": the command and an id in its trace.
struct Reference {
  std::string command, id;

  std::string lesson() const { return command.substr(0, command.find(' ')); }
};

std::vector<Reference> references_of(const Row& row) {
  static const std::regex pattern("([a-z0-9-]+(?: --[^:]+)?): ([A-Za-z0-9_./=-]+)");
  std::vector<Reference> references;
  for (const auto& code : code_in(row, "shown by")) {
    INFO(row.line << "\n`" << code << "` is not `LESSON OPTIONS: ID`");
    std::smatch match;
    REQUIRE(std::regex_match(code, match, pattern));
    references.push_back({match[1], match[2]});
  }
  return references;
}

/// The ids in the trace of this command; none, and a failed check, where it does not run.
std::set<std::string> ids_of(const std::string& command) {
  const auto result = run(command + " --format json");
  INFO("attnlab " << command << '\n' << result.err);
  CHECK(result.status == 0);
  std::set<std::string> ids;
  if (result.status != 0) return ids;
  const auto trace = nlohmann::json::parse(result.out);
  for (const auto& event : trace["events"]) ids.insert(event["id"]);
  return ids;
}

/// The lines of the headers of the library and of the lessons, without comments, by path.
std::map<std::string, Strings> headers() {
  std::map<std::string, Strings> headers;
  for (const auto* folder : {"src", "lessons"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".hpp") continue;
      auto& code = headers[entry.path()];
      for (const auto& line : lines_of(read_file(entry.path())))
        code.push_back(line.substr(0, line.find("//")));
    }
  return headers;
}

bool any_line(const Strings& lines, const std::string& pattern) {
  const std::regex regex(pattern);
  for (const auto& line : lines)
    if (std::regex_search(line, regex)) return true;
  return false;
}

bool declares_type(const Strings& header, const std::string& name) {
  return any_line(header, "^ *(enum class|class|struct) " + name + "\\b");
}

bool declares_function(const Strings& header, const std::string& name) {
  return any_line(header, "^(?! *return\\b).*[A-Za-z0-9_>&*] " + name + "\\(|^" + name + "\\(");
}

bool opens_scope(const Strings& header, const std::string& name) {
  return declares_type(header, name) || any_line(header, "^namespace (.*::)?" + name + "\\b");
}

/// Whether the header declares "attn::softmax", "attn::Tensor", "attn::Random::normal" and the like.
bool declares(const Strings& header, const std::string& qualified_name) {
  auto name = qualified_name;
  for (auto colons = name.find("::"); colons != name.npos; colons = name.find("::")) {
    if (!opens_scope(header, name.substr(0, colons))) return false;
    name.erase(0, colons + 2);
  }
  return declares_function(header, name) || declares_type(header, name);
}

}  // namespace

TEST_CASE("every row of the lessons' coverage names a step that shows it and a function behind it") {
  for (const auto& row : rows()) {
    INFO(row.line);
    CHECK_FALSE(references_of(row).empty());
    if (row.cells.count("library") > 0) CHECK_FALSE(code_in(row, "library").empty());
  }
}

TEST_CASE("every step that the lessons' coverage names is in the trace of its lesson", "[thorough]") {
  std::map<std::string, std::set<std::string>> ids;
  for (const auto& row : rows())
    for (const auto& [command, id] : references_of(row)) {
      if (ids.count(command) == 0) ids[command] = ids_of(command);
      INFO(row.line << "\nattnlab " << command << ": " << id);
      CHECK(ids[command].count(id) == 1);
    }
}

TEST_CASE("every function that the lessons' coverage names is declared", "[thorough]") {
  const auto declared = headers();
  for (const auto& row : rows())
    for (const auto& name : code_in(row, "library")) {
      INFO(row.line << '\n' << name);
      CHECK(std::any_of(declared.begin(), declared.end(),
                        [&](const auto& header) { return declares(header.second, name); }));
    }
}

TEST_CASE("the lessons' coverage leaves no lesson out") {
  std::set<std::string> covered;
  for (const auto& row : rows())
    for (const auto& reference : references_of(row)) covered.insert(reference.lesson());
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    CHECK(covered.count(lesson) == 1);
  }
}

TEST_CASE("what is not there is found missing") {
  const auto declared = headers();
  const auto is_declared = [&](const std::string& name) {
    return std::any_of(declared.begin(), declared.end(),
                       [&](const auto& header) { return declares(header.second, name); });
  };
  CHECK(is_declared("attn::softmax"));
  CHECK(is_declared("attn::Random::normal"));
  CHECK_FALSE(is_declared("attn::softmin"));
  CHECK_FALSE(is_declared("attn::max_of"));
  CHECK_FALSE(is_declared("attn::Random::softmax"));
  CHECK(ids_of("sdpa").count("weights") == 1);
  CHECK(ids_of("sdpa").count("masked") == 0);
  CHECK(ids_of("sdpa --causal").count("masked") == 1);
  const auto rows = rows_of("| a | shown by |\n|---|---|\n| x | `sdpa --causal: masked`, `sdpa: Q` |\n");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].cells.at("a") == "x");
  const auto references = references_of(rows[0]);
  REQUIRE(references.size() == 2);
  CHECK(references[0].command == "sdpa --causal");
  CHECK(references[0].id == "masked");
  CHECK(references[1].lesson() == "sdpa");
}
