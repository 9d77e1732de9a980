#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/documents/meanings.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"
#include "trace/recurrence.hpp"

namespace lessons {

struct Functions;
class DocumentRun;

/// Of a step that is computed place by place (formula::Recurrence), the place that it has come to.
struct RowPlace {
  std::string axis;
  std::size_t place = 0;
};

/// A step of a run and all that is known when it is computed.
struct StepOnSheet {
  std::string name;                ///< as documents name it: "masked"; data may have either name
  formula::Definition definition;  ///< as the sheet has it: "causal/masked"
  std::shared_ptr<const formula::Sheet> sheet;
  /// What a formula of a document says on the sheet; none where it is the same.
  std::function<formula::Expr(const formula::Expr&)> settled{};
  std::shared_ptr<const RowPlace> row{};  ///< mistakes make that row alone; null where they make all
};

/// The mistakes in a step that data/mistakes/ has formulas of, as far as the run has the names in them.
/// Formulas may speak of tensors, axes and settings of the run and of these numbers: `kv_heads`,
/// `temperature`, `many_heads`, `has_mask`, `writes` (the lesson writes word by word), `projected`,
/// `split` and `joined` (there are steps Q, Q_heads and concat), `in_heads` (the step has an axis of heads),
/// `crosses` (keys are of other tokens than queries), the axes `d_model` and `batch_key` (the keys of all
/// samples), `target_lengths[batch]`, `unmasked` (the tensor that the mask hides entries of, or that softmax
/// takes where nothing is hidden), and what a mask in a step `masked` is made of: `hides_future`,
/// `hides_padding`, `reach` (the window; inf without one), `offset` (query i sits at position i + offset),
/// `allowed[query, key]` by the rule on positions, `real[batch, key]`, which is no padding. Of Q, K
/// and V, where their weights lie side by side: `fused_W[d_model, fused]`, `fused_b[fused]`, `width_Q`,
/// `width_K` and `width_V`, `column` of the step, `groups` of heads, `by_group[fused]`, the column of these
/// that a weight packed group by group has there, and `in_thirds[fused]`, the inverse. The mistakes may be
/// asked as long as `settled` and the tensors live.
attn::Mistakes mistakes_of_step(const Workbench& bench, const StepOnSheet& step);

/// The prose of a document as text, with the values, words and choices of a run.
class Wording {
 public:
  Wording(Meanings& meanings, const Functions& functions, const DocumentRun& run)
      : meanings_(meanings), functions_(functions), run_(run) {}

  /// Throws document::Error.
  std::string text_of(const document::Prose& prose, const Scope& scope) const;

  /// What a fence shows: its text, or its table, in which columns that say nothing are left out.
  std::string drawn(const document::Block& fence, const Scope& scope) const;

  /// The paragraphs of a section; those of the short page alone without the ones that it leaves out.
  std::string paragraphs(const Section& section, bool short_page = false) const;

 private:
  std::string text_of(const document::Piece& piece, const Scope& scope) const;

  /// With fewer columns for the entries of an axis, or else with shorter cells, where the page has no room.
  std::string table_of(const std::vector<document::Row>& rows, const Scope& scope) const;
  using Line = std::vector<std::string>;
  Line line_of(const document::Row& row, const Scope& scope, std::size_t most_columns,
               std::size_t widest) const;

  /// Calls `tell(true)` at each entry that is shown, and `tell(false)` in the place of those that are not;
  /// once where there is no axis.
  template <class Tell>
  void for_each(const document::Each& each, const Scope& scope, std::size_t most, const Tell& tell) const;

  std::string number_of(const document::Piece& piece, const Scope& scope) const;
  /// "the cat sat": the labels along an axis.
  std::string tokens_along(const std::string& axis) const;
  std::string list_of(const document::Piece& piece, const Scope& scope) const;
  std::string text_of(const document::Call& call, const document::Place& place, const Scope& scope) const;
  std::string shape(const formula::Expr& tensor, const Scope& scope) const;

  Meanings& meanings_;
  const Functions& functions_;
  const DocumentRun& run_;
};

/// The inputs that a document declares, as events and as tensors that formulas may speak of.
class DeclaredInputs {
 public:
  explicit DeclaredInputs(Meanings& meanings) : meanings_(meanings) {}

