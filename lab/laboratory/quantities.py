"""What experiments measure."""
from __future__ import annotations

RESIDUALS = ("residual", "mean_square", "loss", "training_loss")
ERRORS = ("l2", "h1")
TIMED = ("seconds", "seconds_to_target", "seconds_per_1000_steps", "memory")
SHARES = ("basis_share", "tau_at_one", "tau_at_least")
OF_TRAININGS = (*RESIDUALS, *ERRORS, *TIMED, *SHARES, "storage")
OF_MATRIX_PROBLEMS = (
    "seconds",
    "seconds_per_1000_steps",
)  # besides what each problem measures itself
DRAWN_OVER_STEPS = (*RESIDUALS, *ERRORS)
OF_THE_SOLUTION = (*RESIDUALS, *ERRORS)
OF_EVENTS = (
    "loss_after_1",
    "loss_after_10",
    "doubled_after_1",
    "rho_after_10",
    "gradient_cosine_after_10",
)

# What each matrix problem measures; an experiment file writes task.NAME.
TASK_METRICS = {
    "quadratic": (
        "loss",
        "gap",
        "gradient_condition",
        "residual_condition",
        "gradient_nuclear_norm",
    ),
    "logistic": ("loss", "accuracy", "gradient_condition", "gradient_nuclear_norm"),
    "completion": (
        "loss",
        "relative_error",
        "gradient_x_condition",
        "gradient_y_condition",
        "gradient_x_nuclear_norm",
        "gradient_y_nuclear_norm",
    ),
}

AXIS_NAMES = {
    "residual": "root mean square residual at held-out points",
    "mean_square": "mean square residual at held-out points",
    "loss": "loss at held-out points",
    "training_loss": "loss at training points",
    "l2": "relative L² error",
    "h1": "relative H¹ error",
}


def is_task_metric(quantity: str) -> bool:
    return quantity.startswith("task.")


def is_of_the_end(quantity: str) -> bool:
    """Whether steps that a run did not take would have changed it."""
    return quantity in OF_THE_SOLUTION or quantity == "seconds" or is_task_metric(quantity)
