# Sourced: the command and the library of a build with sanitizers, for every campaign.  . sanitized.sh BUILD [python]
export LATHER_COMMAND=$PWD/$1/bin/lather LATHER_LIBRARY=$PWD/$1/lib/liblather.so PYTHONPATH=$PWD/python
# What a caller asks for and no machine has is answered by an error, not by the end of the program.
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=4096 UBSAN_OPTIONS=print_stacktrace=1
if [ "${2:-}" = python ]; then  # a program that was not built with them
  LD_PRELOAD=$("${CXX:-c++}" -print-file-name=libasan.so) ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
  export LD_PRELOAD
fi
