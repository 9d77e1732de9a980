# What keeps a program small that links OpenBLAS and ICU statically: of 66 MB it leaves 21.

# add_used_icu_data(TARGET) links that part of ICU's data which words, characters and their forms come from, in the
# place of all, which also has the names of months in 700 languages: 3 MB of 31. Does nothing where ICU is not linked
# statically or its program icupkg is not there.
function(add_used_icu_data target)
  string(REGEX MATCH "^[0-9]+" version "${ICU_VERSION}")
  find_program(ICUPKG icupkg PATHS /usr/sbin /sbin)
  if(NOT ICU_ARCHIVES OR NOT ICUPKG OR NOT CMAKE_OBJCOPY)
    return()
  endif()
  set(name icudt${version}l)
  set(folder ${PROJECT_BINARY_DIR}/icu)
  set(source ${folder}/data.cpp)
  if(NOT TARGET icu_data)
    set(list ${PROJECT_SOURCE_DIR}/src/cmake/icu_data.txt)
    file(CONFIGURE OUTPUT ${source} CONTENT [[
asm(R"(.section .rodata
.balign 16
.globl icudt@version@_dat
icudt@version@_dat: .incbin "@folder@/part/@name@.dat"
.previous)");
]] @ONLY)
    add_custom_command(OUTPUT ${folder}/part/${name}.dat
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}/items ${folder}/part
      COMMAND ${CMAKE_AR} x ${ICU_DATA_ARCHIVE} ${name}_dat.o
      COMMAND ${CMAKE_OBJCOPY} -O binary --only-section=.rodata ${name}_dat.o ${name}.dat
      COMMAND ${ICUPKG} -d items -x ${list} ${name}.dat
      COMMAND ${ICUPKG} -s items -a ${list} new part/${name}.dat
      COMMAND ${CMAKE_COMMAND} -E rm ${name}_dat.o ${name}.dat
      DEPENDS ${list} ${ICU_DATA_ARCHIVE}
      WORKING_DIRECTORY ${folder}
      COMMENT "Taking from ICU's data what is used"
      VERBATIM)
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${folder}/part/${name}.dat)
    add_library(icu_data OBJECT ${source})
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:icu_data>)
endfunction()

# link_fewer_blas_cores(TARGET) leaves out OpenBLAS's kernels for processors that are rare by now or that another
# core's kernels are as good for: 17 MB of 25. Such a processor takes the kernels of the core named after it, whose
# instructions it all has. Does nothing where the archive has no choice of cores.
function(link_fewer_blas_cores target)
  if(NOT OpenBLAS_LIBRARY MATCHES "\\.a$")
    return()
  endif()
  file(STRINGS ${OpenBLAS_LIBRARY} has_cores REGEX "gotoblas_COOPERLAKE" LIMIT_COUNT 1)
  if(NOT has_cores)
    return()
  endif()
  foreach(pair
      CORE2:PRESCOTT PENRYN:PRESCOTT DUNNINGTON:PRESCOTT ATOM:PRESCOTT NANO:PRESCOTT
      OPTERON_SSE3:OPTERON BARCELONA:OPTERON BOBCAT:OPTERON
      BULLDOZER:SANDYBRIDGE PILEDRIVER:SANDYBRIDGE STEAMROLLER:SANDYBRIDGE EXCAVATOR:SANDYBRIDGE
      ZEN:HASWELL COOPERLAKE:SKYLAKEX)
    string(REGEX MATCH "(.+):(.+)" match ${pair})
    target_link_options(${target} PRIVATE LINKER:--defsym=gotoblas_${CMAKE_MATCH_1}=gotoblas_${CMAKE_MATCH_2})
  endforeach()
endfunction()

function(keep_small target)
  add_used_icu_data(${target})
  link_fewer_blas_cores(${target})
endfunction()