  /// Shows an input: what is given or drawn, or what follows from the run. `about` has its id and words. A
  /// dropout mask is one of the step `weights` of this scope. Throws attn::Error.
  void tell(const document::Block& block, const attn::About& about, const Scope& scope);

  /// Shows numbers [i] or [i×j] that C++ made, whole ones as such, or what is given in their place.
  void tell_made(attn::About about, const formula::View& numbers);

  /// A mask [batch×query×key], which the caller keeps alive, and whether there is one, in the group `prefix`.
  /// An axis of length 1 is repeated.
  void set_mask(const std::optional<Mask<3>>& mask, const std::string& prefix = "");

  /// The mask that was shown.
  const std::optional<Mask<3>>& mask() const { return masks_.at(""); }

  /// A tensor of these axes whose elements are nothing yet.
  formula::View foreseen(const formula::Axes& axes) const;

  /// The same of the input that is declared so, or that the lesson has under that name: as a tensor that
  /// formulas may speak of.
  void foresee(const formula::Definition& declaration);

  /// The lengths of the sentences, of which formulas may speak without more.
  void tell_lengths(attn::About about);
  bool has_told_lengths() const { return has_told_lengths_; }

 private:
  void tell_option(attn::About about, const formula::Axes& axes, std::string_view key);
  void tell_mask(const attn::About& about, bool of_padding_alone);
  void tell_computed(attn::About about, const formula::Definition& definition);

  /// A mask that a condition says: one that is given in its place must be equal.
  void tell_settled_mask(attn::About about, const formula::View& view);
  void tell_rows(attn::About about, const std::string& table);
  std::size_t length_along(const document::Block& block, const std::string& id, const std::string& axis,
                           const Extent& extent) const;
  void tell_shaped(const document::Block& block, const attn::About& about, const formula::Axes& axes,
                   const std::vector<std::size_t>& shape);
  void tell_dropout_mask(attn::About about, const formula::View& weights);

  Meanings& meanings_;
  std::map<std::string, std::optional<Mask<3>>> masks_{{"", {}}};  ///< by their groups
  bool has_told_lengths_ = false;
};

/// The formulas of a document: each is computed and becomes an event, which says how its entries come about.
class Steps {
 public:
  Steps(Meanings& meanings, const Outline& outline, const Wording& wording, const Functions& functions,
        DocumentRun& run)
      : meanings_(meanings),
        inputs_(meanings),
        outline_(outline),
        wording_(wording),
        functions_(functions),
        run_(run) {}

  DeclaredInputs& inputs() { return inputs_; }
  const DeclaredInputs& inputs() const { return inputs_; }

  /// Shows the formulas and inputs of a section; where it is left out, their names stand for what they would
  /// change. A formula that takes steps of the sections to come is computed together with them, place by
  /// place.
  void tell(const Section& section, std::span<const Section> to_come);

  /// Draws the way to the steps that `flow` names, to those of `results` or to the last one, through the
  /// sections to come.
  void tell_flow(const document::Block& flow, std::span<const Section> to_come,
                 const std::vector<std::string>& results);

  /// The note on what --define says.
  void tell_definitions() const;

  /// Drops the numbers of large steps of which no section behind that one speaks.
  void drop_unneeded(const std::vector<Section>& sections, std::size_t told);

  /// The steps that no page shows.
  const std::set<std::string>& hidden() const { return hidden_; }

  /// Those that a heading keeps out of the code of the other steps.
  const std::set<std::string>& without_code() const { return without_code_; }

  /// Throws attn::Error where --define speaks of no step.
  void require_all_defined() const;

 private:
  void tell_input(const Section& section, const document::Block& block);
  void tell_made(const Section& section, const document::Block& block, const document::Call& function);
  /// What the page has for the formula of a section; nothing where the formula itself stands there.
  std::string written_in(const Section& section) const;
  attn::About about_input(const Section& section, const document::Block& block) const;
  void tell_step(const Section& section, const document::Block& formula);
  void add_words(attn::About& about, const Section& section, const formula::Definition& definition) const;

