#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "attn/text/width.hpp"
#include "page/text/text.hpp"
#include "tests/documents/schema.hpp"
#include "tests/unit/watches.hpp"
#include "trace/json/json.hpp"
#include "trace/trace.hpp"

using attn::OnPage;
using attn::PageStyle;
using attn::Tensor;
using Catch::Contains;
using Catch::EndsWith;

namespace {

using Lesson = std::function<void(attn::Trace&)>;

/// The text of a lesson without its title and the rule below.
std::string render(const Lesson& lesson, const PageStyle& style = {}) {
  attn::TextRenderer renderer({"demo", "a lesson", {}}, style);
  attn::Trace trace(renderer, {});
  lesson(trace);
  const auto text = renderer.finish();
  return text.substr(text.find('\n', text.find('\n') + 1) + 1);
}

std::string everything(const Lesson& lesson) {
  return render(lesson, {.all = true});
}

/// The places at which these stand in the text, in that order.
bool in_order(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t place = 0;
  for (const auto& part : parts) {
    place = text.find(part, place);
    if (place == text.npos) return false;
  }
  return true;
}

void tap(attn::Trace& trace, const std::string& id, const std::string& formula = "") {
  trace.step({.id = id,
              .title = "Title of " + id,
              .formula = formula,
              .axes = {"d_k"},
              .note = "Note of " + id + "."},
             Tensor<1>{1.0, 2.0});
}

void all_notes(attn::Trace& trace) {
  trace.note("next", "Try next", "attnlab other");
  trace.note("code", "In NumPy", "", "Q = X @ W_Q");
  trace.note("flow", "The flow", "", "X → Q");
  trace.note("idea", "The idea", "Prose.", "Q = X W_Q");
}

const Lesson lesson = [](attn::Trace& trace) {
  trace.page({{.id = "Q",
               .notice =
                   [](const attn::Event& event) {
                     return "Begins with " + std::to_string(event.tensor->at(0)).substr(0, 3) + ".";
                   }},
              {.id = "W_Q"},
              attn::in_one_line("K"),
              attn::in_one_line("V"),
              {.id = "output"}});
  all_notes(trace);
  for (const auto* id : {"X", "W_Q", "W_K", "Q", "output", "V", "K"})
    tap(trace, id, std::string("f of ") + id);
};

}  // namespace

TEST_CASE("A page has its own order, whatever the order of the run") {
  const auto text = render(lesson);
  CHECK(in_order(text,
                 {"\nThe idea\n", "\nThe flow\n", "\nIn NumPy\n", "\n1  Q = f of Q", "\n2  W_Q = f of W_Q",
                  "\n  K = f of K [2], V = f of V [2]\n", "\n3  output = f of output", "\nTry next\n"}));
  CHECK_THAT(text, EndsWith("\nTry next\n  attnlab other\n"));
}

TEST_CASE("What stands in the list of a page moves, idea, flow and code as well") {
  const auto text = render([](attn::Trace& trace) {
    trace.page({{.id = "Q"}, {.id = "code"}});
    all_notes(trace);
    tap(trace, "Q");
  });
  CHECK(in_order(text, {"The idea", "The flow", "1  Q", "In NumPy", "Try next"}));
}

TEST_CASE(
    "A step of an earlier lesson is its formula and its shape, and steps that follow each other share "
    "lines") {
  const auto text = render(lesson);
  CHECK_THAT(text, Contains("\n\n  K = f of K [2], V = f of V [2]\n\n"));
  CHECK_THAT(text, !Contains("Title of K") && !Contains("Note of K"));
  const auto long_text = render([](attn::Trace& trace) {
    std::vector<OnPage> page;
    for (int i = 0; i < 9; ++i) page.push_back(attn::in_one_line("step_" + std::to_string(i)));
    trace.page(page);
    for (const auto& step : page) tap(trace, step.id, "a formula");
  });
  CHECK_THAT(long_text, Contains("step_8 = a formula [2]"));
  CHECK(attn::display_width(long_text.substr(0, long_text.find("step_3"))) < 80);
}

TEST_CASE("What to notice in the numbers of a run stands in the place of the note") {
  const auto text = render(lesson);
  CHECK_THAT(text, Contains("\n  Begins with 1.0.\n") && !Contains("Note of Q"));
  CHECK_THAT(text, Contains("Note of W_Q"));
  const auto nothing = render([](attn::Trace& trace) {
    trace.page({{.id = "Q", .notice = [](const attn::Event&) { return ""; }}});
    tap(trace, "Q");
  });
  CHECK_THAT(nothing, !Contains("Note of Q"));
}

TEST_CASE("A step without its table is its formula, its shape and an entry worked out") {
  const auto scores = [](const OnPage& on_page) {
    return render([&](attn::Trace& trace) {
      trace.page({on_page});
      trace.step({.id = "head/scores",
                  .formula = "a formula",
                  .axes = {"key"},
                  .note = "A note.",
                  .worked =
                      [](const attn::Index&) {
                        return attn::Worked::sum({attn::Worked(1.0), attn::Worked(0.25)});
                      }},
                 Tensor<1>{1.25, 1.25, 1.25});
    });
  };
  CHECK_THAT(scores(attn::without_table("head/scores")),
             Contains("1  head/scores = a formula") && Contains("\n  scores[2] = 1 + 0.25 ") &&
                 !Contains("A note") && !Contains("  1.2500  1.2500"));
  CHECK_THAT(scores({.id = "head/scores"}), Contains("  1.2500  1.2500"));
}

