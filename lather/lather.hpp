#pragma once
// Everything a user of the library needs.

#include "lather/optim/catalogue.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/problem_builder.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/reference/reference.hpp"
#include "lather/train/run.hpp"
#include "lather/train/saved_run.hpp"
#include "lather/train/trainer.hpp"
