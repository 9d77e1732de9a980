#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/trim.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "lessons/documents/documents.hpp"
#include "page/text/plain.hpp"
#include "trace/entry.hpp"
#include "trace/wording.hpp"

namespace lab {

namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view program = "attnlab ";
constexpr std::size_t most_lines = 100;  // of a page that is understood in one sitting

/// Reads a command as the program does.
Command command_of(const std::string& text) {
  return parse(attn::shell_words(text));
}

using IsWanted = std::function<bool(const document::Block&)>;

/// The first block for which that holds, whatever the document's conditions; null where there is none.
const document::Block* find_block(const std::vector<document::Block>& blocks, const IsWanted& is_wanted) {
  for (const auto& block : blocks) {
    if (is_wanted(block)) return &block;
    if (!block.choice) continue;
    for (const auto& branch : block.choice->branches)
      if (const auto* found = find_block(branch.content, is_wanted)) return found;
  }
  return nullptr;
}

/// What a run shows of itself: how many steps and claims, the claims that do not hold, and the first step
/// that has nan.
class Findings : public attn::Sink {
 public:
  std::size_t claims = 0, steps = 0;
  std::vector<attn::Event> broken;
  std::optional<std::pair<std::string, std::string>> undefined;  ///< a step, and an entry of it

  void receive(const attn::Event& event) override {
    if (event.kind == attn::Kind::step) ++steps;
    if (event.tensor && !undefined) find_nan(event);
    if (!event.measurement) return;
    ++claims;
    if (!event.measurement->holds()) broken.push_back(event);
  }

 private:
  void find_nan(const attn::Event& event) {
    for (std::size_t i = 0; i < attn::element_count(event.tensor->shape); ++i)
      if (std::isnan(event.tensor->at(i))) {
        const auto at = attn::index_at(i, event.tensor->shape);
        undefined.emplace(event.id, fmt::format("{}[{}]", event.id, fmt::join(at, ", ")));
        return;
      }
  }
};

/// The document of a lesson of the lab, or of a file.
const document::Document& document_of(const std::string& lesson) {
  return lessons::is_document(lesson) ? lessons::document_named(lesson + ".md")
                                      : lessons::document_at(lesson);
}

/// The name of the lesson of the lab that is asked for by its name or its file; else the file.
std::string lesson_in(const std::string& file) {
  const std::filesystem::path path(file);
  const auto name = path.stem().string();
  std::error_code none;
  const bool is_file = std::filesystem::exists(path, none);
  if (!lessons::is_document(name) || (!is_file && path.has_parent_path())) return file;
  return !is_file || std::filesystem::equivalent(path, document_of(name).file, none) ? name : file;
}

/// What is wrong with a document.
class Review {
 public:
  explicit Review(const std::string& file) : file_(lesson_in(file)), document_(document_of(file_)) {
    faults = lessons::unknown_names_in(document_);
    const auto& lesson = *lessons::lesson_named(file_);
    try_run("", "on its defaults");
    for (const auto* key : {"probe", "worksheet"})
      if (const auto options = document_.front(key); !options.empty())
        try_run(std::string(options) + (lesson.trained ? " --model none" : ""),
                fmt::format("with the options of its {}", key));
    for (const auto& [key, value] : document_.front_matter)
      if (key == "example") try_example(lesson, value);
    find_block(document_.blocks(), [&](const document::Block& block) {
      if (block.code.text().starts_with(program)) try_command(lesson, block.code, program);
      return false;
    });
    if (faults.empty()) measure_page();
    std::stable_sort(faults.begin(), faults.end(),
                     [](const std::string& a, const std::string& b) { return line_of(a) < line_of(b); });
  }

  Texts faults;

  std::string summary() const {
    return fmt::format("{}: {} steps, {} claims that hold, a page of {} lines\n", file_, steps_, claims_,
                       lines_);
  }

 private:
  /// The line that a fault names, or 0.
  static std::size_t line_of(const std::string& fault) {
    const std::string line = ", line ";
    const auto at = fault.find(line);
    return at == fault.npos ? 0 : std::strtoul(fault.c_str() + at + line.size(), nullptr, 10);
  }

  /// Of a formula, or of the item that states a claim.
  document::Place place_of(const IsWanted& is_wanted) const {
    const auto* block = find_block(document_.blocks(), is_wanted);
    if (block == nullptr) return document::Place{file_};
    return block->kind == document::Block::Kind::item ? block->place : block->code.place_of(0);
  }

  /// One fault of a place is enough: runs meet it again.
  void add(const std::string& fault) {
    const std::string column = ", column ";
    const auto at = fault.find(column);
    const auto place = fault.substr(0, at == fault.npos ? at : fault.find(':', at));
    if (!attn::any_of(faults, [&](const std::string& known) { return known.starts_with(place); }))
      faults.push_back(fault);
  }

