#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/any_tensor.hpp"
#include "trace/event.hpp"
#include "trace/file.hpp"

namespace attn {

/// What is known of a stored tensor before its elements are read.
struct StoredTensor {
  std::string id;
  Dtype dtype = Dtype::float64;  ///< as which it is read
  std::string stored_dtype{};    ///< as NumPy calls what the file holds: "float16", "bfloat16", "uint8", …
  Shape shape{};
  std::optional<Kind> kind{};        ///< input or step, where the file says so
  std::vector<std::string> axes{};   ///< as many as the shape has, or none where the file names none
  std::vector<AxisLabels> labels{};  ///< as many as axes
};

/// What is known of a tensor that lies like that in a file.
StoredTensor stored_as(std::string id, const Layout& layout);

/// What a trace tells of an event in words: its title, formula and note, and of a claim what was measured.
struct StoredWords {
  std::string id;
  std::vector<std::pair<std::string, std::string>> members{};  ///< texts as they are, all others as JSON
};

/// Tensors under their ids, as a trace or somebody's own program left them: an npz, safetensors, JSON or
/// CSV file, or a run that was recorded. Files keep their elements until `read` asks for them.
class StoredTrace {
 public:
  virtual ~StoredTrace() = default;

  /// The lesson and its config; empty where the file is not a trace of ours.
  const Header& header() const { return header_; }

  /// The texts that a safetensors file keeps beside its tensors, by name.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// In the order of the file.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }

  /// Null where there is none of that id.
  const StoredTensor* find(std::string_view id) const { return find_by_id(tensors_, id); }

  /// Of every event, in the order of the file; none of a file that has no words, as archives have not.
  const std::vector<StoredWords>& words() const { return words_; }

  /// The elements of `tensors()[index]`, converted exactly to its dtype, every integer to int64. Throws
  /// Error, with the file and the id, where the file does not hold what it promises.
  virtual AnyTensor read(std::size_t index) const { return read_.at(index)(); }

  /// Those of the tensor of that id, which is there.
  AnyTensor read(std::string_view id) const {
    return read(static_cast<std::size_t>(find(id) - tensors_.data()));
  }

  /// Adds a tensor, and what reads its elements, or these themselves, which say its type and shape.
  void add(StoredTensor tensor, std::function<AnyTensor()> read);
  void add(StoredTensor tensor, AnyTensor elements);

 protected:
  Header header_;
  std::map<std::string, std::string> metadata_;
  std::vector<StoredTensor> tensors_;
  std::vector<StoredWords> words_;

 private:
  std::vector<std::function<AnyTensor()>> read_;  ///< the elements of each tensor
};

/// Keeps the inputs and steps of a run, to be compared with a stored trace. Tensors without their numbers are
/// left out.
class Recorder : public Sink, public StoredTrace {
 public:
  explicit Recorder(const Header& header) { header_ = header; }
  void receive(const Event& event) override;
};

/// Several files as one, which is of the lesson of the first that is of one.
class MergedTrace : public StoredTrace {
 public:
  /// Throws Error where two have a tensor of one id.
  explicit MergedTrace(std::vector<std::unique_ptr<StoredTrace>> files);
};

/// Tensors that are there already, as if a file had them.
class TensorsAsTrace : public StoredTrace {
 public:
  TensorsAsTrace(Header header, std::map<std::string, AnyTensor> tensors);
};

/// Ids, and what each counts as; those of groups end in "/".
using Renames = std::vector<std::pair<std::string, std::string>>;

/// The id after the renames.
std::string renamed(std::string id, const Renames& renames);

/// A trace under other ids.
class RenamedTrace : public StoredTrace {
 public:
  /// Throws Error where two tensors have one id then. `file` has to outlive it.
  RenamedTrace(const StoredTrace& file, const Renames& renames);
};

/// Opens an .npz, .safetensors or JSON file; its first bytes decide which, and what is none of these is read
/// as rows of numbers where its name ends in .csv. No more memory is taken than the elements that are there
/// can fill, whatever its headers say; an .npz that unpacks to more than 64 MiB and more than 100 times its
/// size is refused. Throws Error, with the path and what is wrong, for a file that cannot be read, is none of
/// these, is truncated or contradicts itself, and for elements of a type that no tensor has (objects, complex
/// numbers, text).
std::unique_ptr<StoredTrace> open_trace(File file);
std::unique_ptr<StoredTrace> open_trace(const std::string& path);

}  // namespace attn
