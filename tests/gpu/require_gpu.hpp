#pragma once
#include <gtest/gtest.h>

#include "lather/core/device.hpp"

#define REQUIRE_GPU() \
  if (const auto report = lather::cuda_report(); !report.usable) GTEST_SKIP() << report.text
