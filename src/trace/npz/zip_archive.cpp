#include "trace/npz/zip_archive.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "attn/error.hpp"

namespace attn {

namespace {

constexpr std::string_view valid_archive = "a ZIP archive as numpy.savez writes it";

/// Deflate packs no more than 258 bytes into 2 bits.
constexpr std::uint64_t densest = 1032;

std::string message_of(zip_error_t* error) {
  std::string message = libzip().error_strerror(error);
  libzip().error_fini(error);
  return message;
}

[[noreturn]] void refuse_archive(const File& file, zip_error_t* error) {
  refuse(file.path(), fmt::format("it is no whole ZIP archive: {}", message_of(error)), valid_archive);
}

zip_t* open_archive(const File& file) {
  zip_error_t error;
  libzip().error_init(&error);
  std::FILE* stream = file.stream();
  zip_source_t* source = libzip().source_filep_create(stream, 0, -1, &error);
  if (source == nullptr) {
    std::fclose(stream);
    refuse_archive(file, &error);
  }
  zip_t* archive = libzip().open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    libzip().source_free(source);
    refuse_archive(file, &error);
  }
  return archive;
}

/// One line of the directory, which claims no more than could be true.
zip_stat_t directory_entry(const File& file, zip_t* archive, std::uint64_t index) {
  zip_stat_t entry;
  libzip().stat_init(&entry);
  constexpr zip_uint64_t needed =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (libzip().stat_index(archive, index, 0, &entry) != 0 || (entry.valid & needed) != needed)
    refuse(file.path(), fmt::format("its directory is broken at member {}", index), valid_archive);
  const auto place = fmt::format("{}: member {}", file.path(), in_message(entry.name));
  if (entry.encryption_method != ZIP_EM_NONE) refuse(place, "it is encrypted", "no encryption");
  const bool is_stored = entry.comp_method == ZIP_CM_STORE;
  if (!is_stored && entry.comp_method != ZIP_CM_DEFLATE)
    refuse(place, fmt::format("it is packed by method {}", entry.comp_method), "stored or deflated");
  const bool is_possible =
      is_stored ? entry.size == entry.comp_size : entry.size / densest <= entry.comp_size;
  if (entry.comp_size > file.size() || !is_possible)
    refuse(place, fmt::format("it claims {} bytes packed into {}", entry.size, entry.comp_size),
           "sizes that are true");
  return entry;
}

}  // namespace

void ZipArchive::Discard::operator()(zip* archive) const {
  libzip().discard(archive);
}

void ZipArchive::Stream::Close::operator()(zip_file* file) const {
  libzip().fclose(file);
}

ZipArchive::ZipArchive(File file) : file_(std::move(file)), archive_(open_archive(file_)) {
  std::uint64_t packed = 0;
  for (std::uint64_t i = 0; i < member_count(); ++i)
    packed += directory_entry(file_, archive_.get(), i).comp_size;
  if (packed > file_.size())
    refuse(path(), fmt::format("its members claim {} packed bytes, but it has {}", packed, file_.size()),
           "members that do not overlap");
}

std::uint64_t ZipArchive::member_count() const {
  return static_cast<std::uint64_t>(libzip().get_num_entries(archive_.get(), 0));
}

ZipMember ZipArchive::member(std::uint64_t index) const {
  const auto entry = directory_entry(file_, archive_.get(), index);
  return {entry.name, entry.size, entry.comp_method != ZIP_CM_STORE};
}

ZipArchive::Stream::Stream(const ZipArchive& archive, std::uint64_t index, std::string place)
    : place_(std::move(place)), file_(libzip().fopen_index(archive.archive_.get(), index, 0)) {
  if (!file_)
    refuse(place_, fmt::format("it cannot be read: {}", libzip().strerror(archive.archive_.get())),
           valid_archive);
}

void ZipArchive::Stream::read(void* to, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    const auto got = libzip().fread(file_.get(), static_cast<char*>(to) + done, count - done);
    if (got < 0)
      refuse(place_, fmt::format("it is broken: {}", libzip().file_strerror(file_.get())), valid_archive);
    if (got == 0) refuse(place_, "it ends before its size", valid_archive);
    done += static_cast<std::size_t>(got);
  }
}

void ZipArchive::Stream::finish() {
  char beyond = 0;
  const auto got = libzip().fread(file_.get(), &beyond, 1);
  if (got < 0)
    refuse(place_, fmt::format("it is broken: {}", libzip().file_strerror(file_.get())), valid_archive);
  if (got > 0) refuse(place_, "it goes on after its size", valid_archive);
}

namespace {

/// Stays open until the program ends.
void* library() {
  static void* const opened = dlopen(ATTN_LIBZIP, RTLD_LAZY | RTLD_LOCAL);
  if (opened == nullptr)
    throw Error(fmt::format("libzip, which reads and writes archives, cannot be loaded: {}", dlerror()));
  return opened;
}

}  // namespace

LibZipFunction::LibZipFunction(const char* name) : address_(dlsym(library(), name)) {
  if (address_ == nullptr)
    throw Error(fmt::format("{} has no function {}; valid: libzip 1.7 or later", ATTN_LIBZIP, name));
}

const LibZip& libzip() {
  static const LibZip functions;
  return functions;
}

}  // namespace attn
