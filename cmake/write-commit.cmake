# Writes the commit being built into a header if it has changed. Runs at every build, because a commit made after configuring
# would otherwise go unnoticed.
cmake_minimum_required(VERSION 3.25)
if(NOT COMMIT)
  execute_process(COMMAND git describe --always --dirty --exclude=* WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT COMMIT)
  set(COMMIT "unknown commit")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define LATHER_COMMIT \"@COMMIT@\"\n" @ONLY)
