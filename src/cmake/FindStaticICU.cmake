# ICU::uc and ICU::data, linked statically where their archives are installed. ICU_ARCHIVES tells whether they are.
find_package(ICU ${StaticICU_FIND_VERSION} QUIET COMPONENTS uc data)
find_library(ICU_UC_ARCHIVE libicuuc.a)
find_library(ICU_DATA_ARCHIVE libicudata.a)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(StaticICU REQUIRED_VARS ICU_INCLUDE_DIR VERSION_VAR ICU_VERSION)

set(ICU_ARCHIVES OFF)
if(StaticICU_FOUND AND ICU_UC_ARCHIVE AND ICU_DATA_ARCHIVE)
  set(ICU_ARCHIVES ON)
  set_target_properties(ICU::uc PROPERTIES
    IMPORTED_LOCATION ${ICU_UC_ARCHIVE} IMPORTED_LOCATION_RELEASE ${ICU_UC_ARCHIVE})
  set_target_properties(ICU::data PROPERTIES
    IMPORTED_LOCATION ${ICU_DATA_ARCHIVE} IMPORTED_LOCATION_RELEASE ${ICU_DATA_ARCHIVE})
endif()
