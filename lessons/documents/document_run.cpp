#include "lessons/documents/document_run.hpp"

#include <cctype>

#include "document/prose.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/documents/meanings.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

using Kind = document::Block::Kind;

constexpr std::string_view command = "attnlab ", action = "do ";

std::string slug(const std::string& title) {
  std::string id;
  for (const char c : title)
    if (std::isalnum(static_cast<unsigned char>(c)))
      id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!id.empty() && id.back() != '-')
      id += '-';
  if (!id.empty() && id.back() == '-') id.pop_back();
  return id;
}

bool is_longer_with_all(const Section& section) {
  const auto paragraphs = section.of(Kind::paragraph);
  return std::any_of(paragraphs.begin(), paragraphs.end(),
                     [](const auto* paragraph) { return paragraph->marks.words.count("with --all") > 0; });
}

}  // namespace

DocumentRun::DocumentRun(Workbench& bench, const Functions& functions)
    : functions_(functions),
      meanings_(bench),
      outline_(meanings_),
      wording_(meanings_, functions, *this),
      steps_(meanings_, outline_, wording_, functions, *this) {}

void DocumentRun::read_front(const document::Document& document) {
  meanings_.read_axes(document);
  meanings_.read_front(document, {});
}

void DocumentRun::require_rules_of(const document::Document& document) {
  meanings_.read_axes(document);
  auto rules_to_come = rules_in(document).size();
  for (const auto& [key, value] : document.front_matter) {
    if (rules_to_come == 0) return;
    if (key != "require") {
      meanings_.read_front(key, value, {});
      continue;
    }
    const auto [condition, words] = rule_in(value);
    const auto formula = document::read_formula(condition);
    if (!at_place(condition, [&] { return meanings_.holds(formula, {}); }))
      throw attn::Error(wording_.text_of(document::read_prose(words), {}));
    --rules_to_come;
  }
}

void DocumentRun::tell(const document::Document& document) {
  read_front(document);
  for (const auto& name : document::cut_at_commas(document.front("code")))
    results_.push_back(meanings_.step_named(meanings_.with_values(name, {})));
  steps_.tell_definitions();
  const auto sections = outline_.sections_of(document.blocks(), {});
  constexpr auto code = "code";
  if (std::any_of(sections.begin(), sections.end(), [&](const Section& section) {
        return !section.is_left_out && section.heading != nullptr && section.heading->marks.id == code;
      }))
    results_ = {code};  // which no step is called: all that the formulas say stands in `rest/code`
  outline_.require_steps_of_remarks();
  if (!bench().is_mute()) settle_page(sections);
  std::size_t last_step = 0;
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (!sections[i].of(Kind::formula).empty()) last_step = i;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    tell(sections[i], std::span(sections).subspan(i + 1));
    if (i == last_step) {
      steps_.require_all_defined();
      if (!bench().is_mute()) tell_code(results_);
    }
    steps_.drop_unneeded(sections, i);
  }
}

void DocumentRun::tell_part(const std::string& file, const std::vector<std::string>& renamed) {
  document::Block use;
  use.call.arguments = renamed;
  const auto& part = document_named(file);
  const auto scope = outline_.scope_of(use, {});
  meanings_.read_front(part, scope);
  const auto sections = outline_.sections_of(part.blocks(), scope);
  for (std::size_t i = 0; i < sections.size(); ++i) tell(sections[i], std::span(sections).subspan(i + 1));
}

void DocumentRun::tell_code(const std::vector<std::string>& results) {
  auto left_out = steps_.hidden();
  left_out.insert(steps_.without_code().begin(), steps_.without_code().end());
  tell_code_of(bench(), sheet(), results, left_out);
}

void DocumentRun::settle_page(const std::vector<Section>& sections) {
  std::vector<attn::OnPage> page;
  std::vector<std::string> claims;
  for (const auto& section : sections) {
    if (section.is_left_out) continue;
    settle_section(section, page, claims);
    for (const auto* call : section.of(Kind::call)) {
      claims.insert(claims.end(), call->call.arguments.begin(), call->call.arguments.end());
      if (!outline_.has(section, call, "with --all"))
        page.push_back({.id = call->call.name, .in_one_line = outline_.has(section, call, "one line")});
    }
  }
  bench().trace.page(std::move(page), std::move(claims));
}

void DocumentRun::settle_section(const Section& section, std::vector<attn::OnPage>& page,
                                 std::vector<std::string>& claims) {
  const auto has = [&](const char* word) { return outline_.has(section, section.heading, word); };
  if (section.heading == nullptr || has("with --all") || has("hidden")) return;
  const auto formulas = section.of(Kind::formula);
  for (const auto* item : section.of(Kind::item))
    if (!outline_.has(section, item, "with --all") && !item->marks.id.empty())
      claims.push_back(section.scope.prefix + item->marks.id);
  const auto& id_of_note = section.heading->marks.id;
  if (formulas.empty() && !id_of_note.empty() && id_of_note != "idea" && id_of_note != "flow")
    page.push_back({section.scope.prefix + id_of_note});
  for (const auto* formula : formulas) {
    const auto id = section.scope.id_of(*formula);
    attn::OnPage on_page = {.id = id,
                            .in_one_line = has("one line"),
                            .is_plotted = !has("no plot"),
                            .has_table = !has("no table")};
    if (const auto* remark = outline_.remark_on(id))
      on_page.notice = [this, &prose = remark->block->prose,
                        &scope = remark->scope.depth > 0 ? remark->scope : section.scope](
                           const attn::Event&) { return wording_.text_of(prose, scope); };
    else if (is_longer_with_all(section))
      on_page.notice = [this, &section](const attn::Event&) { return wording_.paragraphs(section, true); };
    page.push_back(std::move(on_page));
  }
}

