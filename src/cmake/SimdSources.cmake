# add_simd_sources(TARGET HEADER) compiles a header of explicit instantiations once for each instruction set, with
# ATTN_ISA defined as its name: generic, what every processor of the architecture has, and on x86-64 avx2 and avx512.
# Which of them run is chosen at start.
function(add_simd_sources target header)
  set(generic)
  set(avx2 -mavx2 -mfma)
  set(avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma
    -Wno-uninitialized -Wno-maybe-uninitialized)  # GCC 12 sees uninitialised registers in its own header
  set(isas generic)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND isas avx2 avx512)
  endif()
  cmake_path(GET header STEM stem)
  cmake_path(ABSOLUTE_PATH header OUTPUT_VARIABLE path)
  foreach(isa IN LISTS isas)
    set(options ${thorough_options} ${${isa}})
    if(ATTNLAB_SANITIZE)
      list(APPEND options -fno-sanitize-address-use-after-scope)  # with it each file takes a minute to compile
      if(NOT isa STREQUAL "generic")  # the same source again
        list(APPEND options -fno-sanitize=undefined)
      endif()
    endif()
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${isa}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#define ATTN_ISA ${isa}\n#include \"${path}\"\n")
    target_sources(${target} PRIVATE ${source})
    set_source_files_properties(${source} PROPERTIES
      COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()
