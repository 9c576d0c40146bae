# What `cmake --install` puts into place beside the rooms' libraries and headers (MplusRoom.cmake) and the programs: the
# models' folder and the CMake package. Nothing in it names the prefix, so that the tree can be moved.
include(CMakePackageConfigHelpers)

set(mplus_data_dir ${CMAKE_INSTALL_DATADIR}/mplus)
set(mplus_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mplus)

install(FILES ${PROJECT_SOURCE_DIR}/models/smollm2-135m-mplus.safetensors
              ${PROJECT_SOURCE_DIR}/models/qwen2.5-coder-1.5b-mplus.safetensors
              ${PROJECT_SOURCE_DIR}/models/default_model.txt
        DESTINATION ${mplus_data_dir}/models)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${mplus_data_dir})

install(EXPORT mplusTargets NAMESPACE mplus:: DESTINATION ${mplus_package_dir})
set(mplus_models_dir ${mplus_data_dir}/models)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mplusConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/mplusConfig.cmake
                              INSTALL_DESTINATION ${mplus_package_dir} PATH_VARS mplus_models_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mplusConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mplusConfig.cmake ${PROJECT_BINARY_DIR}/mplusConfigVersion.cmake
        DESTINATION ${mplus_package_dir})