  void add_at(const document::Place& place, const std::string& fault) {
    add(document::Error(place, fault).what());
  }

  /// Runs the lesson with these options; what is wrong is told once, at the first run that shows it.
  void try_run(const std::string& options, const std::string& when) {
    try {
      auto command = command_of(fmt::format("{}'{}' {}", program, file_, options));
      const auto& run = std::get<RunLesson>(command);
      Findings findings;
      run_lesson_into(run, [&](const attn::Header&) -> attn::Sink& { return findings; });
      if (options.empty()) {
        steps_ = findings.steps;
        claims_ = findings.claims;
      }
      if (const auto& undefined = findings.undefined; undefined && document_.front("nan").empty())
        return add_at(place_of([&](const document::Block& one) {
                        return one.definition && one.definition->name == undefined->first;
                      }),
                      fmt::format("{} is nan {}; valid: a formula without 0/0 and ∞ − ∞, as in rows of "
                                  "padding, which are 0",
                                  undefined->second, when));
      for (const auto& broken : findings.broken)
        add_at(place_of([&](const document::Block& one) {
                 return one.kind == document::Block::Kind::item && one.marks.id == broken.id;
               }),
               fmt::format("the claim {{#{}}} does not hold {}: {}: {}", broken.id, when,
                           broken.measurement->claim, attn::measured(*broken.measurement, 4)));
    } catch (const document::Error& error) {
      add(error.what());
    } catch (const attn::Error& error) {
      add(fmt::format("{}: {}: {}", file_, when, error.what()));
    }
  }

  void try_example(const lessons::Lesson& lesson, const document::Source& example) {
    const auto command = lesson.command(example.text());
    if (!command.starts_with(lesson.name))
      return add_at(example.place_of(0), fmt::format("the example is of another lesson; valid: run {} …",
                                                     std::filesystem::path(file_).filename().string()));
    try_command(lesson, example, "");
    try_run(command.substr(lesson.name.size()), fmt::format("in its example {}", example.text()));
  }

  /// Reads a command, and runs it where it runs this lesson and has no values of a run in it.
  void try_command(const lessons::Lesson& lesson, const document::Source& text, std::string_view before) {
    try {
      auto command = command_of(std::string(program) + lesson.command(text.text().substr(before.size())));
      auto* const run = std::get_if<RunLesson>(&command);
      if (run == nullptr || run->lesson != &lesson || text.text().find('{') != std::string::npos) return;
      run->presentation.output.reset();
      run_lesson(*run);
    } catch (const document::Error& error) {
      add(error.what());
    } catch (const attn::Error& error) {
      add_at(text.place_of(0), error.what());
    }
  }

  void measure_page() {
    const auto command = command_of(fmt::format("{}'{}' --color never", program, file_));
    const auto page = run_lesson(std::get<RunLesson>(command));
    lines_ = static_cast<std::size_t>(std::count(page.text.begin(), page.text.end(), '\n'));
    const auto own = document_.front_source("lines");
    const auto most = own.text().empty() ? std::optional<double>(most_lines) : attn::number_in(own.text());
    if (!most) return add_at(own.place_of(0), "lines: valid: a number");
    if (static_cast<double>(lines_) > *most)
      add(fmt::format(
          "{}: the page has {} lines; valid: at most {} ({{with --all}} and {{one line}} shorten it, "
          "a line \"lines: {}\" in the front matter allows it)",
          file_, lines_, *most, lines_));
  }

