#include "lessons/documents/document_run.hpp"

#include <cctype>

#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"
#include "corpora/sentence_pair.hpp"
#include "document/prose.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/documents/meanings.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/layers.hpp"

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

void settle_section(Telling& run, const Section& section, std::vector<attn::OnPage>& page,
                    std::vector<std::string>& claims) {
  const auto has = [&](const char* word) { return run.outline.has(section, section.heading, word); };
  if (section.heading == nullptr || has("with --all") || has("hidden")) return;
  const auto formulas = section.of(Kind::formula);
  for (const auto* item : section.of(Kind::item))
    if (!run.outline.has(section, item, "with --all") && !item->marks.id.empty())
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
    if (const auto* remark = run.outline.remark_on(id))
      on_page.notice = [&run, &prose = remark->block->prose,
                        &scope = remark->scope.depth > 0 ? remark->scope : section.scope](
                           const attn::Event&) { return in_words(run, prose, scope); };
    else if (is_longer_with_all(section))
      on_page.notice = [&run, &section](const attn::Event&) { return paragraphs_of(run, section, true); };
    page.push_back(std::move(on_page));
  }
}

void settle_page(Telling& run, const std::vector<Section>& sections) {
  std::vector<attn::OnPage> page;
  std::vector<std::string> claims;
  for (const auto& section : sections) {
    if (section.is_left_out) continue;
    settle_section(run, section, page, claims);
    for (const auto* call : section.of(Kind::call)) {
      claims.insert(claims.end(), call->call.arguments.begin(), call->call.arguments.end());
      if (!run.outline.has(section, call, "with --all"))
        page.push_back({.id = call->call.name, .in_one_line = run.outline.has(section, call, "one line")});
    }
  }
  run.bench().trace.page(std::move(page), std::move(claims));
}

/// Throws document::Error where a claim or a part has no name, or that of another one.
void require_new_name(Telling& run, const std::string& name, const document::Place& place) {
  if (name.empty()) throw document::Error(place, "a claim without a name; valid: {#rows-sum-to-1} behind it");
  if (!run.told.insert(name).second)
    throw document::Error(place, fmt::format("{{#{}}} is the name of another claim or part", name));
  if (run.outline.shown.count(name) > 0)
    throw document::Error(
        place, fmt::format("{{#{0}}} is the name of a step; valid: another one, {{#of-{0}}}", name));
}

void tell_label(Telling& run, const document::Block& block, const Scope& scope) {
  if (run.bench().is_mute()) return;
  const auto axis = run.meanings.name_in(block.call.arguments.front(), scope);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < run.sheet().size_of(axis); ++i)
    run.meanings.at(axis, i, [&] { labels.push_back(in_words(run, block.prose, scope)); });
  run.bench().trace.label(axis, {{labels}});
}

/// The notes on words that the lesson's model lacks, or on why it is not used.
void tell_words_of_model(const Workbench& bench) {
  const auto& options = bench.options;
  const auto& plan = bench.plan;
  auto& trace = bench.trace;
  if (!options.missing_model.empty())
    trace.note("missing-model", "Drawn weights",
               fmt::format("The file of the model {} was not found, so what is not given is drawn. "
                           "Looked for: {}",
                           plan.lesson->trained->default_model(), options.missing_model));
  if (options.unknown_word)
    trace.note("unknown-word", "Drawn weights",
               fmt::format("The model {} does not know {}, so what is not given is drawn.",
                           plan.lesson->trained->default_model(), *options.unknown_word));
  if (!options.read_as.empty()) {
    std::vector<std::string> said;
    for (const auto& [word, other] : options.read_as)
      if (attn::lower_case(word) != other && !corpora::is_stand_in(word)) {
        const auto kind = corpora::is_stand_in(other) ? "" : taken_for({word});
        said.push_back(fmt::format("{} read as {}",
                                   kind.empty() ? fmt::format("\"{}\" is", word) : kind + " and",
                                   corpora::is_stand_in(other) ? other : "\"" + other + "\""));
      }
    const bool carries_over = plan.lesson->trained->reads == Reads::pairs;
    if (!said.empty())
      trace.note("lexicon", "Words that the model lacks",
                 fmt::format("{}: {}.",
                             carries_over ? "It reads their kind and carries them over"
                                          : "It reads the word that is most alike by the lexicon",
                             fmt::join(said, ", ")));
  }
  if (options.model && plan.lesson->trained->reads == Reads::english)
    for (const auto& tokens : plan.sentence.tokens)
      if (const auto said = taken_for(tokens); !said.empty())
        trace.note("lexicon", "Words that the lexicon lacks", said + ".");
}

void tell_note(Telling& run, const Section& section) {
  const auto& bench = run.bench();
  if (bench.is_mute()) return;
  const auto title = in_words(run, section.heading->prose, section.scope);
  std::string drawn;
  for (const auto* fence : section.of(Kind::fence))
    drawn += (drawn.empty() ? "" : "\n\n") + fence_in_words(run, *fence, section.scope);
  const auto& marks = section.heading->marks;
  const auto id = section.scope.prefix + (marks.id.empty() ? slug(title) : marks.id);
  require_new_name(run, id, section.heading->place);
  const auto text = paragraphs_of(run, section);
  if (id == "idea") {
    tell_words_of_model(bench);
    return bench.trace.note(id, "The idea", text, drawn);
  }
  if (run.outline.has(section, section.heading, "picture"))
    bench.trace.picture(id, title, text, drawn);
  else
    bench.trace.note(id, title, text, drawn);
}

