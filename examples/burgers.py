"""Burgers' equation to a relative error of 1e-6 on a CPU, in ten lines (pip install . first)."""
import lather

burgers = lather.Problem(
    name="burgers", coordinates=["x", "t"], fields=["u"], domain={"x": [-1, 1], "t": [0, 1]}, parameters={"nu": "0.01/pi"},
    equations={"momentum": "u_t + u*u_x - nu*u_xx"},
    ansatz={"outputs": ["N"], "u": "-sin(pi*x) + t*(1 - x^2)*N"},  # what is known exactly is built in
    network={"width": 20, "depth": 4}, reference={"solver": "burgers", "nu": "nu"})
run = burgers.train("lm", target="l2=1e-6", steps=10000, training={"points": {"interior": 4096}, "sampling": {"method": "adaptive", "every": 10}})
print(run, run.predict([[0.0, 0.5], [0.1, 0.5]], derivatives=["u_x"]))