void DocumentRun::tell(const Section& section, std::span<const Section> to_come) {
  const bool is_late = section.depends_on_steps;
  if (is_late && !at_place(section.heading->place,
                           [&] { return meanings_.holds(section.heading->marks.condition, section.scope); }))
    return;
  steps_.tell(section, to_come);
  if (section.is_left_out) return;
  const auto items = section.of(Kind::item);
  const bool is_note = section.of(Kind::formula).empty() && section.heading != nullptr && items.empty();
  if (is_note && !outline_.has(section, section.heading, "hidden")) tell_note(section);
  if (!items.empty() && items.front()->code.text().starts_with(command)) return tell_next(section);
  for (const auto* item : items)
    at_place(item->place, [&] {
      if (meanings_.holds(item->marks.condition, section.scope)) tell_claim(*item, section.scope);
    });
  for (const auto* call : section.of(Kind::call))
    at_place(call->place, [&] { named(functions_.actions, call->call.name, call->place)(*this); });
  for (const auto* label : section.of(Kind::label))
    at_place(label->place, [&] { tell_label(*label, section.scope); });
  for (const auto* flow : section.of(Kind::flow))
    at_place(flow->place, [&] { steps_.tell_flow(*flow, to_come, results_); });
}

void DocumentRun::tell_label(const document::Block& block, const Scope& scope) {
  const auto axis = meanings_.name_in(block.call.arguments.front(), scope);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < sheet().size_of(axis); ++i)
    meanings_.at(axis, i, [&] { labels.push_back(wording_.text_of(block.prose, scope)); });
  bench().trace.label(axis, {{labels}});
}

void DocumentRun::require_new_name(const std::string& name, const document::Place& place) {
  if (name.empty()) throw document::Error(place, "a claim without a name; valid: {#rows-sum-to-1} behind it");
  if (!told_.insert(name).second)
    throw document::Error(place, fmt::format("{{#{}}} is the name of another claim or part", name));
  if (outline_.shows_step(name))
    throw document::Error(
        place, fmt::format("{{#{0}}} is the name of a step; valid: another one, {{#of-{0}}}", name));
}

void DocumentRun::tell_note(const Section& section) {
  if (bench().is_mute()) return;
  const auto title = wording_.text_of(section.heading->prose, section.scope);
  std::string drawn;
  for (const auto* fence : section.of(Kind::fence))
    drawn += (drawn.empty() ? "" : "\n\n") + wording_.drawn(*fence, section.scope);
  const auto& marks = section.heading->marks;
  const auto id = section.scope.prefix + (marks.id.empty() ? slug(title) : marks.id);
  require_new_name(id, section.heading->place);
  if (id == "idea") return bench().idea(wording_.paragraphs(section), drawn);
  if (outline_.has(section, section.heading, "picture"))
    bench().trace.picture(id, title, wording_.paragraphs(section), drawn);
  else
    bench().trace.note(id, title, wording_.paragraphs(section), drawn);
}

void DocumentRun::tell_claim(const document::Block& item, const Scope& scope) {
  require_new_name(item.marks.id.empty() ? "" : scope.prefix + item.marks.id, item.place);
  if (bench().is_mute()) return;
  const auto words = wording_.text_of(item.prose, scope);
  if (!item.code.text().starts_with(action)) return tell_claim_of(meanings_, item, scope, words);
  const auto id = scope.prefix + item.marks.id;
  if (bench().options.define.empty()) {
    const auto name = item.code.text().substr(action.size());
    const auto blank = std::min(name.find(' '), name.size());
    const auto of = std::string(document::without_blanks(name.substr(blank)));
    return named(functions_.claims, name.substr(0, blank), item.place)(*this, {id, words, of});
  }
  bench().trace.note(
      id, "Not compared: " + words,
      "The other code computes the lesson's formulas, and --define put another one in their place.");
}

void DocumentRun::tell_next(const Section& section) {
  std::vector<Proposal> proposals, spare;
  for (const auto* item : section.of(Kind::item)) {
    if (!item->code.text().starts_with(command))
      throw document::Error(item->place,
                            fmt::format("\"{}\" is no command; valid: attnlab …", item->code.text()));
    if (!meanings_.holds(item->marks.condition, section.scope)) continue;
    auto& list = item->marks.words.count("spare") > 0 ? spare : proposals;
    const auto code = wording_.text_of(document::read_prose(item->code.part(command.size())), section.scope);
    list.push_back({bench().plan.lesson->command(code), wording_.text_of(item->prose, section.scope)});
  }
  bench().try_next(proposals, spare);
}

}  // namespace lessons
