# The program as WebAssembly with the trained weights in it, and the JavaScript that loads it: a function that gives a
# Promise of the module.
target_sources(attnlab PRIVATE ${CMAKE_CURRENT_LIST_DIR}/cblas.cpp ${CMAKE_CURRENT_LIST_DIR}/unicode.cpp)
target_include_directories(attnlab PRIVATE ${ATTNLAB_HEADERS}/generated)
target_link_options(attnlab PRIVATE
  -O1  # what the compiler has optimised is optimised again from -O2 on, for minutes, and becomes a tenth smaller
  -sMODULARIZE=1 -sEXPORT_NAME=attnlab -sALLOW_MEMORY_GROWTH=1 -sINVOKE_RUN=0
  -sENVIRONMENT=web,worker,node -sEXPORTED_RUNTIME_METHODS=callMain,FS,stackSave,stackRestore
  "SHELL:--js-library ${CMAKE_CURRENT_LIST_DIR}/unicode.js")
# data/ and lessons/ as an installed program has them.
file(GLOB embedded RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/data/models/*.safetensors ${PROJECT_SOURCE_DIR}/data/corpora/* ${PROJECT_SOURCE_DIR}/data/lexicon/*.txt
  ${PROJECT_SOURCE_DIR}/data/mistakes/*.md ${PROJECT_SOURCE_DIR}/data/names/*.txt
  ${PROJECT_SOURCE_DIR}/lessons/*.md ${PROJECT_SOURCE_DIR}/lessons/parts/*.md)
list(FILTER embedded EXCLUDE REGEX "README.md|by_hand.txt")
foreach(file IN LISTS embedded)
  string(REPLACE /data/data/ /data/ place /data/${file})
  target_link_options(attnlab PRIVATE "SHELL:--embed-file ${PROJECT_SOURCE_DIR}/${file}@${place}")
  set_property(TARGET attnlab APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
endforeach()
set_property(TARGET attnlab APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/unicode.js)

# What the book holds: the code compressed, and the hash of the script that its policy lets run.
add_custom_command(TARGET attnlab POST_BUILD
  COMMAND gzip -9 -k -f -n $<TARGET_FILE_DIR:attnlab>/attnlab.wasm
  COMMAND ${CMAKE_COMMAND} -E sha256sum attnlab.js > attnlab.js.sha256
  WORKING_DIRECTORY $<TARGET_FILE_DIR:attnlab>
  VERBATIM)
