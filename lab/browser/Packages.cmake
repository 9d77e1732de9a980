# In the place of the system's packages, when emscripten compiles: the header-only ones from ATTNLAB_HEADERS, a folder
# that lab/browser/build fills, for emscripten must not see the system's other headers. Loops stand for BLAS, the
# browser for ICU; there is no libzip.
set(ATTNLAB_HEADERS "" CACHE PATH "The folder of header-only libraries")
foreach(name xtensor xsimd fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 OpenBLAS::OpenBLAS ICU::uc ICU::data)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
endforeach()
set_target_properties(xtensor PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${ATTNLAB_HEADERS})
set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY)
set(XTENSOR_BLAS_INCLUDE_DIR ${ATTNLAB_HEADERS})
set(LibZip_INCLUDE_DIR ${ATTNLAB_HEADERS})

# An exception is one of WebAssembly's own: those that JavaScript throws make a step many times slower.
add_compile_options(-fwasm-exceptions -msimd128 -msse2)
add_link_options(-fwasm-exceptions)
# The strings of emscripten's library are compiled to be small: a function call for each look at one.
add_compile_definitions(_LIBCPP_DISABLE_EXTERN_TEMPLATE)