void tell_claim(Telling& run, const document::Block& item, const Scope& scope) {
  require_new_name(run, item.marks.id.empty() ? "" : scope.prefix + item.marks.id, item.place);
  if (run.bench().is_mute()) return;
  const auto words = in_words(run, item.prose, scope);
  if (!item.code.text().starts_with(action)) return tell_claim_of(run.meanings, item, scope, words);
  const auto id = scope.prefix + item.marks.id;
  if (run.bench().options.define.empty()) {
    const auto name = item.code.text().substr(action.size());
    const auto blank = std::min(name.find(' '), name.size());
    const auto of = std::string(attn::trimmed(name.substr(blank)));
    return named(run.functions.claims, name.substr(0, blank), item.place)(run.document_run, {id, words, of});
  }
  run.bench().trace.note(
      id, "Not compared: " + words,
      "The other code computes the lesson's formulas, and --define put another one in their place.");
}

void tell_next(Telling& run, const Section& section) {
  const auto& bench = run.bench();
  std::vector<Proposal> proposals, spare;
  for (const auto* item : section.of(Kind::item)) {
    if (!item->code.text().starts_with(command))
      throw document::Error(item->place,
                            fmt::format("\"{}\" is no command; valid: attnlab …", item->code.text()));
    if (!run.meanings.holds(item->marks.condition, section.scope)) continue;
    auto& list = item->marks.words.count("spare") > 0 ? spare : proposals;
    const auto code = in_words(run, document::read_prose(item->code.part(command.size())), section.scope);
    list.push_back({bench.plan.lesson->command(code), in_words(run, item->prose, section.scope)});
  }
  bench.try_next(proposals, spare);
}

void tell_section(Telling& run, const Section& section, std::span<const Section> to_come) {
  const auto holds = [&](const document::Block& block) {
    return at_place(block.place, [&] { return run.meanings.holds(block.marks.condition, section.scope); });
  };
  if (section.depends_on_steps && !holds(*section.heading)) return;
  tell_steps(run, section, to_come);
  if (section.is_left_out) return;
  const auto items = section.of(Kind::item);
  const bool is_note = section.of(Kind::formula).empty() && section.heading != nullptr && items.empty();
  if (is_note && !run.outline.has(section, section.heading, "hidden")) tell_note(run, section);
  if (!items.empty() && items.front()->code.text().starts_with(command)) return tell_next(run, section);
  for (const auto* block : section.blocks)
    at_place(block->place, [&] {
      if (block->kind == Kind::item && holds(*block)) tell_claim(run, *block, section.scope);
      if (block->kind == Kind::label) tell_label(run, *block, section.scope);
      if (block->kind == Kind::flow) tell_flow(run, *block, to_come);
      if (block->kind == Kind::call)
        named(run.functions.actions, block->call.name, block->place)(run.document_run);
    });
}

}  // namespace

void DocumentRun::read_front(const document::Document& document) {
  run_.meanings.read_axes(document);
  run_.meanings.read_front(document, {});
}

void DocumentRun::require_rules_of(const document::Document& document) {
  run_.meanings.read_axes(document);
  auto rules_to_come = rules_in(document).size();
  for (const auto& [key, value] : document.front_matter) {
    if (rules_to_come == 0) return;  // lines behind the last one may need what the lesson's code sets
    run_.meanings.read_front(key, value, {});
    if (key != "require") continue;
    --rules_to_come;
    const auto [condition, words] = rule_in(value);
    const auto formula = document::read_formula(condition);
    if (!at_place(condition, [&] { return run_.meanings.holds(formula, {}); }))
      throw attn::Error(in_words(run_, document::read_prose(words), {}));
  }
}

void DocumentRun::tell(const document::Document& document) {
  read_front(document);
  for (const auto& name : document::cut_at_commas(document.front("code")))
    run_.results.push_back(run_.meanings.step_named(run_.meanings.with_values(name, {})));
  tell_definitions(run_);
  const auto sections = run_.outline.sections_of(document.blocks(), {});
  constexpr auto code = "code";
  if (std::any_of(sections.begin(), sections.end(), [&](const Section& section) {
        return !section.is_left_out && section.heading != nullptr && section.heading->marks.id == code;
      }))
    run_.results = {code};  // which no step is called: all that the formulas say stands in `rest/code`
  for (const auto& remark : run_.outline.remarks)
    if (run_.outline.steps.count(run_.meanings.step_named(remark.id)) == 0)
      throw document::Error(remark.block->place, fmt::format("{{at {}}}: there is no such step; valid: {}",
                                                             remark.id, fmt::join(run_.outline.steps, ", ")));
  if (!bench().is_mute()) settle_page(run_, sections);
  std::size_t last_step = 0;
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (!sections[i].of(Kind::formula).empty()) last_step = i;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    tell_section(run_, sections[i], std::span(sections).subspan(i + 1));
    if (i == last_step) {
      require_all_defined(run_);
      if (!bench().is_mute()) tell_code(run_);
    }
    drop_unneeded(run_, sections, i);
  }
}

void DocumentRun::tell_part(const std::string& file, const std::vector<std::string>& renamed) {
  document::Block use;
  use.call.arguments = renamed;
  const auto& part = document_named(file);
  const auto scope = run_.outline.scope_of(use, {});
  run_.meanings.read_front(part, scope);
  const auto sections = run_.outline.sections_of(part.blocks(), scope);
  for (std::size_t i = 0; i < sections.size(); ++i)
    tell_section(run_, sections[i], std::span(sections).subspan(i + 1));
}

}  // namespace lessons
