#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "lessons/lesson.hpp"
#include "page/html/markup.hpp"
#include "page/svg/drawing.hpp"
#include "trace/file.hpp"

namespace lab {

namespace {

using attn::html::escaped;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// The whole curriculum as one page of HTML that runs the lab in the browser.
struct MakeBook {
  std::string output{};
  std::optional<std::string> program{};  ///< the folder that lab/browser/build has made
};

/// The program for browsers, as lab/browser/build leaves it.
struct BrowserProgram {
  std::string script;         ///< attnlab.js
  std::string script_sha256;  ///< in hexadecimal digits
  std::string code;           ///< attnlab.wasm, compressed by gzip
};

std::string read_whole(const fs::path& path) {
  return attn::File(path.string(), "--program with the folder that lab/browser/build has made").bytes();
}

BrowserProgram read_program(const fs::path& folder) {
  return {.script = read_whole(folder / "attnlab.js"),
          .script_sha256 = read_whole(folder / "attnlab.js.sha256").substr(0, 64),
          .code = read_whole(folder / "attnlab.wasm.gz")};
}

/// That of --program, or the one beside the lab's data; none where it is not built.
std::optional<BrowserProgram> find_program(const MakeBook& make) {
  if (make.program) return read_program(*make.program);
  try {
    return read_program(attn::data_folder("browser"));
  } catch (const attn::Error&) {
    return std::nullopt;
  }
}

std::string content_policy(const std::optional<BrowserProgram>& program) {
  using attn::html::base64_of_hex;
  auto scripts = fmt::format("'sha256-{}'", base64_of_hex(asset("book.script.sha256")));
  if (program)
    scripts += fmt::format(" 'sha256-{}' 'wasm-unsafe-eval'", base64_of_hex(program->script_sha256));
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
      scripts, base64_of_hex(asset("book.style.sha256")));
}

template <class Field>
const char* kind_of(const lessons::OptionInfo& info, const Field&) {
  if constexpr (std::is_same_v<Field, bool>) return "switch";
  if constexpr (std::is_same_v<Field, std::uint32_t>) return "seed";
  if constexpr (std::is_same_v<Field, double> || std::is_same_v<Field, std::optional<double>>)
    return "number";
  if constexpr (std::is_same_v<Field, std::optional<std::size_t>>) return "count";
  if constexpr (std::is_same_v<Field, std::vector<std::string>>) return "sentences";
  if constexpr (std::is_same_v<Field, std::vector<std::size_t>>) return "list";
  return choices_of(info.value).empty() ? "text" : "choice";
}

template <class Field>
ordered_json value_of(const Field& field) {
  if constexpr (std::is_same_v<Field, std::vector<std::string>> || std::is_same_v<Field, bool>)
    return field;
  else
    return text_of(field);
}

/// The options of a lesson that a reader changes in the book, as JSON: for each its flag, what it means, its
/// kind ("sentences", "text", "switch", "choice", "count", "number", "list"), its value by default and, where
/// it has them, its choices or its smallest value.
std::string controls_of(const lessons::Lesson& lesson) {
  const auto plan = lessons::make_plan(lesson, lesson.defaults);
  auto controls = ordered_json::array();
  lessons::visit_options(plan.options, [&](const lessons::OptionInfo& info, const auto& field) {
    if (!lesson.uses(info.key) || info.value == "FILE") return;
    ordered_json control = {
        {"flag", info.flag}, {"help", info.help}, {"kind", kind_of(info, field)}, {"value", value_of(field)}};
    if (control["kind"] == "choice") control["choices"] = choices_of(info.value);
    if (control["kind"] == "count") control["smallest"] = lessons::smallest_count(info);
    controls.push_back(std::move(control));
  });
  return controls.dump();
}

/// The exercises of each lesson as items of a list, of a text in which "[sdpa]" begins a lesson, "?" a
/// question, "!" its answer and "$" the command that shows it.
std::map<std::string, std::string> exercises_by_lesson() {
  std::map<std::string, std::string> items;
  std::string lesson;
  for (const auto& entry : entries_of(asset("exercises.txt"), "[?!$")) {
    const auto words = escaped(attn::trimmed(std::string_view(entry).substr(1)));
    if (entry[0] == '[')
      lesson = words.substr(0, words.find(']'));
    else if (entry[0] == '?')
      items[lesson] += fmt::format("<li><p>{}</p>\n<details><summary>The answer</summary>\n", words);
    else if (entry[0] == '!')
      items[lesson] += fmt::format("<p>{}</p>\n", words);
    else
      items[lesson] +=
          fmt::format("<ul class=\"commands\"><li><code>{}</code></li></ul>\n</details></li>\n", words);
  }
  return items;
}

std::string contents() {
  std::string items;
  for (const auto* lesson : lessons::all_lessons())
    items += fmt::format("<li><a href=\"#/{0}\">{0}</a> <span>{1}</span></li>\n", escaped(lesson->name),
                         escaped(lesson->title));
  return attn::html::filled("contents", items);
}

/// Of a text with a paragraph for each term: "query: what it means -> sdpa, lookup".
std::string glossary() {
  std::string items;
  for (const auto& paragraph : entries_of(asset("glossary.txt"))) {
    const auto colon = paragraph.find(": "), arrow = std::min(paragraph.rfind("-> "), paragraph.size());
    std::string links;
    for (const auto& lesson :
         split(std::string_view(paragraph).substr(std::min(arrow + 3, paragraph.size())), ','))
      links += fmt::format(" <a href=\"#/{0}\">{0}</a>", escaped(lesson));
    items += fmt::format("<dt>{}</dt>\n<dd>{}{}</dd>\n", escaped(paragraph.substr(0, colon)),
                         escaped(attn::trimmed(paragraph.substr(colon + 2, arrow - colon - 2), " ")), links);
  }
  return attn::html::filled("glossary", items);
}

std::string in_template(std::string_view name, const std::string& markup) {
  return fmt::format("<template id=\"page-{}\">\n{}</template>\n", escaped(name), markup);
}

std::string all_controls() {
  std::vector<std::string> members;
  for (const auto* lesson : lessons::all_lessons())
    members.push_back(fmt::format("\"{}\":{}", lesson->name, controls_of(*lesson)));
  return attn::html::in_script(fmt::format("{{{}}}", fmt::join(members, ",")), "");
}

std::string book_with(const std::optional<BrowserProgram>& program) {
  using attn::html::base64;
  auto exercises = exercises_by_lesson();
  const auto with_exercises = [&](const lessons::Lesson& lesson) {
    const auto& items = exercises[std::string(lesson.name)];
    return run_lesson_body({.lesson = &lesson, .options = lesson.defaults, .presentation = {}}) +
           (items.empty() ? "" : attn::html::filled("exercises", items));
  };
  const auto& all = lessons::all_lessons();
  std::string templates;
  for (const auto* lesson : all) templates += in_template(lesson->name, with_exercises(*lesson));
  templates += in_template("glossary", glossary());
  std::string code;
  if (program) {
    templates = fmt::format("<script type=\"text/plain\" id=\"pages\">{}</script>\n",
                            base64(attn::svg::packed(templates, 9)));
    code = fmt::format("<script type=\"text/plain\" id=\"program\">{}</script>\n<script>{}</script>\n",
                       base64(program->code), program->script);
  }
  const auto body = attn::html::filled("book", contents(), program ? "" : attn::html::filled("book to read"),
                                       with_exercises(*all.front()), all_controls(), asset("book.script")) +
                    templates + code;
  return attn::html::document(content_policy(program), "Attention Lab", asset("book.style"),
                              fmt::format(" class=\"book\" data-lesson=\"{}\"", escaped(all.front()->name)),
                              body);
}

/// With the program as WebAssembly where there is one; where there is none it says so on stderr. Throws
/// attn::Error where that cannot be done, and where the folder of `program` does not hold it.
int run_book(const MakeBook& make) {
  require_writable(make.output);
  const auto program = find_program(make);
  write_to_file(make.output, book_with(program));
  if (!program)
    fmt::print(stderr, "attnlab: {} is a page to read; lab/browser/build makes the live one\n", make.output);
  return 0;
}

}  // namespace

Command parse_book(int argc, char** argv) {
  MakeBook make;
  CLI::App app(about_command("book"), "attnlab book");
  prepare(app, examples_of("book"));
  const OptionGroup group(app, "Options", "book");
  group.add("output", make.output);
  group.add("program", make.program);
  if (const auto help = read_all_arguments(app, "book", argc, argv)) return *help;
  if (make.output.empty()) throw attn::Error("book has no --output; valid: attnlab book --output FILE.html");
  if (std::filesystem::path(make.output).extension() != ".html")
    throw attn::Error("--output " + make.output + " is no page of HTML; valid: a name that ends in .html");
  return [make] { return run_book(make); };
}

}  // namespace lab
