#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <list>
#include <map>
#include <string>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/layers.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/file.hpp"

namespace lessons {

namespace {

/// Those with C++ of their own, but for backward, which has several documents.
const std::vector<Lesson>& lessons_with_code() {
  static const LessonCode about_code = {.give = give_about, .sharpen = sharpen_token};
  static const std::vector<Lesson> lessons = {
      lesson_of("lookup", lookup_code),
      lesson_of("scoring", scoring_code),
      lesson_of("scaling", scaling_code),
      lesson_of("sdpa", sdpa_code),
      lesson_of("self-attention", about_code),
      lesson_of("cross-attention", cross_attention_code),
      lesson_of("masking", about_code),
      lesson_of("multihead", multihead_code),
      lesson_of("positional", positional_code),
      lesson_of("seq2seq", seq2seq_code),
      lesson_of("transformer-block", transformer_block_code),
      lesson_of("classifier", classifier_code),
      lesson_of("generate", generate_code),
      lesson_of("efficient", efficient_code),
      lesson_of("ring", ring_code),
      lesson_of("stability", stability_code),
      lesson_of("patterns", patterns_code),
      lesson_of("training", training_code),
      lesson_of("complexity", complexity_code),
  };
  return lessons;
}

auto find_in(const std::vector<const Lesson*>& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(), [&](const auto* one) { return one->name == name; });
}

/// Puts the lesson behind the one that its front matter names, else at the end.
void add_to(std::vector<const Lesson*>& table, const Lesson& lesson, std::string_view after) {
  const auto place = find_in(table, after);
  table.insert(place == table.end() ? place : place + 1, &lesson);
}

/// Adds the lessons of the data's folders that are documents and nothing else. One that cannot be read is
/// left out: who asks for it is told why.
void add_documents(std::vector<const Lesson*>& table) {
  static std::list<Lesson> lessons;
  static std::list<std::string> names;
  for (const auto& folder : attn::data_folders("lessons"))
    for (const auto& file : documents_in(folder)) {
      const auto name = file.stem().string();
      if (find_in(table, name) != table.end()) continue;
      try {
        const auto& document = document_named(file.filename().string());
        document.blocks();  // throws for what else cannot be read
        lessons.push_back(lesson_of(document, names.emplace_back(name), table));
        add_to(table, lessons.back(), document.front("after"));
      } catch (const attn::Error&) {
      }
    }
}

}  // namespace

const std::vector<const Lesson*>& all_lessons() {
  static const auto table = [] {
    std::vector<const Lesson*> lessons;
    for (const auto& lesson : lessons_with_code()) lessons.push_back(&lesson);
    add_to(lessons, backward_lesson(), "training");
    add_documents(lessons);
    return lessons;
  }();
  return table;
}

const Lesson* lesson_named(std::string_view name) {
  static std::map<std::string, Lesson, std::less<>> of_files;
  if (const auto found = find_in(all_lessons(), name); found != all_lessons().end()) return *found;
  if (const auto found = of_files.find(name); found != of_files.end()) return &found->second;
  const std::string path(name);
  if (name.ends_with(".md")) {
    const auto& document = document_at(path);
    return &of_files.emplace(path, lesson_of(document, document.file, all_lessons())).first->second;
  }
  if (is_document(path)) {  // it says why it is none of the lessons
    const auto& document = document_named(path + ".md");
    document.blocks();
    lesson_of(document, path, all_lessons());
  }
  return nullptr;
}

bool Lesson::uses(std::string_view option_key) const {
  return std::find(options.begin(), options.end(), option_key) != options.end();
}

std::string Lesson::command(const std::string& arguments) const {
  const auto file = std::string(name.substr(name.rfind('/') + 1)) + (name.ends_with(".md") ? "" : ".md");
  const std::string run = "run ";
  auto own = arguments.starts_with(run) ? arguments.substr(run.size()) : arguments;
  const auto at = (" " + own + " ").find(" " + file + " ");
  return at == own.npos ? arguments : own.replace(at, file.size(), name);
}

const Lesson& part_of(const Lesson& lesson, std::string_view through) {
  if (lesson.parts.empty()) return lesson;
  std::vector<std::string_view> valid;
  for (const auto* part : lesson.parts) {
    if (part->through == through) return *part;
    valid.push_back(part->through);
  }
  throw attn::Error(fmt::format("--through {} is unknown; valid: {}", through, fmt::join(valid, ", ")));
}

namespace {

/// Products of several such numbers, as a lesson multiplies them, are finite.
constexpr double largest_input = 1e30;

template <class Is>
std::vector<std::string> inputs_that(const Lesson& lesson, const Options& options, const Is& is) {
  std::vector<std::string> ids;
  for (const auto& input : lesson.inputs(options))
    if (is(input)) ids.push_back(input.id);
  return ids;
}

attn::TraceOptions trace_options(const Lesson& lesson, const Plan& plan, const attn::Watch& watch) {
  const auto of_any_size =
      inputs_that(lesson, plan.options, [](const auto& input) { return !input.is_multiplied; });
  return {.batched = plan.is_batched(),
          .dtype = plan.dtype(),
          .given = &plan.given,
          .largest_given = largest_input,
          .given_of_any_size = {of_any_size.begin(), of_any_size.end()},
          .watch = watch};
}

void run_on(const Lesson& lesson, const Plan& plan, attn::Trace& trace) {
  attn::set_memory_budget(static_cast<std::size_t>(attn::free_memory()));
  try {
    Workbench bench(plan, trace);
    lesson.run(bench);
  } catch (const attn::OutOfBudget& refused) {
    throw attn::Error(
        fmt::format("the step after {} needs {}, this machine has {} left; valid: smaller dimensions, "
                    "shorter sentences or fewer samples",
                    trace.last_id(), attn::in_bytes(static_cast<double>(refused.bytes)),
                    attn::in_bytes(attn::free_memory())));
  }
}

}  // namespace

bool run(const Lesson& lesson, const Plan& plan, attn::Sink& sink, const attn::Watch& watch) {
  attn::Trace trace(sink, trace_options(lesson, plan, watch));
  run_on(lesson, plan, trace);
  if (!plan.remarks.empty())
    trace.note("names", "Names in --input",
               fmt::format("{}", fmt::join(attn::in_few_lines(plan.remarks), " ")));
  trace.require_all_given_used(
      inputs_that(lesson, plan.options, [](const auto& input) { return input.draw == Draw::given; }));
  trace.tell_overflow();
  return trace.all_claims_hold();
}

void run_watched(const Lesson& lesson, const Plan& plan, const attn::Watch& watch) {
  attn::Trace trace(trace_options(lesson, plan, watch));
  run_on(lesson, plan, trace);
}

}  // namespace lessons
