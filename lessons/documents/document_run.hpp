#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/documents/meanings.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"
#include "trace/recurrence.hpp"

namespace lessons {

class DocumentRun;

/// A claim as a document has it, that code is to make or to say why not: "- WORDS: `do equals-mask local`
/// {#ID}".
struct ToClaim {
  std::string id, words, of;  ///< "local"
};

/// What a document calls by name because it is no formula.
struct Functions {
  /// `{do parameters}`: shows notes or claims.
  std::map<std::string, std::function<void(DocumentRun& run)>> actions{};

  /// `do equals-mask local` of a claim.
  std::map<std::string, std::function<void(DocumentRun& run, const ToClaim& claim)>> claims{};

  /// `{call who_is_about_whom}`: words on the run.
  std::map<std::string, std::function<std::string(const DocumentRun& run)>> texts{};

  /// `s[d_k, sample]: random_scores(d_k, samples)` of a hidden step: numbers that no formula makes.
  std::map<std::string, std::function<formula::View(DocumentRun& run)>> tensors{};

  /// The classic mistakes in a step that are no formulas, by its name in this run without the prefix of its
  /// part; `id` has it. They are asked for only where somebody watches.
  std::map<std::string, std::function<attn::Mistakes(DocumentRun& run, const std::string& id)>> mistakes{};
};

/// Of a step that is computed place by place (formula::Recurrence), the place that it has come to.
struct RowPlace {
  std::string axis;
  std::size_t place = 0;
};

/// A formula of a document and the step that it is in a run.
struct Step {
  const Section* section;
  const document::Block* formula;
  formula::Definition definition{"", {}, 0.0};
  formula::Expr in_document = 0.0;  ///< where --define puts another one in its place
  bool is_defined_anew = false;
};

/// A document as a run tells it: what its names mean, and what became of its steps.
struct Telling {
  const Functions& functions;
  DocumentRun& document_run;
  Meanings meanings;
  Outline outline{meanings};
  std::vector<std::string> results{};  ///< the steps that the page's code computes
  std::set<std::string> told{};        ///< names of claims and parts

  std::map<std::string, std::optional<Mask<3>>> masks{{"", {}}};  ///< by their groups
  bool has_told_lengths = false;
  std::set<std::string> hidden{};                          ///< steps that no page shows
  std::set<std::string> without_code{};                    ///< kept out of the code of the other steps
  std::set<std::string> defined{};                         ///< steps that --define gave other formulas
  std::map<std::string, std::vector<std::string>> made{};  ///< by functions, from these tensors
  std::map<std::string, attn::Mistakes> mistakes_of_hidden{};
  std::map<std::string, std::pair<Step, std::shared_ptr<attn::Recurrence>>> computed{};  ///< place by place
  std::map<std::string, std::size_t> last_mentions{};  ///< once there are large steps

  formula::Sheet& sheet() { return meanings.sheet(); }
  Workbench& bench() const { return meanings.bench(); }
};

/// The prose of a document as text, with the values, words and choices of the run. Throws document::Error.
std::string in_words(Telling& run, const document::Prose& prose, const Scope& scope);

/// What a fence shows: its text, or its table, in which columns that say nothing are left out.
std::string fence_in_words(Telling& run, const document::Block& fence, const Scope& scope);

/// The paragraphs of a section; those of the short page alone without the ones that it leaves out.
std::string paragraphs_of(Telling& run, const Section& section, bool short_page = false);

/// Shows an input that the document declares: what is given or drawn, or what follows from the run. `about`
/// has its id and words. A dropout mask is one of the step `weights` of this scope. Throws attn::Error.
void tell_declared(Telling& run, const document::Block& block, const attn::About& about, const Scope& scope);

/// Shows numbers [i] or [i×j] that C++ made, whole ones as such, or what is given in their place.
void tell_made_input(Telling& run, attn::About about, const formula::View& numbers);

/// Shows the lengths of the sentences, of which formulas may speak without more.
void tell_lengths(Telling& run, attn::About about);

/// A tensor of these axes whose elements are nothing yet.
formula::View foreseen(Telling& run, const formula::Axes& axes);

/// The same of the input that is declared so, or that the lesson has under that name: as a tensor that
/// formulas may speak of.
void foresee_input(Telling& run, const formula::Definition& declaration);

/// Shows the formulas and inputs of a section; where it is left out, their names stand for what they would
/// change. A formula that takes steps of the sections to come is computed together with them, place by place.
void tell_steps(Telling& run, const Section& section, std::span<const Section> to_come);

/// Draws the way to the steps that `flow` names, to the results or to the last one, through the sections to
/// come.
void tell_flow(Telling& run, const document::Block& flow, std::span<const Section> to_come);

/// The note on what --define says.
void tell_definitions(Telling& run);

/// Throws attn::Error where --define speaks of no step.
void require_all_defined(Telling& run);

/// Drops the numbers of large steps of which no section behind that one speaks.
void drop_unneeded(Telling& run, const std::vector<Section>& sections, std::size_t told);

/// The axes without that of samples, as pages call them.
formula::Axes shown_axes(formula::Axes axes);

/// What the trace says of a section: in words, and as its marks have it.
attn::About about_section(Telling& run, const Section& section);

/// What the trace says of a step while its rows are computed: nothing in words; and of the whole step.
attn::About about_rows(Telling& run, const Step& step, attn::About about = {});
attn::About about_step(Telling& run, const Step& step);

/// What the page says of a formula, as text and as MathML: "scores / √d_k = scores / √4 = scores / 2", "Q:
/// [5×16] → [5×2×8] → [2×5×8]".
void add_formula(attn::About& about, const formula::Definition& definition, const formula::Sheet& sheet);

/// The page's code behind the last step: the formulas that lead to those results that the run has, or to its
/// last step; with "from X" among these from X on, and what leads to X under `forward`; the others under
/// `rest`. Steps that are hidden are there only where others need them.
void tell_code(Telling& run);

/// Other ways to compute a step, asked only where somebody watches; with `row` the mistakes make that row
/// alone. They may be asked as long as the run and its tensors live.
///
/// Beside those of the lesson's code they are the ones that data/mistakes/ has formulas of, as far as the run
/// has the names in them. Formulas may speak of tensors, axes and settings of the run and of these numbers:
/// `kv_heads`, `temperature`, `many_heads`, `has_mask`, `writes` (the lesson writes word by word),
/// `projected`, `split` and `joined` (there are steps Q, Q_heads and concat), `in_heads` (the step has an
/// axis of heads), `crosses` (keys are of other tokens than queries), the axes `d_model` and `batch_key` (the
/// keys of all samples), `target_lengths[batch]`, `unmasked` (the tensor that the mask hides entries of, or
/// that softmax takes where nothing is hidden), and what a mask in a step `masked` is made of:
/// `hides_future`, `hides_padding`, `reach` (the window; inf without one), `offset` (query i sits at position
/// i + offset), `allowed[query, key]` by the rule on positions, `real[batch, key]`, which is no padding. Of
/// Q, K and V, where their weights lie side by side: `fused_W[d_model, fused]`, `fused_b[fused]`, `width_Q`,
/// `width_K` and `width_V`, `column` of the step, `groups` of heads, `by_group[fused]`, the column of these
/// that a weight packed group by group has there, and `in_thirds[fused]`, the inverse.
attn::Mistakes mistakes_of_step(Telling& run, const Step& step, std::shared_ptr<const RowPlace> row = {});

/// A run of a document: its inputs, steps, notes, claims and proposals become events of the trace, each with
/// the numbers of the run.
class DocumentRun {
 public:
  DocumentRun(Workbench& bench, const Functions& functions) : run_{functions, *this, Meanings(bench)} {}
  DocumentRun(DocumentRun&&) = delete;