  /// A step that is computed together with others.
  struct Member {
    const Section* section;
    const document::Block* formula;
    formula::Definition definition{"", {}, 0.0};
    formula::Expr in_document = 0.0;
    bool is_defined_anew = false;
  };

  /// This formula and those of the sections to come that have to be computed together, because each takes one
  /// that stands behind it, or itself; none where it takes none.
  std::vector<Member> together_with(const Section& section, const document::Block& formula,
                                    std::span<const Section> to_come) const;

  /// The steps of the document that a settled formula takes and that the run does not have yet.
  void add_unknown_steps(std::set<std::string>& names, const formula::Expr& x,
                         const std::string& prefix) const;

  /// Those that the gradient of a step of a recurrence takes.
  void add_unknown_gradients(std::set<std::string>& names, const std::string& of,
                             const std::string& prefix) const;

  void compute(std::vector<Member> members);

  /// The mistakes in the row of a step that `row` has come to.
  static attn::Mistakes in_row(const attn::Mistakes& mistakes, const RowPlace& row,
                               const formula::Definition& step);

  /// Shows a step that was computed together with others.
  void tell_computed(const Section& section, const Member& member, attn::Recurrence& rows);

  /// Finds the formula behind somebody's numbers of a step.
  std::function<std::string(const attn::AnyTensor& theirs)> explained(
      const formula::Definition& definition) const;

  /// What the trace says of a step.
  attn::About about_step(const Section& section, const formula::Definition& definition,
                         const formula::Expr& in_document, bool is_defined_anew) const;

  /// The formula of a step as the document has it.
  formula::Definition definition_of(const document::Block& formula, const Scope& scope);

  /// Throws formula::Error where operands bring an axis along that the formula's name does not have, and that
  /// is none of samples or heads.
  void require_named_axes(const document::Block& formula, const formula::Definition& definition,
                          const Scope& scope) const;

  /// Tells the lengths of the sentences ahead of the first step that takes them, where the document has not
  /// declared them.
  void tell_lengths_for(const formula::Definition& definition);

  /// Every step is one of each sample where there are samples, unless its heading says otherwise.
  void carry_batch(const Section& section, formula::Definition& definition) const;

  /// Whether a name of --define is that of the step: in full or, where no step has it in full, its end,
  /// "scaled" of "step=0/layer=1/scaled".
  bool means(const std::string& name, const std::string& step) const;

  /// Puts what --define says in the place of a resolved formula. Returns whether it says something of it.
  /// Throws attn::Error, with the column.
  bool define_anew(formula::Definition& definition, const Scope& scope);

  void stand_in(const document::Block& formula, const Scope& scope);

  /// Other ways to compute a step, which the data and the lesson's code have; asked only where somebody
  /// watches.
  attn::Mistakes mistakes_of(const std::string& step, const formula::Definition& definition,
                             const Scope& scope, std::shared_ptr<const RowPlace> row = {});

  /// What the mistakes in hidden steps make of one that takes them.
  attn::Mistakes carried_into(const formula::Definition& definition) const;

  /// The step with somebody's operand; none where that changes nothing.
  std::optional<attn::AnyTensor> with_operand(const formula::Definition& definition, const std::string& name,
                                              const attn::AnyTensor& operand) const;

  /// Counts or indices, which the run has as doubles.
  void tell_whole_numbers(const attn::About& about, const attn::Shape& shape, double* elements,
                          attn::Mistakes mistakes);

  /// With the formulas of hidden steps in their place, where these are taken as they are.
  formula::Definition without_hidden(formula::Definition definition) const;

  /// How the entry of a step comes about. A step that is hidden, or that the trace does not speak of, has no
  /// entries to name: it is worked out, too.
  attn::Worked worked(const formula::Definition& definition, const attn::Index& at) const;

  /// Whether all numbers that a formula starts from are shown.
  bool starts_from_shown(const formula::Expr& x) const;

  /// How many numbers an entry is worked out from, all hidden steps written out.
  double terms_of(const formula::Expr& x) const;

