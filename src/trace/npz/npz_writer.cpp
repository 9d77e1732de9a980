#include "trace/npz/npz_writer.hpp"

#include <fmt/format.h>

#include <deque>
#include <stdexcept>
#include <utility>

#include "trace/any_tensor.hpp"
#include "trace/npz/libzip.hpp"
#include "trace/npz/npy.hpp"
#include "trace/json/json_values.hpp"

namespace attn {

namespace {

constexpr std::size_t longest_comment = 65535;
constexpr zip_uint16_t midnight = 0, first_of_1980 = 0x21;  // the first day that a ZIP archive can name

void require(bool done, const char* action) {
  if (!done) throw std::logic_error(fmt::format("[NpzWriter] {}", action));
}

zip_source_t* new_source() {
  zip_source_t* source = libzip().source_buffer_create(nullptr, 0, 0, nullptr);
  require(source != nullptr, "no memory for the archive");
  return source;
}

/// All bytes of a source, which is freed.
std::string take_bytes(zip_source_t* source) {
  zip_stat_t status;
  libzip().stat_init(&status);
  require(libzip().source_stat(source, &status) == 0 && libzip().source_open(source) == 0,
          "the archive is not there");
  std::string bytes(status.size, '\0');
  const auto count = libzip().source_read(source, bytes.data(), bytes.size());
  libzip().source_close(source);
  libzip().source_free(source);
  require(count == static_cast<zip_int64_t>(bytes.size()), "the archive cannot be read back");
  return bytes;
}

}  // namespace

/// libzip reads the members at the end, so that they have to stay until then.
struct NpzWriter::Archive {
  Archive() : source(new_source()) {
    libzip().source_keep(source);
    zip = libzip().open_from_source(source, ZIP_TRUNCATE, nullptr);
    require(zip != nullptr, "the archive cannot be opened");
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() {
    if (zip == nullptr) return;
    libzip().discard(zip);
    libzip().source_free(source);
  }

  void add(const std::string& id, std::string bytes, const std::string& comment) {
    members.push_back(std::move(bytes));
    zip_source_t* member = libzip().source_buffer(zip, members.back().data(), members.back().size(), 0);
    require(member != nullptr, "no memory for a member");
    const auto added = libzip().file_add(zip, (id + ".npy").c_str(), member, ZIP_FL_ENC_UTF_8);
    require(added >= 0, libzip().strerror(zip));
    const auto index = static_cast<zip_uint64_t>(added);
    require(libzip().set_file_compression(zip, index, ZIP_CM_STORE, 0) == 0, libzip().strerror(zip));
    require(libzip().file_set_dostime(zip, index, midnight, first_of_1980, 0) == 0, libzip().strerror(zip));
    if (comment.empty() || comment.size() > longest_comment) return;
    require(libzip().file_set_comment(zip, index, comment.data(), static_cast<zip_uint16_t>(comment.size()),
                                      ZIP_FL_ENC_UTF_8) == 0,
            libzip().strerror(zip));
  }

  std::string close() {
    require(libzip().close(zip) == 0, libzip().strerror(zip));
    zip = nullptr;
    members.clear();
    return take_bytes(source);
  }

  zip_source_t* source;
  zip_t* zip = nullptr;
  std::deque<std::string> members;
};

NpzWriter::NpzWriter(const Header& header) : archive_(std::make_unique<Archive>()) {
  std::string comment = "{";
  append_member(comment, "schema", std::string(trace_schema));
  append_member(comment, "lesson", header.lesson);
  append_member(comment, "title", header.title);
  comment += '}';
  require(libzip().set_archive_comment(archive_->zip, comment.data(),
                                       static_cast<zip_uint16_t>(comment.size())) == 0,
          libzip().strerror(archive_->zip));
  archive_->add("config", npy_bytes(config_as_json(header)), "");
}

NpzWriter::~NpzWriter() = default;

void NpzWriter::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  archive_->add(event.id, npy_bytes(with_one_nan(*event.tensor).view()), description_as_json(event));
}

std::string NpzWriter::finish() {
  auto bytes = archive_->close();
  archive_.reset();
  return bytes;
}

}  // namespace attn
