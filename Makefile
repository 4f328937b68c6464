# Thin wrappers: the build itself is CMake (see CMakePresets.json).
.PHONY: configure build test demo bench clean
configure:
	@scripts/install-dependencies.sh
	@cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log

build: configure
	@cmake --build --preset release

test: build
	@scripts/check-includes.sh
	@ctest --preset release -LE "slow|gpu" -j 2

demo: configure
	@cmake --build --preset release --target lather_command
	@scripts/demo.sh

bench:
	@scripts/install-dependencies.sh
	@cmake --preset release -DLATHER_BENCH=ON >/dev/null && cmake --build --preset release
	@build/release/bin/bench_engine

clean:
	rm -rf build
