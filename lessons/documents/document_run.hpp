#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "formula/sheet.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

class DocumentRun;

/// What a document calls by name because it is no formula.
struct Functions {
  /// `{do parameters}`: shows notes or claims.
  std::map<std::string, std::function<void(DocumentRun& run)>> actions{};

  /// `{call who_is_about_whom}` in the remark on a step: words on the step's event.
  std::map<std::string, std::function<std::string(const attn::Event& event)>> remarks{};

  /// `{call pictures}`: words on the run.
  std::map<std::string, std::function<std::string(const DocumentRun& run)>> texts{};

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

  /// The steps of a part that several lessons use, in a lesson that says the rest itself: `renamed` is
  /// what `{use …}` would say, `Q = Q_heads`.
  void tell_part(const std::string& file, const std::vector<std::string>& renamed = {});

  /// A tensor that formulas may speak of. With the view of a Tensor the caller keeps it alive.
  void set(const std::string& name, formula::View tensor) { sheet_.set(name, std::move(tensor)); }

  /// Says how long an axis is.
  void axis(const std::string& name, std::size_t length) { sheet_.axis(name, length); }

  /// From now on `name` stands for the tensor `other`.
  void alias(const std::string& name, const std::string& other) { sheet_.alias(name, other); }

  /// A mask [batch×query×key] as `mask`, which the caller keeps alive, and whether there is one. An axis of
  /// length 1 is repeated.
  void set_mask(const std::optional<Mask<3>>& mask);

  /// The mask that the document declares, once it was shown.
  const std::optional<Mask<3>>& mask() const { return mask_; }

  /// The same of a number; `name` stands for it in formulas and conditions.
  void set(const std::string& name, double number) { settings_.insert_or_assign(name, number); }

  /// Keeps a tensor for as long as the run.
  template <class T, std::size_t N>
  void keep(const std::string& name, formula::Axes axes, Array<T, N> tensor) {
    auto kept = std::make_shared<Array<T, N>>(std::move(tensor));
    auto view = formula::view_of(std::move(axes), attn::view_of(*kept));
    view.owner = kept;
    set(name, std::move(view));
  }

  /// Counts that are 0 or more, as formulas take them.
  template <std::size_t N>
  void keep_whole(const std::string& name, formula::Axes axes, const Integers<N>& counts) {
    keep(name, axes, Tensor<N>(xt::cast<double>(counts)));
    auto view = sheet_.tensor(name);
    view.is_whole = true;
    set(name, std::move(view));
  }

  /// The elements of a step, which the run then has no longer.
  template <std::size_t N>
  Tensor<N> take(const std::string& name) {
    auto numbers = sheet_.take(name);
    typename Tensor<N>::shape_type shape;
    typename Tensor<N>::strides_type strides;
    std::copy(numbers.shape().begin(), numbers.shape().end(), shape.begin());
    std::copy(numbers.strides().begin(), numbers.strides().end(), strides.begin());
    return Tensor<N>(std::move(numbers.storage()), std::move(shape), std::move(strides));
  }

  /// A copy of a tensor of the run.
  template <class T, std::size_t N>
  Array<T, N> copy_of(const std::string& name) const {
    const auto& view = sheet_.tensor(name);
    std::array<std::size_t, N> shape;
    std::copy(view.shape.begin(), view.shape.end(), shape.begin());
    auto tensor = Array<T, N>::from_shape(shape);
    std::copy_n(static_cast<const T*>(view.data), tensor.size(), tensor.begin());
    return tensor;
  }

  const formula::Sheet& sheet() const { return sheet_; }
  Workbench& bench() const { return bench_; }

 private:
  struct Section;

  /// What `{use …}` puts in the place of names, around a part.
  struct Scope {
    std::string prefix{};                            ///< "causal/"
    std::map<std::string, formula::Expr> renamed{};  ///< of operands
    std::map<std::string, std::string> results{};    ///< of steps and axes: "output" to "heads"
    document::Marks marks{};
    std::size_t depth = 0;  ///< of parts that use parts
  };

  std::vector<Section> sections_of(const std::vector<document::Block>& blocks, const Scope& scope);
  void add_sections(std::vector<Section>& sections, const std::vector<document::Block>& blocks,
                    const Scope& scope);
  void add_block(std::vector<Section>& sections, const document::Block& block, const Scope& scope);
  Scope scope_of(const document::Block& use, const Scope& around) const;
  /// How long the axes of the document are, and the tokens along them.
  void settle_axes(const document::Document& document);

  /// What the front matter says of entries to follow, axes and names.
  void settle_front(const document::Document& document);
  void settle_front(const std::string& key, const std::string& value);
  void follow(const formula::Definition& axis);
  void settle_page(const std::vector<Section>& sections);
  void settle_section(const Section& section, std::vector<attn::OnPage>& page,
                      std::vector<std::string>& claims);
  bool has(const Section& section, const document::Block* block, const std::string& word);

  void tell(const Section& section, std::span<const Section> to_come = {});
  static std::string id_of(const document::Block& formula, const Scope& scope);

  /// Throws document::Error where a remark is on a step that the document does not have.
  void require_steps_of_remarks() const;

  /// Throws document::Error where a claim or a part has no name, or that of another one.
  void require_new_name(const std::string& name, const document::Place& place);
  void require_new(const std::string& id) const;
  void tell_input(const Section& section, const document::Block& block);
  void tell_lengths(attn::About about);
  void tell_mask(const attn::About& about);
  void tell_dropout_mask(const attn::About& about, const std::string& weights);

