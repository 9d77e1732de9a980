#include "trace/stored_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "trace/archives.hpp"
#include "trace/csv.hpp"
#include "trace/json/json.hpp"

namespace attn {

namespace {

constexpr std::uint64_t length_size = 8;  // of the header of a safetensors file

/// An object, and no length of a safetensors file: a text has no byte below the tab.
bool is_json(std::string_view beginning) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = beginning.substr(0, length_size);
  const auto start = beginning.find_first_not_of(blanks);
  return first.find_first_not_of(blanks) != first.npos && beginning[start] == '{' &&
         !any_of(first, [](char c) { return static_cast<unsigned char>(c) < '\t'; });
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

using nlohmann::json;

constexpr std::uint64_t longest_json_header = 100'000'000;
constexpr std::string_view valid_entry =
    R"({"dtype":"F32","shape":[3,4],"data_offsets":[0,48]} with offsets that fit)";

/// A list of whole numbers, none below 0.
Shape numbers_from(const json& list, std::string_view place) {
  if (!is_shape(list))
    refuse(place, fmt::format("it has {} where whole numbers belong", in_message(list.dump())), valid_entry);
  return list.get<Shape>();
}

class SafetensorsReader : public StoredTrace {
 public:
  explicit SafetensorsReader(File file) : file_(std::move(file)), bytes_(file_.bytes()) {
    const auto length = little_endian(bytes_.substr(0, length_size));
    const auto most = std::min(longest_json_header, bytes_.size() - length_size);
    if (length > most)
      refuse(file_.path(), fmt::format("its header claims {} bytes", length),
             fmt::format("up to {} for this file", most));
    const auto text = bytes_.substr(length_size, length);
    bytes_.remove_prefix(length_size + length);
    if (!text.starts_with('{')) refuse(file_.path(), "its header does not begin with {", "a JSON object");
    const auto header = parse_json<json>(text, file_.path());
    for (const auto& [name, entry] : header.items())
      if (name != "__metadata__") add_entry(name, entry);
    add_tensors();
    if (header.contains("__metadata__")) read_metadata(header["__metadata__"]);
  }

 private:
  std::string place_of(const std::string& name) const {
    return fmt::format("{}: tensor {}", file_.path(), in_message(name));
  }

  void add_entry(const std::string& id, const json& entry) {
    const auto place = place_of(id);
    if (!is_valid_name(id)) refuse(place, "its name has control characters or none", valid_name);
    const bool is_valid = entry.is_object() && entry.size() == 3 && entry.contains("dtype") &&
                          entry.contains("shape") && entry.contains("data_offsets");
    if (!is_valid) refuse(place, fmt::format("its entry is {}", in_message(entry.dump())), valid_entry);
    const auto& code = entry["dtype"];
    const auto* const type =
        element_type_called(code.is_string() ? code.get<std::string>() : "", &ElementType::safetensors);
    if (type == nullptr)
      refuse(place, fmt::format("its dtype is {}", in_message(code.dump())),
             "F16, BF16, F32, F64, BOOL, I8 to I64 and U8 to U64");
    const Layout layout{.type = type, .shape = numbers_from(entry["shape"], place)};
    const auto offsets = numbers_from(entry["data_offsets"], place);
    const auto size = stored_size(layout, place);
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != size)
      refuse(place,
             fmt::format("its shape {} of {} takes {} bytes, its offsets are {}", to_string(layout.shape),
                         type->name, size, in_message(entry["data_offsets"].dump())),
             valid_entry);
    layouts_.emplace(std::tuple(offsets[0], offsets[1], id), layout);
  }

  /// In the order of the elements, which have to follow each other from the header to the end.
  void add_tensors() {
    std::uint64_t end = 0;
    for (const auto& [offsets, layout] : layouts_) {
      const auto& [begin, next, id] = offsets;
      if (begin != end)
        refuse(place_of(id), fmt::format("its elements begin at {} where those before end at {}", begin, end),
               "elements without gap or overlap");
      end = next;
      add(stored_as(id, layout),
          [this, place = place_of(id), layout = layout, begin = begin, size = next - begin] {
            return decode(layout, bytes_.substr(begin, size), place);
          });
    }
    if (end != bytes_.size())
      refuse(file_.path(), fmt::format("its tensors take {} bytes, but {} are there", end, bytes_.size()),
             "as many as the header says");
  }

  void read_metadata(const json& metadata) {
    if (!metadata.is_object() || !all_of(metadata, std::mem_fn(&json::is_string)))
      refuse(file_.path(), "its __metadata__ is no object of texts", R"({"name":"text"})");
    metadata_ = metadata.get<std::map<std::string, std::string>>();
    if (metadata.value("schema", "") != trace_schema) return;
    read_lesson(metadata, header_, file_.path());
    read_config(parse_json<nlohmann::ordered_json>(metadata.value("config", "{}"), file_.path()), header_,
                file_.path());
    for (auto& tensor : tensors_) {
      const auto description = metadata_.find("tensor:" + tensor.id);
      if (description == metadata_.end()) continue;
      const auto place = place_of(tensor.id);
      read_description(parse_json<json>(description->second, place), tensor, place);
    }
  }

