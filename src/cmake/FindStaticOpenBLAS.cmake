# OpenBLAS::OpenBLAS, linked statically where the archive is installed: a program that loads the shared
# library spends several milliseconds at every start.
find_library(OpenBLAS_LIBRARY NAMES libopenblas.a openblas)
find_package(Threads REQUIRED)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(StaticOpenBLAS REQUIRED_VARS OpenBLAS_LIBRARY)

if(StaticOpenBLAS_FOUND AND NOT TARGET OpenBLAS::OpenBLAS)
  add_library(OpenBLAS::OpenBLAS UNKNOWN IMPORTED)
  set_target_properties(OpenBLAS::OpenBLAS PROPERTIES
    IMPORTED_LOCATION ${OpenBLAS_LIBRARY}
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
endif()