  /// What stands for the name in conditions and formulas where it is neither a tensor nor an axis.
  std::optional<double> setting(const std::string& name) const;
  void tell_step(const Section& section, const document::Block& formula);

  /// The formula of a step as the document has it.
  formula::Definition definition_of(const document::Block& formula, const Scope& scope);

  /// Every step is one of each sample where there are samples.
  void carry_batch(formula::Definition& definition) const;

  /// The name of a step that is left out stands for what it would change.
  void stand_in(const document::Block& formula, const Scope& scope);

  /// The way to the steps that `flow` names, to those of the page's code or to the last one.
  void tell_flow(const document::Block& flow, std::span<const Section> to_come);

  /// The tensors of the run with those of the sections to come, of which nothing is computed: axes and
  /// lengths alone.
  formula::Sheet foreseen(std::span<const Section> to_come);
  void foresee(const document::Block& formula, const Scope& scope);
  void foresee_input(const formula::Definition& declaration);
  void foresee_inputs_in(const formula::Expr& x);
  void add_words(attn::About& about, const Section& section, const formula::Definition& definition);
  void tell_note(const Section& section);

  /// "scaled = scores / d_k": the formula, close to that of the step, which gives somebody's numbers; empty
  /// where none is found, or where their numbers are too coarse to tell.
  std::string formula_behind(const formula::Definition& definition, const attn::AnyTensor& theirs) const;

  /// Other ways to compute a step, which the data and the lesson's code have; asked only where somebody
  /// watches.
  attn::Mistakes mistakes_of(const std::string& step, const formula::Definition& definition,
                             const Scope& scope);

  /// Puts what --define says in the place of a resolved formula. Returns whether it says something of it.
  /// Throws attn::Error, with the column.
  bool define_anew(formula::Definition& definition, const Scope& scope);
  void tell_definitions() const;
  void require_all_defined() const;
  void tell_claim(const document::Block& item);
  void tell_next(const Section& section);
  void tell_code();

  /// How the entry of a step comes about. A step that is hidden, or that the trace does not speak of, has no
  /// entries to name: it is worked out, too.
  attn::Worked worked(const formula::Definition& definition, const attn::Index& at) const;

  /// The tensors that a formula takes, and for a hidden one those that it is made of.
  std::vector<std::string> shown_operands(const formula::Expr& x) const;

  formula::Expr settled(const formula::Expr& x, const Scope& scope) const;
  bool holds(const std::optional<formula::Expr>& condition, const Scope& scope);
  std::string text_of(const document::Prose& prose, const Scope& scope, const attn::Event* event = nullptr);
  std::string text_of(const document::Piece& piece, const Scope& scope, const attn::Event* event);
  std::string text_of(const document::Call& call, const document::Place& place, const Scope& scope,
                      const attn::Event* event);
  const document::Prose* remark_on(const std::string& id);

  /// Whether a remark of that id is on a step of the section.
  bool is_about(const std::string& id_of_remark, const Section& section) const;

  /// "causal/weights" for "page/weights".
  std::string step_of_remark(const std::string& id) const;
  std::string paragraphs(const Section& section, bool short_page);
  double number_at_followed(const formula::Expr& x, const Scope& scope);
  std::vector<double> numbers_along(const std::string& axis, const formula::Expr& x, const Scope& scope);
  std::string label(const std::string& axis, std::size_t place) const;
  /// The entry that a step works out, where the document says which one.
  std::optional<attn::Index> followed(const Section& section, const formula::Axes& axes);
  std::optional<std::size_t> followed_place(const std::string& axis);

  Workbench& bench_;
  const Functions& functions_;
  formula::Sheet sheet_;
  std::map<std::string, double> settings_;
  std::vector<std::pair<std::string, std::vector<formula::Expr>>> follow_;
  /// Where an axis is followed, as it was found when there were so many steps.
  struct Followed {
    std::optional<std::size_t> steps{}, place{};
  };
  std::map<std::string, Followed> followed_;
  struct Remark {
    std::string id;
    const document::Block* block;
    Scope scope;
  };
  std::vector<Remark> remarks_;
  std::set<std::string> steps_;  ///< of the document, those that are left out, too
  std::set<std::string> hidden_;
  std::map<std::string, std::string> drawn_as_;  ///< what a flow calls steps
  std::vector<std::string> results_;             ///< the steps that the page's code computes
  std::set<std::string> told_;                   ///< names of claims and parts
  std::map<std::string, std::string> of_page_;   ///< steps that the front matter gave other names
  std::optional<Mask<3>> mask_;
  std::set<std::string> defined_;  ///< steps that --define gave other formulas
};

/// A formula or an input of a document or of its parts.
struct Declared {
  const document::Block* block;
  std::string id;
  std::optional<formula::Expr> condition;  ///< of its heading
};

/// All of them, in their order; those that a condition leaves out, too. Throws document::Error.
std::vector<Declared> declared_in(const document::Document& document);

/// The inputs that a document and its parts declare, for a lesson with these keys of options. Throws
/// document::Error for an unknown way to come by its numbers.
std::vector<Input> inputs_of(const document::Document& document, const std::vector<std::string_view>& keys);

/// The document `lessons/NAME`, read once. Throws attn::Error where there is none.
const document::Document& document_named(const std::string& name);

}  // namespace lessons