  /// The whole lesson.
  void tell(const document::Document& document);

  /// What the front matter of the lesson says, for who tells parts of it alone.
  void read_front(const document::Document& document);

  /// Throws attn::Error with the words of the first rule that does not hold, by what the front matter says
  /// before it.
  void require_rules_of(const document::Document& document);

  /// The steps of a part that several lessons use, in a lesson that says the rest itself: `renamed` is
  /// what `{use …}` would say, `Q = Q_heads`.
  void tell_part(const std::string& file, const std::vector<std::string>& renamed = {});

  /// A tensor that formulas may speak of. With the view of a Tensor the caller keeps it alive.
  void set(const std::string& name, formula::View tensor) { run_.sheet().set(name, std::move(tensor)); }

  /// Says how long an axis is.
  void axis(const std::string& name, std::size_t length) { run_.sheet().axis(name, length); }

  /// The mask that the document declares, once it was shown.
  const std::optional<Mask<3>>& mask() const { return run_.masks.at(""); }

  /// The same of a number; `name` stands for it in formulas and conditions, whatever the front matter says.
  void set(const std::string& name, double number) { run_.meanings.settle(name, number); }

  /// A copy of a tensor of the run.
  template <class T, std::size_t N>
  Array<T, N> copy_of(const std::string& name) const {
    const auto& view = sheet().tensor(name);
    std::array<std::size_t, N> shape;
    std::copy(view.shape.begin(), view.shape.end(), shape.begin());
    auto tensor = Array<T, N>::from_shape(shape);
    std::copy_n(static_cast<const T*>(view.data), tensor.size(), tensor.begin());
    return tensor;
  }

  /// The same of queries, keys, values or weights, [batch×head×…]; what has no axis of heads gets one.
  Tensor<4> in_heads(const std::string& name) const {
    const auto& view = sheet().tensor(name);
    auto shape = view.shape;
    if (shape.size() == 3) shape.insert(shape.begin() + 1, 1);
    auto tensor = Tensor<4>::from_shape({shape.at(0), shape.at(1), shape.at(2), shape.at(3)});
    std::copy_n(static_cast<const double*>(view.data), tensor.size(), tensor.begin());
    return tensor;
  }

  /// Whether the step shows nothing.
  bool is_hidden(const std::string& step) const { return run_.hidden.count(step) > 0; }

  const formula::Sheet& sheet() const { return run_.meanings.sheet(); }
  Workbench& bench() const { return run_.bench(); }

 private:
  Telling run_;
};

/// What `compute` makes of a run, computed when it is asked for first.
template <class Compute>
auto once(Compute compute) {
  using Result = std::invoke_result_t<Compute, const DocumentRun&>;
  return
      [compute, known = std::make_shared<std::optional<Result>>()](const DocumentRun& run) -> const Result& {
        return *known ? **known : known->emplace(compute(run));
      };
}

/// What a PartRun runs on.
struct Silence {
  explicit Silence(const Workbench& beside) : mute(beside.mute()) {}

  Workbench mute;
  Functions none{};
};

/// Parts of documents on tensors of the caller's own, of which nobody is told: what a claim computes again.
class PartRun : private Silence, public DocumentRun {
 public:
  /// In the format and with the options of a run, but without dropout.
  explicit PartRun(const Workbench& beside) : Silence(beside), DocumentRun(mute, none) {}
};

}  // namespace lessons
