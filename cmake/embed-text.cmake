# cmake -DOUTPUT=… -DSOURCE_DIR=… -P embed-text.cmake: the files of the report page as one C++ source, the scripts one after
# another. Raw string literals; the delimiter occurs in none of the files.
file(READ ${SOURCE_DIR}/page.html html)
file(READ ${SOURCE_DIR}/page.css css)
set(js "")
foreach(name base chart map page)
  file(READ ${SOURCE_DIR}/${name}.js part)
  string(APPEND js "${part}\n")
endforeach()
set(text "// Made by cmake/embed-text.cmake from lather/report/page.\n#include \"lather/report/page_files.hpp\"\n\nnamespace lather::report {\n\n")
foreach(name html css js)
  string(APPEND text "const char* const kPage_${name} = R\"lather_page(${${name}})lather_page\";\n")
endforeach()
file(WRITE ${OUTPUT} "${text}\n}  // namespace lather::report\n")
