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

#include "lessons/documents/documents.hpp"
#include "lessons/documents/steps.hpp"

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

  /// `{call who_is_about_whom}` in the remark on a step: words on the step's event.
  std::map<std::string, std::function<std::string(const attn::Event& event)>> remarks{};

  /// `{call pictures}`: words on the run.
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

  /// That of the lesson which runs.
  void tell();

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