  std::string file_;
  const document::Document& document_;
  std::size_t steps_ = 0, claims_ = 0, lines_ = 0;
};

constexpr std::string_view use_of_part = "{use parts/";

/// The parts that a document of the lab takes, and those that these take, by their file names.
void add_parts_of(const std::string& text, std::map<std::string, std::string>& parts) {
  for (auto at = text.find(use_of_part); at != text.npos; at = text.find(use_of_part, at + 1)) {
    const auto begin = at + use_of_part.size();
    const auto name = text.substr(begin, text.find_first_of(",}", begin) - begin);
    const auto [part, is_new] = parts.try_emplace(name);
    if (!is_new) continue;
    part->second = lessons::text_of_document("parts/" + name);
    add_parts_of(part->second, parts);
  }
}

/// The document of a lesson of the lab whose examples and proposals run a copy of it.
std::string copy_of(const std::string& lesson, const std::string& file) {
  std::vector<std::string> valid;
  for (const auto* one : lessons::all_lessons())
    if (one->document != nullptr) valid.emplace_back(one->name);
  if (!attn::contains(valid, lesson))
    throw attn::Error(fmt::format("--from {} is no lesson that is one document; {}", lesson,
                                  attn::valid_instead_of(lesson, valid)));
  const auto run = "run " + std::filesystem::path(file).filename().string();
  auto text = lessons::text_of_document(lesson + ".md");
  for (const std::string before : {"\nexample: ", "`attnlab "})
    for (const std::string after : {" ", "\n", "`"})
      text = attn::replaced(std::move(text), before + lesson + after, before + run + after);
  return text;
}

using attn::Error;

/// "cosine.md" of cosine.
std::string file_of(const std::string& name) {
  return name.ends_with(".md") ? name : name + ".md";
}

/// Writes a document that runs, for its author to change: a copy of a lesson of the lab, or the smallest one.
/// Throws attn::Error where the file is there already.
int write_new_lesson(const std::string& file, const std::string& from) {
  if (std::filesystem::exists(file))
    throw attn::Error(fmt::format("lesson new: {} is there already; valid: another name", file));
  const auto name = std::filesystem::path(file).stem().string();
  if (lessons::lesson_named(name) != nullptr)
    throw attn::Error(fmt::format("lesson new: {} is a lesson of the lab; valid: another name", name));
  const auto text = from.empty()
                        ? attn::replaced(lessons::text_of_document("parts/new_lesson.md"), "NEW_LESSON", name)
                        : copy_of(from, file);
  std::map<std::string, std::string> parts;
  if (!from.empty()) add_parts_of(text, parts);
  const auto folder = std::filesystem::path(file).replace_extension();
  if (!parts.empty()) {
    if (std::filesystem::exists(folder))
      throw attn::Error(
          fmt::format("lesson new: {} is there already, where the parts of {} should stand; "
                      "valid: another name",
                      folder.string(), from));
    std::filesystem::create_directories(folder);
  }
  for (const auto& [part, its_text] : parts)
    write_to_file((folder / part).string(), attn::replaced(its_text, use_of_part, "{use "));
  write_to_file(file, attn::replaced(text, use_of_part, "{use " + name + "/"));
  write_to_stdout(fmt::format(
      "{0} is written{1}. Change it, and try it:\n  attnlab run {0}\n  attnlab lesson check {0}\n", file,
      parts.empty() ? "" : fmt::format(", its parts in {}/", folder.string())));
  return 0;
}

/// Prints what is wrong with a document, with lines and columns: names that nothing has, whatever its
/// conditions leave out; what its runs refuse, claims that do not hold, and a page that is too long. Its runs
/// are those of its defaults, of its examples and of its probe.
int check_lesson(const std::string& file, Paging paging) {
  Texts faults;
  std::string summary;
  try {
    const Review review(file);
    faults = review.faults;
    summary = review.summary();
  } catch (const document::Error& error) {
    faults.push_back(error.what());
  }
  for (const auto& fault : faults) summary = (&fault == &faults.front() ? "" : summary) + fault + "\n";
  show(summary, paging);
  return faults.empty() ? 0 : 1;
}

}  // namespace

Command parse_own_lesson(int argc, char** argv) {
  CLI::App app(about_command("run"), "attnlab run FILE.md");
  prepare(app, examples_of("run"));
  if (argc > 1 && is_help(argv[1])) return *read_all_arguments(app, "run", argc, argv);
  if (argc < 2 || argv[1][0] == '-')
    throw Error("run: no document is given; valid: attnlab run FILE.md, and then options");
  if (const auto* lesson = lessons::lesson_named(argv[1])) return parse_lesson(*lesson, argc - 1, argv + 1);
  throw Error(fmt::format("run {}: that is neither a document nor a lesson; valid: FILE.md", argv[1]));
}

Command parse_author(int argc, char** argv) {
  std::string task, name, from;
  auto paging = Paging::automatic;
  CLI::App app(about_command("lesson"), "attnlab lesson");
  prepare(app, examples_of("lesson"));
  app.add_option("TASK", task, "new or check")->type_name("new|check");
  app.add_option("NAME", name, "of the new lesson, or the file to check")->type_name("NAME");
  app.add_option("--from", from, "the lesson of the lab that the new one is a copy of")->type_name("LESSON");
  add_paging_option(app, paging);
  if (const auto help = read_all_arguments(app, "lesson", argc, argv)) return *help;
  if (task != "new" && task != "check")
    throw Error(fmt::format("lesson{}; valid: attnlab lesson new NAME, attnlab lesson check FILE",
                            task.empty() ? ": no task is given" : fmt::format(" {} is unknown", task)));
  if (name.empty()) throw Error(fmt::format("lesson {0}: valid: attnlab lesson {0} NAME", task));
  if (task == "new") return [=] { return write_new_lesson(file_of(name), from); };
  if (!from.empty())
    throw Error("lesson check does not use --from; valid: attnlab lesson new NAME --from LESSON");
  return [=] { return check_lesson(file_of(name), paging); };
}

}  // namespace lab