TEST_CASE("Tensors that are not on the page are counted, and named if they fit on a line") {
  CHECK_THAT(render(lesson),
             Contains("\n\n2 more tables of this run (X, W_K): --all shows them.\n\nTry next\n"));
  const auto many = render([](attn::Trace& trace) {
    trace.page({{.id = "Q"}});
    for (int i = 0; i < 9; ++i) tap(trace, "a_rather_long_name_" + std::to_string(i), "f");
  });
  CHECK_THAT(many, Contains("9 more tables of this run: --all shows them."));
  const auto one = render([](attn::Trace& trace) {
    trace.page({{.id = "Q"}});
    tap(trace, "X");
    tap(trace, "Q");
    trace.note("remark", "A remark", "Prose.");
  });
  CHECK_THAT(one, Contains("\n1 more table of this run (X): --all shows it.\n") && !Contains("A remark"));
}

TEST_CASE(
    "With --all everything is there, in the order of the run, with its origin, its note and what to notice") {
  const auto text = everything(lesson);
  CHECK(in_order(text, {"In NumPy", "The flow", "The idea", "\n1  X = f of X", "\n2  W_Q = f of W_Q",
                        "\n3  W_K", "\n4  Q", "Begins with 1.0.", "Note of Q.", "\n5  output", "\n6  V",
                        "\n7  K", "Title of K", "Try next"}));
  CHECK_THAT(text, !Contains("--all shows"));
  const auto origin = everything([](attn::Trace& trace) {
    trace.page({});
    trace.input({.id = "X", .axes = {"d_k"}}, Tensor<1>{1.0});
    trace.step({.id = "Q", .from = {"X", "W_Q"}, .axes = {"d_k"}}, Tensor<1>{2.0});
  });
  CHECK_THAT(origin, Contains("[d_k 1]\n  input\n") && Contains("[d_k 1]\n  from X [1], W_Q\n"));
}

TEST_CASE("Without a page everything is on it, as it comes") {
  const auto text = render([](attn::Trace& trace) {
    for (const auto* id : {"B", "A"}) tap(trace, id);
    trace.claim({"sums", "rows sum to 1", "x", 0.0, attn::exactly(0)});
  });
  CHECK(in_order(text, {"\n1  B", "\n2  A", "✓ rows sum to 1"}));
  CHECK_THAT(text, !Contains("--all"));
}

namespace {

/// Two claims on the page and two that are not, the last of which has this value; each should be 0.
Lesson claims_with(double last) {
  return [last](attn::Trace& trace) {
    trace.page({}, {"shown", "sums"});
    for (const auto* id : {"sums", "hidden", "shown"})
      trace.claim({id, std::string("claim of ") + id, "formula of it", 0.0, attn::exactly(0), "Its note."});
    trace.claim(
        {"last", "the last claim", "formula of the last", last, attn::exactly(0), "Note of the last."});
  };
}

}  // namespace

TEST_CASE("A page shows the claims that it names, and counts the others that hold") {
  const auto text = render(claims_with(0.0));
  CHECK(text == R"(
What holds on this run
  ✓ claim of sums                                                      exactly 0
  ✓ claim of shown                                                     exactly 0
2 of 2 claims hold. So do 2 more, which --all shows.
)");
}

TEST_CASE("A claim that does not hold is on every page, with its formula and its note") {
  CHECK(render(claims_with(0.5)) == R"(
What holds on this run
  ✓ claim of sums                                                      exactly 0
  ✓ claim of shown                                                     exactly 0
  ✗ the last claim                                     0.5, which should be == 0
    formula of the last
    Note of the last.
2 of 3 claims hold. So does 1 more, which --all shows. This one does not: "the
last claim".
)");
}

TEST_CASE("With --all every claim has its formula and its note") {
  const auto text = everything(claims_with(0.0));
  CHECK_THAT(text, Contains("claim of hidden") && Contains("4 of 4 claims hold.\n"));
  CHECK_THAT(text,
             Contains("  ✓ the last claim                                                     exactly 0\n"
                      "    formula of the last\n    Note of the last.\n"));
}

TEST_CASE("The header leaves out the options that have their usual value, but for --all") {
  attn::Header header{
      "demo", "a lesson", {{"seed", std::int64_t{42}}, {"causal", true}, {"precision", std::int64_t{4}}}};
  header.usual = {"seed", "precision"};
  const auto printed = [&](const PageStyle& style) { return attn::TextRenderer(header, style).finish(); };
  CHECK_THAT(printed({}), EndsWith("\n  causal\n"));
  CHECK_THAT(printed({.all = true}), EndsWith("\n  seed=42  causal  precision=4\n"));
}

TEST_CASE("In JSON an event of the page is core, and says what to notice") {
  attn::JsonWriter writer({"demo", "a lesson", {}});
  attn::Trace trace(writer, {});
  lesson(trace);
  trace.claim({"holds", "a claim", "formula of it", 0.0, attn::exactly(0), "Its note."});
  const auto text = writer.finish();
  CHECK(schema_errors(text) == std::vector<std::string>{});
  std::map<std::string, nlohmann::json> events;
  const auto document = nlohmann::json::parse(text);
  for (const auto& event : document["events"]) events[event["id"]] = event;
  for (const auto* id : {"idea", "flow", "code", "next", "Q", "W_Q", "output", "holds"})
    CHECK(events[id]["level"] == "core");
  for (const auto* id : {"X", "W_K", "K", "V"}) CHECK(events[id]["level"] == "detail");
  CHECK(events["Q"]["notice"] == "Begins with 1.0.");
  CHECK(events["Q"]["note"] == "Note of Q.");
  CHECK_FALSE(events["W_Q"].contains("notice"));
}