  File file_;
  std::string_view bytes_;  ///< in the end the elements alone
  std::map<std::tuple<std::size_t, std::size_t, std::string>, Layout> layouts_;  ///< by offsets and id
};

static_assert(std::endian::native == std::endian::little, "elements are stored as they are");

namespace fs = std::filesystem;

constexpr const char* rows_of_numbers = "rows of numbers, with commas between them";

AnyTensor matrix_in(const File& file) {
  const auto lines = pieces_of(trimmed(file.bytes()), "\n");
  if (lines[0].empty()) refuse(file.path(), "it is empty", rows_of_numbers);
  std::vector<double> numbers;
  std::size_t rows = 0, columns = 0;
  for (const auto line : lines) {
    const auto place = fmt::format("{}: line {}", file.path(), ++rows);
    const auto cells = pieces_of(line, ",");
    for (const auto cell : cells) {
      const auto number = number_in(trimmed(cell));
      if (!number) refuse(place, fmt::format("{} is no number", in_message(trimmed(cell))), rows_of_numbers);
      numbers.push_back(*number);
    }
    if (rows == 1) columns = cells.size();
    if (cells.size() != columns)
      refuse(place, fmt::format("it has {} numbers, but line 1 has {}", cells.size(), columns),
             "as many in every line");
  }
  AnyTensor matrix(Dtype::float64, {rows, columns});
  std::copy(numbers.begin(), numbers.end(), matrix.elements<double>());
  return matrix;
}

void add_matrix(StoredTrace& trace, std::string name, const File& file) {
  if (!is_valid_name(name)) refuse(file.path(), fmt::format("it is called {}", in_message(name)), valid_name);
  trace.add({.id = std::move(name)}, matrix_in(file));
}

bool is_csv(const fs::path& path) {
  return path.extension() == ".csv";
}

/// The files of rows in a folder and in those inside it, by name.
std::vector<fs::path> csv_files_in(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (is_csv(entry->path()) && entry->is_regular_file(error)) files.push_back(entry->path());
  if (error) refuse(folder, error.message(), "a folder that can be read");
  std::sort(files.begin(), files.end());
  return files;
}

std::string cell_of(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (value.is_number()) return value.dump();
  const auto text = value.is_array()
                        ? fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), " "))
                        : value.get<std::string>();
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

StoredTensor stored_as(std::string id, const Layout& layout) {
  return {.id = std::move(id),
          .dtype = layout.type->dtype,
          .stored_dtype = std::string(layout.type->name),
          .shape = layout.shape};
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
  if (beginning.starts_with("PK")) return open_npz(std::move(file));
  if (is_json(beginning)) return open_json(file);
  if (beginning.size() > length_size && beginning[length_size] == '{')
    return std::make_unique<SafetensorsReader>(std::move(file));
  if (!file.path().ends_with(".csv")) refuse_format(file, beginning);
  auto trace = std::make_unique<StoredTrace>();
  add_matrix(*trace, fs::path(file.path()).stem().string(), file);
  return trace;
}

void SafetensorsFile::describe(std::string_view name, const std::string& text) {
  append_member(metadata_, name, json_text(text));
}

void SafetensorsFile::add(std::string_view id, const TensorView& tensor, Dtype dtype) {
  const auto begin = elements_.size();
  elements_ += encode(tensor, dtype);
  append_member(entries_, id,
                json_text({{"dtype", element_type_of(dtype)->safetensors},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, elements_.size()}}}));
}

std::string SafetensorsFile::finish() {
  constexpr std::size_t alignment = 8;
  auto header =
      fmt::format("{{\"__metadata__\":{{{}}}{}{}}}", metadata_, entries_.empty() ? "" : ",", entries_);
  header.append((alignment - header.size() % alignment) % alignment, ' ');
  return little_endian(header.size(), length_size) + header + elements_;
}

SafetensorsWriter::SafetensorsWriter(const Header& header) {
  file_.describe("schema", std::string(trace_schema));
  file_.describe("lesson", header.lesson);
  file_.describe("title", header.title);
  file_.describe("config", '{' + config_as_json(header) + '}');
}

void SafetensorsWriter::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  const auto copy = with_one_nan(*event.tensor);
  file_.describe("tensor:" + event.id, description_as_json(event));
  file_.add(event.id, copy.view(), copy.dtype());
}

AnyTensor read_csv(const std::string& path) {
  return matrix_in(File(path, rows_of_numbers));
}

bool has_csv_files(const std::string& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && !csv_files_in(folder).empty();
}

std::unique_ptr<StoredTrace> open_csv_folder(const std::string& folder) {
  auto trace = std::make_unique<StoredTrace>();
  for (const auto& path : csv_files_in(folder))
    add_matrix(*trace, fs::relative(path, folder).replace_extension().string(),
               File(path.string(), rows_of_numbers));
  return trace;
}

std::string csv_of(const nlohmann::ordered_json& objects) {
  std::string text;
  for (const auto& object : objects) {
    std::vector<std::string> names, cells;
    for (const auto& [name, value] : object.items()) {
      names.push_back(name);
      cells.push_back(cell_of(value));
    }
    if (text.empty()) text = fmt::format("{}\n", fmt::join(names, ","));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace attn
