# Writes the files of a folder into a C++ source (serve/embedded.h).
# cmake -DFOLDER=… -DFUNCTION=… -DSOURCE=… -P MplusEmbed.cmake
file(GLOB files ${FOLDER}/*)
list(SORT files)
set(arrays)
set(entries)
set(number 0)
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {${bytes}0};\n")
  string(APPEND entries "    {\"${name}\", text(kFile${number}, sizeof kFile${number} - 1)},\n")
  math(EXPR number "${number} + 1")
endforeach()
set(content "#include \"mplus/serve/embedded.h\"\n\nnamespace mplus::serve {\nnamespace {\n\n${arrays}
[[maybe_unused]] std::string_view text(const unsigned char* bytes, unsigned long size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

std::span<const EmbeddedFile> ${FUNCTION}() {
  static const EmbeddedFile files[] = {\n${entries}    {\"\", \"\"},\n  };
  return {files, ${number}};
}

}  // namespace mplus::serve
")
file(WRITE ${SOURCE} "${content}")
