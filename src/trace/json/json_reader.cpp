#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "trace/element_type.hpp"
#include "trace/id.hpp"
#include "trace/json/json.hpp"
#include "trace/json/strict.hpp"

namespace attn {

namespace {

constexpr std::size_t longest_word = sizeof("-Infinity") - 1;

bool is_letter(int byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/// The bytes of a JSON file. JSON has no numbers that are not finite, yet many programs, Python's json.dump
/// among them, write NaN, Infinity and -Infinity as if it had: outside of texts these get the quotes that
/// they have where this program writes them.
class QuotedBytes {
 public:
  /// `file` must outlive it.
  explicit QuotedBytes(std::FILE* file) : file_(file) {}

  /// The next byte, none at the end.
  std::optional<char> next() {
    if (in_word_ < word_.size()) {
      const char byte = word_[in_word_++];
      if (byte == '"') ++added_;
      return byte;
    }
    const int read = std::fgetc(file_);
    if (read == EOF) return std::nullopt;
    const auto byte = static_cast<char>(read);
    if (is_in_text_) {
      is_in_text_ = byte != '"' || is_escaped_;
      is_escaped_ = byte == '\\' && !is_escaped_;
      return byte;
    }
    is_in_text_ = byte == '"';
    if (byte != 'N' && byte != 'I' && byte != '-') return byte;
    word_ = word_from(byte);
    in_word_ = 0;
    return next();
  }

  /// How many of the bytes so far are quotes that the file does not have.
  std::size_t added() const { return added_; }

 private:
  /// The byte in the file and the letters that follow it, in quotes where they are such a number.
  std::string word_from(char first) {
    std::string word(1, first);
    int after = std::fgetc(file_);
    for (; is_letter(after) && word.size() <= longest_word; after = std::fgetc(file_))
      word += static_cast<char>(after);
    if (after != EOF) std::ungetc(after, file_);
    const bool is_number = word == "NaN" || word == "Infinity" || word == "-Infinity";
    return is_number ? '"' + word + '"' : word;
  }

  std::FILE* file_;
  std::string word_;         ///< that was read already
  std::size_t in_word_ = 0;  ///< how much of it was passed on
  std::size_t added_ = 0;
  bool is_in_text_ = false, is_escaped_ = false;
};

/// What a parser reads them through.
class QuotedByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  QuotedByteIterator() = default;  ///< the end
  explicit QuotedByteIterator(QuotedBytes& bytes) : bytes_(&bytes), byte_(bytes.next()) {}

  char operator*() const { return *byte_; }
  QuotedByteIterator& operator++() {
    byte_ = bytes_->next();
    return *this;
  }
  QuotedByteIterator operator++(int) {
    const auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const QuotedByteIterator& other) const {
    return byte_.has_value() == other.byte_.has_value();
  }
  bool operator!=(const QuotedByteIterator& other) const { return !(*this == other); }

 private:
  QuotedBytes* bytes_ = nullptr;
  std::optional<char> byte_;
};

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view valid_document =
    R"(a trace as --format json writes it, or tensors by id: {"X": [[1, 0], [0, 1]]})";

ElementType type_from(const json& name, std::string_view place) {
  for (const auto type : {ElementType::float64, ElementType::float32, ElementType::float16,
                          ElementType::bfloat16, ElementType::int64, ElementType::boolean})
    if (name == name_of(type)) return type;
  refuse(place, fmt::format("its dtype is {}", in_message(name.dump())),
         "float64, float32, float16, bfloat16, int64 or bool");
}

Shape shape_from(const json& value, std::string_view place) {
  const bool is_shape =
      value.is_array() && std::all_of(value.begin(), value.end(), std::mem_fn(&json::is_number_unsigned));
  if (!is_shape) refuse(place, fmt::format("its shape is {}", in_message(value.dump())), "a list of lengths");
  return value.get<Shape>();
}

/// All but what describes the tensor.
StoredWords words_from(const json& event) {
  constexpr std::array<std::string_view, 5> of_tensor = {"id", "shape", "axes", "labels", "dtype"};
  StoredWords words{.id = event["id"]};
  for (const auto& [name, value] : event.items())
    if (std::find(of_tensor.begin(), of_tensor.end(), name) == of_tensor.end())
      words.members.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  return words;
}

/// Passes each event on as soon as it is complete, and forgets it.
class EventReader : public StrictJson<ordered_json> {
 public:
  using TakeEvent = std::function<void(ordered_json& event, const std::string& place)>;

  EventReader(std::string path, const QuotedBytes& bytes, TakeEvent take_event)
      : StrictJson(path), path_(std::move(path)), bytes_(bytes), take_event_(std::move(take_event)) {}

  bool parse_error(std::size_t byte, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    return StrictJson::parse_error(byte - bytes_.added(), token, error);
  }

  /// A number that would be another float32 if it were rounded to float64 first is kept as its text.
  bool number_float(number_float_t value, const string_t& text) override {
    if (!is_in_data() || static_cast<float>(value) == std::strtof(text.c_str(), nullptr))
      return StrictJson::number_float(value, text);
    return add(ordered_json::binary({text.begin(), text.end()}));
  }

