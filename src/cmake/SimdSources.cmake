# add_simd_sources(TARGET STEM...) adds STEM_generic.cpp, compiled for what every processor of the architecture
# has, and on x86-64 STEM_avx2.cpp and STEM_avx512.cpp, compiled for theirs. Which of them run is chosen at start.
function(add_simd_sources target)
  set(generic)
  set(avx2 -mavx2 -mfma)
  set(avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma
    -Wno-uninitialized -Wno-maybe-uninitialized)  # GCC 12 sees uninitialised registers in its own header
  set(isas generic)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND isas avx2 avx512)
  endif()
  foreach(stem IN LISTS ARGN)
    foreach(isa IN LISTS isas)
      set(options ${${isa}})
      if(ATTNLAB_SANITIZE)
        list(APPEND options -fno-sanitize-address-use-after-scope)  # with it each file takes a minute to compile
      endif()
      target_sources(${target} PRIVATE ${stem}_${isa}.cpp)
      set_source_files_properties(${stem}_${isa}.cpp PROPERTIES COMPILE_OPTIONS "${options}")
    endforeach()
  endforeach()
endfunction()
