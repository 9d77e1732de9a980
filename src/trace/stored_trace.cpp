#include "trace/stored_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/error.hpp"
#include "trace/archives.hpp"
#include "trace/csv.hpp"
#include "trace/json/json.hpp"

namespace attn {

namespace {

enum class FileFormat { npz, safetensors, json, unknown };

/// By the first bytes: an archive has its signature, a text none below the space, and a safetensors file
/// begins with the eight bytes of a length.
FileFormat format_of(std::string_view beginning) {
  constexpr std::size_t length_size = 8;
  if (beginning.starts_with("PK")) return FileFormat::npz;
  const auto first = beginning.substr(0, length_size);
  const bool has_text =
      first.find_first_not_of(" \t\r\n") != first.npos &&
      std::none_of(first.begin(), first.end(), [](char c) { return static_cast<unsigned char>(c) < '\t'; });
  const auto start = beginning.find_first_not_of(" \t\r\n");
  if (has_text && start != beginning.npos && beginning[start] == '{') return FileFormat::json;
  if (beginning.size() > length_size && beginning[length_size] == '{') return FileFormat::safetensors;
  return FileFormat::unknown;
}

[[noreturn]] void refuse_format(const File& file, std::string_view beginning) {
  if (beginning.empty())
    refuse(file.path(), "it is empty", "an .npz, .safetensors or JSON file with tensors");
  if (beginning.starts_with("\x93NUMPY"))
    refuse(file.path(), "it is an .npy file: one array without an id", "numpy.savez(FILE, ID=ARRAY, ...)");
  constexpr std::string_view legacy_torch_save = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9";
  const bool is_pickle =
      beginning.size() > 1 && beginning[0] == '\x80' && beginning[1] >= 2 && beginning[1] <= 5;
  if (is_pickle) refuse_pickle(file.path(), beginning.starts_with(legacy_torch_save));
  refuse(
      file.path(),
      "it begins with " + in_message(beginning.substr(0, 8)) + ", as no npz, safetensors or JSON file does",
      "an .npz, .safetensors or JSON file with tensors");
}

}  // namespace

StoredTensor stored_as(std::string id, const Layout& layout) {
  const auto& type = properties_of(layout.type);
  return {.id = std::move(id),
          .dtype = type.dtype,
          .stored_dtype = std::string(type.name),
          .shape = layout.shape};
}

const StoredTensor* StoredTrace::find(std::string_view id) const {
  return find_by_id(tensors_, id);
}

void StoredTrace::add(StoredTensor tensor, std::function<AnyTensor()> read) {
  tensors_.push_back(std::move(tensor));
  read_.push_back(std::move(read));
}

void StoredTrace::add(StoredTensor tensor, AnyTensor elements) {
  tensor.dtype = elements.dtype();
  tensor.stored_dtype = name_of(tensor.dtype);
  tensor.shape = elements.shape();
  add(std::move(tensor), [elements = std::move(elements)] { return elements; });
}

Recorder::Recorder(const Header& header) {
  header_ = header;
}

void Recorder::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  add({.id = event.id, .kind = event.kind, .axes = event.axes, .labels = event.labels},
      AnyTensor(*event.tensor));
}

std::unique_ptr<StoredTrace> open_trace(const std::string& path) {
  return open_trace(File(path));
}

MergedTrace::MergedTrace(std::vector<std::unique_ptr<StoredTrace>> files) {
  for (auto& one : files) {
    const std::shared_ptr<const StoredTrace> file = std::move(one);
    if (header_.lesson.empty()) header_ = file->header();
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      const auto& tensor = file->tensors()[i];
      if (find(tensor.id) != nullptr)
        throw Error(
            fmt::format("{} is in two files of --input; valid: each tensor in one of them", tensor.id));
      add(tensor, [file, i] { return file->read(i); });
    }
  }
}

TensorsAsTrace::TensorsAsTrace(Header header, std::map<std::string, AnyTensor> tensors) {
  header_ = std::move(header);
  for (auto& [id, tensor] : tensors) add({.id = id}, std::move(tensor));
}

std::string renamed(std::string id, const Renames& renames) {
  for (const auto& [from, to] : renames) {
    const bool is_group = from.ends_with('/') && id.starts_with(from);
    if (is_group || id == from) id.replace(0, from.size(), to);
  }
  return id;
}

RenamedTrace::RenamedTrace(const StoredTrace& file, const Renames& renames) {
  header_ = file.header();
  metadata_ = file.metadata();
  words_ = file.words();
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    auto tensor = file.tensors()[i];
    const auto id = std::exchange(tensor.id, renamed(tensor.id, renames));
    if (find(tensor.id) != nullptr)
      throw Error(
          fmt::format("{} is renamed to {}, which is there already; valid: another --rename", id, tensor.id));
    add(std::move(tensor), [&file, i] { return file.read(i); });
  }
}

std::unique_ptr<StoredTrace> open_trace(File file) {
  const auto beginning = file.bytes().substr(0, 64);
  switch (format_of(beginning)) {
    case FileFormat::npz:
      return open_npz(std::move(file));
    case FileFormat::safetensors:
      return open_safetensors(std::move(file));
    case FileFormat::json:
      return open_json(std::move(file));
    case FileFormat::unknown:
      if (file.path().ends_with(".csv")) return open_csv(file);
  }
  refuse_format(file, beginning);
}

}  // namespace attn
