#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/workbench/options.hpp"
#include "trace/given.hpp"
#include "trace/stored_trace.hpp"

namespace lessons {

struct Lesson;

/// An input that --set gives.
struct SetInput {
  std::string id;
  std::optional<attn::AnyTensor> tensor;  ///< none of the identity
};

/// What the texts of --set say: "X=[[1,0],[0,1]]", "W_Q=identity", "X=@rows.csv". Those that came along with
/// the file of --input leave an input to that file where it has one; `file` is null where there is none.
/// Throws attn::Error for a text that says no tensor, and for an input that is given twice.
std::vector<SetInput> read_set_inputs(const Lesson& lesson, const Options& options,
                                      const attn::StoredTrace* file);

/// The tensors of --input and those of --set, as if one file had them.
class GivenInputs : public attn::StoredTrace {
 public:
  /// `file` is null where there is none, else it is there as long as this is.
  explicit GivenInputs(const attn::StoredTrace* file, std::vector<SetInput> set = {});

  attn::AnyTensor read(std::size_t index) const override;

  /// "--input" or "--set": what gives the input, as messages name it.
  std::string_view option_of(std::string_view id) const;

  /// All of them. The steps of a trace are left out: the lesson computes them.
  attn::GivenTensors read_inputs() const;

 private:
  const attn::StoredTrace* file_;
  std::vector<attn::AnyTensor> set_;  ///< the first of the tensors
  std::vector<std::string> identities_;
};

/// A trace of the same lesson brings its own options along, except those that were typed; one whose config
/// has no `draws` was drawn before there was a choice: from one stream. Throws attn::Error for a value that
/// an option cannot have.
void follow_config(const Lesson& lesson, const attn::StoredTrace& file, Options& options);

/// Fills in what follows from given tensors: the shapes of the inputs decide the dimensions, the number of
/// samples and of tokens. Tokens are called 1, 2, 3 … where neither a typed sentence, nor the trace's, nor
/// the lesson's own has as many. Looks at shapes, and at the elements of inputs that are options or lengths
/// only.
///
/// Throws attn::Error for shapes that contradict each other or a typed option (both named).
void follow_inputs(const Lesson& lesson, const GivenInputs& given, Options& options);

}  // namespace lessons
