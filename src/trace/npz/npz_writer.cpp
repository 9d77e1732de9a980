#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "trace/any_tensor.hpp"
#include "trace/json/values.hpp"
#include "trace/npz/npy.hpp"
#include "trace/npz/npz.hpp"
#include "trace/npz/zip_archive.hpp"

namespace attn {

namespace {

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

/// An archive that is being written. libzip reads the members at the end, so that they have to stay until
/// then.
class Archive {
 public:
  Archive() : source_(new_source()) {
    libzip().source_keep(source_);
    zip_ = libzip().open_from_source(source_, ZIP_TRUNCATE, nullptr);
    require(zip_ != nullptr, "the archive cannot be opened");
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() {
    if (zip_ == nullptr) return;
    libzip().discard(zip_);
    libzip().source_free(source_);
  }

  void add(const std::string& id, const std::string& bytes) {
    zip_source_t* member = libzip().source_buffer(zip_, bytes.data(), bytes.size(), 0);
    require(member != nullptr, "no memory for a member");
    const auto added = libzip().file_add(zip_, (id + ".npy").c_str(), member, ZIP_FL_ENC_UTF_8);
    require(added >= 0, libzip().strerror(zip_));
    const auto index = static_cast<zip_uint64_t>(added);
    require(libzip().set_file_compression(zip_, index, ZIP_CM_STORE, 0) == 0, libzip().strerror(zip_));
    require(libzip().file_set_dostime(zip_, index, midnight, first_of_1980, 0) == 0, libzip().strerror(zip_));
  }

  std::string close() {
    require(libzip().close(zip_) == 0, libzip().strerror(zip_));
    zip_ = nullptr;
    return take_bytes(source_);
  }

 private:
  zip_source_t* source_;
  zip_t* zip_ = nullptr;
};

}  // namespace

NpzWriter::NpzWriter(const Header& header) : config_(config_as_json(header)), description_("{") {
  config_.pop_back();  // the brace at its end
  append_member(description_, "schema", std::string(trace_schema));
  append_member(description_, "lesson", header.lesson);
  append_member(description_, "title", header.title);
  append_name(description_, "tensors");
  description_ += '{';
}

void NpzWriter::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  members_.emplace_back(event.id, npy_bytes(with_one_nan(*event.tensor).view()));
  append_name(description_, event.id);
  description_ += description_as_json(event);
}

std::string NpzWriter::finish() {
  append_name(config_, "trace");
  const auto config = npy_bytes(std::exchange(config_, {}) + std::exchange(description_, {}) + "}}}");
  const auto members = std::exchange(members_, {});
  Archive archive;
  archive.add("config", config);
  for (const auto& [id, bytes] : members) archive.add(id, bytes);
  return archive.close();
}

}  // namespace attn
