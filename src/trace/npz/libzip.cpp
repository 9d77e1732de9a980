#include "trace/npz/libzip.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "attn/error.hpp"

namespace attn {

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