  /// The tensors that a formula takes, and for a hidden one those that it is made of.
  std::vector<std::string> shown_operands(const formula::Expr& x) const;

  /// The tensors of the run with those of the sections to come, of which nothing is computed: axes and
  /// lengths alone.
  formula::Sheet foreseen(std::span<const Section> to_come);
  void foresee(const Section& section, const document::Block& formula);
  void foresee_inputs_in(const formula::Expr& x);

  Meanings& meanings_;
  DeclaredInputs inputs_;
  const Outline& outline_;
  const Wording& wording_;
  const Functions& functions_;
  DocumentRun& run_;
  std::set<std::string> hidden_, without_code_;
  std::map<std::string, std::vector<std::string>> made_;  ///< by functions, from these tensors
  std::map<std::string, attn::Mistakes> mistakes_of_hidden_;
  std::map<std::string, std::pair<Member, std::shared_ptr<attn::Recurrence>>> computed_;  ///< place by place
  std::set<std::string> defined_;                     ///< steps that --define gave other formulas
  std::map<std::string, std::size_t> last_mentions_;  ///< once there are large steps
};

/// What the page says of the formula of a step, as text and as MathML: "scores / √d_k = scores / √4 = scores
/// / 2", "Q: [5×16] → [5×2×8] → [2×5×8]".
void add_formula(attn::About& about, const formula::Definition& definition, const formula::Sheet& sheet);

/// Whether rows of the step are shares that follow from softmax over its last axis.
bool is_shares(const formula::Definition& definition);

/// "scaled = scores / d_k": a formula close to that of the step, which gives somebody's numbers; empty where
/// none is found, or where their numbers are too coarse to tell.
std::string formula_behind(const formula::Definition& definition, const formula::Sheet& sheet,
                           const attn::AnyTensor& theirs);

/// The page's code behind the last step: the formulas that lead to those of `results` that the run has, or to
/// its last step; with "from X" among these from X on, and what leads to X under `forward`; the others under
/// `rest`. Steps that are hidden are there only where others need them.
void tell_code_of(Workbench& bench, const formula::Sheet& sheet, const std::vector<std::string>& results,
                  const std::set<std::string>& hidden);

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

/// A run of a document: its inputs, steps, notes, claims and proposals become events of the trace, each with
/// the numbers of the run.
class DocumentRun {
 public:
  DocumentRun(Workbench& bench, const Functions& functions);

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

  /// The code of the steps that lead to these.
  void tell_code(const std::vector<std::string>& results);

  /// A tensor that formulas may speak of. With the view of a Tensor the caller keeps it alive.
  void set(const std::string& name, formula::View tensor) { meanings_.sheet().set(name, std::move(tensor)); }

  /// Says how long an axis is.
  void axis(const std::string& name, std::size_t length) { meanings_.sheet().axis(name, length); }

  /// The mask that the document declares, once it was shown.
  const std::optional<Mask<3>>& mask() const { return steps_.inputs().mask(); }

  /// The same of a number; `name` stands for it in formulas and conditions, whatever the front matter says.
  void set(const std::string& name, double number) { meanings_.settle(name, number); }

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
  bool is_hidden(const std::string& step) const { return steps_.hidden().count(step) > 0; }

  const formula::Sheet& sheet() const { return meanings_.sheet(); }
  Workbench& bench() const { return meanings_.bench(); }

 private:
  void settle_page(const std::vector<Section>& sections);
  void settle_section(const Section& section, std::vector<attn::OnPage>& page,
                      std::vector<std::string>& claims);
  void tell(const Section& section, std::span<const Section> to_come);
  void tell_note(const Section& section);
  void tell_label(const document::Block& block, const Scope& scope);
  void tell_claim(const document::Block& item, const Scope& scope);
  void tell_next(const Section& section);

  /// Throws document::Error where a claim or a part has no name, or that of another one.
  void require_new_name(const std::string& name, const document::Place& place);

  const Functions& functions_;
  Meanings meanings_;
  Outline outline_;
  Wording wording_;
  Steps steps_;
  std::vector<std::string> results_;  ///< the steps that the page's code computes
  std::set<std::string> told_;        ///< names of claims and parts
};

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
