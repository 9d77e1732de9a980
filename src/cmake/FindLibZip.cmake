# LibZip::LibZip. Debian's own package configuration asks for the programs zipcmp, zipmerge and ziptool, which
# come in other packages. LibZip_SONAME is what a program that loads the library while it runs asks for.
find_library(LibZip_LIBRARY zip)
find_path(LibZip_INCLUDE_DIR zip.h)
if(LibZip_LIBRARY)
  execute_process(COMMAND ${CMAKE_READELF} --dynamic ${LibZip_LIBRARY} OUTPUT_VARIABLE LibZip_dynamic_section)
  string(REGEX MATCH "SONAME[^[]*\\[([^]]+)\\]" LibZip_match "${LibZip_dynamic_section}")
  set(LibZip_SONAME ${CMAKE_MATCH_1})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibZip REQUIRED_VARS LibZip_LIBRARY LibZip_INCLUDE_DIR LibZip_SONAME)

if(LibZip_FOUND AND NOT TARGET LibZip::LibZip)
  add_library(LibZip::LibZip UNKNOWN IMPORTED)
  set_target_properties(LibZip::LibZip PROPERTIES
    IMPORTED_LOCATION ${LibZip_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${LibZip_INCLUDE_DIR})
endif()
