# cmake -DOUTPUT=… -DSOURCE_DIR=… -P embed-text.cmake: the files of the report page as one C++ source.
# A raw string literal per file; the delimiter occurs in none of them.
set(text "// Made by cmake/embed-text.cmake from lather/report/page.\n#include \"lather/report/page_files.hpp\"\n\nnamespace lather::report {\n\n")
foreach(name html css js)
  file(READ ${SOURCE_DIR}/page.${name} content)
  string(APPEND text "const char* const kPage_${name} = R\"lather_page(${content})lather_page\";\n")
endforeach()
file(WRITE ${OUTPUT} "${text}\n}  // namespace lather::report\n")
