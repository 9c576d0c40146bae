# mplus_room(NAME SOURCES … ROOMS … LIBRARIES …)
#
# One room = one folder = one static library mplus_<name>, included as "mplus/<name>/header.h". A room's include
# folder, cmake/include/<name>, holds a link to that room alone and is handed on only through ROOMS: an include against
# the arrows of docs/architecture.md does not compile.
function(mplus_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  set(include_dir ${PROJECT_SOURCE_DIR}/cmake/include/${name})
  add_library(mplus_${name} STATIC ${ROOM_SOURCES})
  add_library(mplus::${name} ALIAS mplus_${name})
  target_include_directories(mplus_${name} PUBLIC $<BUILD_INTERFACE:${include_dir}>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(mplus_${name} PRIVATE $<BUILD_INTERFACE:mplus_options>)
  target_compile_features(mplus_${name} PUBLIC cxx_std_20) # for programs that link the installed library
  foreach(below ${ROOM_ROOMS})
    target_link_libraries(mplus_${name} PUBLIC mplus_${below})
  endforeach()
  target_link_libraries(mplus_${name} PUBLIC ${ROOM_LIBRARIES} PRIVATE ${ROOM_PRIVATE_LIBRARIES})
  set_target_properties(mplus_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS mplus_${name} EXPORT mplusTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${name}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mplus/${name}
          FILES_MATCHING PATTERN "*.h")
endfunction()
