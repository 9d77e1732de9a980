#include "tests/unit/trace/zip_file.hpp"

#include <zip.h>

#include <stdexcept>

namespace {

void require(bool done) {
  if (!done) throw std::runtime_error("the archive for a test cannot be made");
}

void add(zip_t* archive, const ZipEntry& entry, bool deflated) {
  zip_source_t* source = zip_source_buffer(archive, entry.content.data(), entry.content.size(), 0);
  const auto added = zip_file_add(archive, entry.name.c_str(), source, 0);
  require(added >= 0);
  const auto index = static_cast<zip_uint64_t>(added);
  require(zip_set_file_compression(archive, index, deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) == 0);
  require(zip_file_set_dostime(archive, index, 0, 0x21, 0) == 0);
}

}  // namespace

std::string zip_of(const std::vector<ZipEntry>& entries, bool deflated) {
  zip_source_t* source = zip_source_buffer_create(nullptr, 0, 0, nullptr);
  zip_source_keep(source);
  zip_t* archive = zip_open_from_source(source, ZIP_TRUNCATE, nullptr);
  require(archive != nullptr);
  for (const auto& entry : entries) add(archive, entry, deflated);
  require(zip_close(archive) == 0);
  zip_stat_t status;
  require(zip_source_stat(source, &status) == 0 && zip_source_open(source) == 0);
  std::string bytes(status.size, '\0');
  require(zip_source_read(source, bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size()));
  zip_source_close(source);
  zip_source_free(source);
  return bytes;
}

std::string npy_of(const std::string& header, const std::string& elements) {
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return bytes + header + elements;
}