  bool start_object(std::size_t size) override {
    const bool is_event = depth() == depth_of_event - 1 && name_at(1) == "events" && current().is_array();
    StrictJson::start_object(size);
    if (!is_event) return true;
    event_ = &current();
    ++event_count_;
    return true;
  }

  bool end_object() override {
    const bool is_event = event_ == &current();
    if (is_event) take_event_(*event_, place());
    StrictJson::end_object();
    if (!is_event) return true;
    event_ = nullptr;
    current().clear();
    return true;
  }

 protected:
  std::string place() const override {
    if (event_ == nullptr) return path_;
    const auto id = event_->find("id");
    const bool has_id =
        id != event_->end() && id->is_string() && is_valid_id(id->get_ref<const std::string&>());
    return has_id ? fmt::format("{}: {}", path_, id->get_ref<const std::string&>())
                  : fmt::format("{}: event {}", path_, event_count_);
  }

  /// Lists of elements are as long as the file can make them.
  bool is_bounded() const override { return !is_in_data(); }

 private:
  static constexpr std::size_t depth_of_event = 3;

  bool is_in_data() const { return event_ != nullptr && name_at(depth_of_event) == "data"; }

  std::string path_;
  const QuotedBytes& bytes_;
  TakeEvent take_event_;
  ordered_json* event_ = nullptr;  ///< that is open
  std::size_t event_count_ = 0;
};

class JsonReader : public StoredTrace {
 public:
  explicit JsonReader(const File& file) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(file.stream(), std::fclose);
    QuotedBytes bytes(stream.get());
    EventReader reader(file.path(), bytes,
                       [this](ordered_json& event, const std::string& place) { add_event(event, place); });
    ordered_json::sax_parse(QuotedByteIterator(bytes), QuotedByteIterator(), &reader);
    read_document(reader.take(), file.path());
  }

  AnyTensor read(std::size_t index) const override { return elements_.at(index); }

 private:
  void read_document(const ordered_json& document, const std::string& path) {
    if (is_plain(document)) return read_tensors(document, path);
    if (!document.is_object() || document.value("schema", ordered_json()) != trace_schema)
      refuse(path, fmt::format("its schema is not {}", trace_schema), valid_document);
    const auto events = document.find("events"), config = document.find("config");
    if (config == document.end() || events == document.end() || !events->is_array())
      refuse(path, "it has no config or no events", valid_document);
    if (!events->empty())
      refuse(path, fmt::format("its events have {}", in_message(events->front().dump())), "objects");
    read_lesson(document, header_, path);
    read_config(*config, header_, path);
  }

  /// Whether it is no trace but tensors by their ids. A trace says its schema.
  bool is_plain(const ordered_json& document) const {
    return document.is_object() && !document.empty() && !document.contains("schema") && ids_.empty();
  }

  void read_tensors(const ordered_json& document, const std::string& path) {
    for (const auto& [id, data] : document.items()) {
      if (id == "config" && data.is_object()) {
        read_config(data, header_, path);
        continue;
      }
      if (!is_valid_name(id)) refuse(path, fmt::format("it has the name {}", in_message(id)), valid_name);
      elements_.push_back(tensor_from(data, fmt::format("{}: {}", path, id)));
      const auto& tensor = elements_.back();
      tensors_.push_back({.id = id,
                          .dtype = tensor.dtype(),
                          .stored_dtype = std::string(name_of(tensor.dtype())),
                          .shape = tensor.shape()});
    }
  }

  void add_event(ordered_json& read, const std::string& place) {
    const auto data = read.contains("data") ? std::optional(std::move(read["data"])) : std::nullopt;
    read.erase("data");
    const json event = read;
    const auto id = event.value("id", json()), kind = event.value("kind", json());
    if (!id.is_string() || !is_valid_id(id.get_ref<const std::string&>()))
      refuse(place, fmt::format("its id is {}", in_message(id.dump())), "letters, digits and _ . / = -");
    if (!ids_.insert(id).second) refuse(place, "it is there twice", "each id once");
    words_.push_back(words_from(event));
    constexpr std::array without_tensor = {Kind::note, Kind::claim, Kind::mistake};
    if (std::any_of(without_tensor.begin(), without_tensor.end(),
                    [&](Kind other) { return kind == name_of(other); }))
      return;
    if (!data) refuse(place, "it has no data, as in a trace made with --shapes", "a trace with numbers");
    const Layout layout{.type = type_from(event.value("dtype", json()), place),
                        .shape = shape_from(event.value("shape", json()), place)};
    stored_size(layout, place);
    const auto dtype = dtype_for(layout.type);
    StoredTensor tensor{
        .id = id, .dtype = dtype, .stored_dtype = std::string(name_of(dtype)), .shape = layout.shape};
    read_description(event, tensor, place);
    elements_.push_back(tensor_from(*data, dtype, layout.shape, place));
    tensors_.push_back(std::move(tensor));
  }

  std::vector<AnyTensor> elements_;  ///< of each tensor
  std::unordered_set<std::string> ids_;
};

}  // namespace

std::unique_ptr<StoredTrace> open_json(File file) {
  return std::make_unique<JsonReader>(file);
}

}  // namespace attn
