# mplus_room(NAME SOURCES … ROOMS … LIBRARIES …)
#
# One room = one folder mplus/<name> = one static library mplus_<name>. A header is included by its path in the tree,
# "mplus/<name>/header.h". ROOMS names all that a room may include; scripts/check_rooms.py holds every #include to it.
function(mplus_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  add_library(mplus_${name} STATIC ${ROOM_SOURCES})
  add_library(mplus::${name} ALIAS mplus_${name})
  target_include_directories(mplus_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(mplus_${name} PRIVATE $<BUILD_INTERFACE:mplus_options>)
  mplus_use_precompiled(mplus_${name})
  target_compile_features(mplus_${name} PUBLIC cxx_std_20) # for programs that link the installed library
  foreach(below ${ROOM_ROOMS})
    target_link_libraries(mplus_${name} PUBLIC mplus_${below})
  endforeach()
  target_link_libraries(mplus_${name} PUBLIC ${ROOM_LIBRARIES} PRIVATE ${ROOM_PRIVATE_LIBRARIES})
  set_target_properties(mplus_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS mplus_${name} EXPORT mplusTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/mplus/${name}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mplus/${name}
          FILES_MATCHING PATTERN "*.h")
endfunction()

# mplus_program_rooms(NAME ROOMS …): the same for a folder that makes programs and no library to link; read by
# scripts/check_rooms.py.
function(mplus_program_rooms)
endfunction()
