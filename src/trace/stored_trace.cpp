#include "trace/stored_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "attn/error.hpp"
#include "trace/csv.hpp"
#include "trace/json/json.hpp"
#include "trace/npz/npz.hpp"
#include "trace/safetensors.hpp"

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

const StoredTensor* StoredTrace::find(std::string_view id) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& tensor) { return tensor.id == id; });
  return found == tensors_.end() ? nullptr : &*found;
}

Recorder::Recorder(const Header& header) {
  header_ = header;
}

void Recorder::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  const auto& tensor = *event.tensor;
  tensors_.push_back({.id = event.id,
                      .dtype = tensor.dtype,
                      .stored_dtype = std::string(name_of(tensor.dtype)),
                      .shape = tensor.shape,
                      .kind = event.kind,
                      .axes = event.axes,
                      .labels = event.labels});
  recorded_.emplace_back(tensor);
}

AnyTensor Recorder::read(std::size_t index) const {
  return recorded_.at(index);
}

std::unique_ptr<StoredTrace> open_trace(const std::string& path) {
  return open_trace(File(path));
}

MergedTrace::MergedTrace(std::vector<std::unique_ptr<StoredTrace>> files) : files_(std::move(files)) {
  for (const auto& file : files_) {
    if (header_.lesson.empty()) header_ = file->header();
    for (const auto& tensor : file->tensors()) {
      if (find(tensor.id) != nullptr)
        throw Error(
            fmt::format("{} is in two files of --input; valid: each tensor in one of them", tensor.id));
      tensors_.push_back(tensor);
    }
  }
}

AnyTensor MergedTrace::read(std::size_t index) const {
  auto file = files_.begin();
  while (index >= (*file)->tensors().size()) index -= (*file++)->tensors().size();
  return (*file)->read(index);
}

TensorsAsTrace::TensorsAsTrace(Header header, std::map<std::string, AnyTensor> tensors)
    : by_id_(std::move(tensors)) {
  header_ = std::move(header);
  for (const auto& [id, tensor] : by_id_)
    tensors_.push_back({.id = id,
                        .dtype = tensor.dtype(),
                        .stored_dtype = std::string(name_of(tensor.dtype())),
                        .shape = tensor.shape()});
}

AnyTensor TensorsAsTrace::read(std::size_t index) const {
  return by_id_.at(tensors_[index].id);
}

std::string renamed(std::string id, const Renames& renames) {
  for (const auto& [from, to] : renames) {
    const bool is_group = from.ends_with('/') && id.starts_with(from);
    if (is_group || id == from) id.replace(0, from.size(), to);
  }
  return id;
}

RenamedTrace::RenamedTrace(const StoredTrace& file, const Renames& renames) : file_(file) {
  header_ = file.header();
  metadata_ = file.metadata();
  words_ = file.words();
  for (const auto& tensor : file.tensors()) {
    auto id = renamed(tensor.id, renames);
    if (find(id) != nullptr)
      throw Error(
          fmt::format("{} is renamed to {}, which is there already; valid: another --rename", tensor.id, id));
    tensors_.push_back(tensor);
    tensors_.back().id = std::move(id);
  }
}

AnyTensor RenamedTrace::read(std::size_t index) const {
  return file_.read(index);
}

std::unique_ptr<StoredTrace> open_trace(File file) {
  std::array<char, 64> buffer{};
  const std::string_view beginning(buffer.data(), file.read(0, buffer.data(), buffer.size()));
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
