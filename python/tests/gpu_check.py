"""lather.torch and the arrays of other frameworks on a GPU. Run it by hand where there is one:

    cmake --preset cuda && cmake --build --preset cuda --target lather_shared
    LATHER_LIBRARY=build/cuda/lib/liblather.so PYTHONPATH=python python3 python/tests/gpu_check.py [results.json]

Checks that CUDA tensors take the steps of the host optimizer, that a PINN's loss curve is that of the C++ optimizer, that
states pass between devices, and times a step beside torch's Adam and a plain SOAP (bench/peer_torch_soap.py).
"""
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import lather
import lather.torch as lt

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from peer_torch_soap import PlainSOAP  # noqa: E402

RESULTS: dict[str, object] = {}
FAILED: list[str] = []


def check(name, ok, detail):
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {detail}", flush=True)
    RESULTS[name] = {"ok": bool(ok), "detail": str(detail)}
    if not ok:
        FAILED.append(name)


def mlp(width, depth, dtype, device, seed=0, inputs=2):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(inputs, width), torch.nn.Tanh()]
    for _ in range(depth - 1):
        layers += [torch.nn.Linear(width, width), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 1)).to(dtype=dtype).to(device)


def separated(shapes, steps, seed):
    """Gradients whose factors have well separated eigenvalues: eigenvectors are then determined."""
    rng = np.random.default_rng(seed)
    bases = [[np.linalg.qr(rng.normal(size=(d, d)))[0] * 1.5 ** -np.arange(d) for d in shape] if len(shape) == 2 else None
             for shape in shapes]
    return [[rng.normal(size=s) if b is None else b[0] @ rng.normal(size=s) @ b[1].T for s, b in zip(shapes, bases)]
            for _ in range(steps)]


def given_gradients():
    cases = {"Adam": ({}, 1e-12), "AdamW": ({}, 1e-12), "SGD": ({}, 1e-12), "Muon": ({}, 1e-10),
             "SOAP": ({"precondition_frequency": 8}, 1e-9), "Shampoo": ({"precondition_frequency": 8}, 1e-9),
             "PurifyingShampoo": ({"precondition_frequency": 9, "start_preconditioning_step": 9}, 1e-9),
             "SSeSOAP": ({"warmup_steps": 8, "trigger": 0.05}, 1e-9),
             "SSeSOAPPaper": ({"warmup_steps": 8, "trigger": 0.05}, 1e-9)}
    shapes = [(7, 2), (7,), (7, 7), (7,), (7, 7), (1, 7), ()]
    gradients = separated(shapes, 14, 1)
    for name, (options, tolerance) in cases.items():
        rng = np.random.default_rng(2)
        start = [rng.normal(size=s) for s in shapes]
        sides = []
        for device in ("cpu", "cuda"):
            params = [torch.nn.Parameter(torch.tensor(x, dtype=torch.float64, device=device)) for x in start]
            sides.append((params, getattr(lt, name)(params, lr=0.01, **options)))
        worst = change = 0.0
        for step in gradients:
            for params, optimizer in sides:
                for p, g in zip(params, step):
                    p.grad = torch.tensor(g, dtype=torch.float64, device=p.device)
                optimizer.step()
            for p, q, x in zip(sides[0][0], sides[1][0], start):
                a, b = p.detach().numpy(), q.detach().cpu().numpy()
                worst, change = max(worst, np.abs(a - b).max()), max(change, np.abs(a - x).max())
        check(f"given gradients, {name}", worst < tolerance * change and change > 1e-3, f"{worst / change:.1e} of the change (allowed {tolerance:.0e})")


def burgers_loss(net, points):
    x = points.detach().requires_grad_(True)
    u = -torch.sin(torch.pi * x[:, :1]) + x[:, 1:] * (1 - x[:, :1] ** 2) * net(x)
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (d2,) = torch.autograd.grad(du[:, 0].sum(), x, create_graph=True)
    return (du[:, 1:] + u * du[:, :1] - 0.01 / torch.pi * d2[:, :1]).square().mean()


def pinn_curve(steps=40):
    """The drop-in on CUDA tensors, and the C++ optimizer on the host fed with the same loss."""
    rng = np.random.default_rng(0)
    points = torch.tensor(rng.uniform([-1, 0], [1, 1], size=(2048, 2)), device="cuda")
    for name in ("SSeSOAP", "SOAP", "Adam"):
        net = mlp(32, 3, torch.float64, "cuda")
        optimizer = getattr(lt, name)(net.parameters(), lr=3e-3)
        ours = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = burgers_loss(net, points)
            loss.backward()
            optimizer.step()
            ours.append(loss.item())
        twin = mlp(32, 3, torch.float64, "cuda")
        parameters = list(twin.parameters())

        def function(x):
            with torch.no_grad():
                for p, value in zip(parameters, x):
                    p.copy_(torch.from_numpy(np.array(value)))
            twin.zero_grad()
            value = burgers_loss(twin, points)
            value.backward()
            return value.item(), [p.grad.cpu().numpy() for p in parameters]
        result = lather.minimize(function, [p.detach().cpu().numpy() for p in parameters],
                                 {"name": optimizer.name, "learning_rate": 3e-3}, steps=steps)
        off = np.abs(np.array(ours) / np.array(result.history) - 1)
        # Eigenvectors of small, nearly equal eigenvalues are rounding on either side, and their directions get full steps.
        allowed = 1e-9 if name == "Adam" else 1e-2
        check(f"PINN, loss curve of {name}", off[:20].max() < allowed and ours[-1] < ours[0],
              f"{ours[0]:.3e} to {ours[-1]:.3e} in {steps} steps; relative difference {off[:20].max():.1e} in 20 steps, {off.max():.1e} in {steps}")


def states_and_arrays():
    net = mlp(8, 2, torch.float64, "cuda")
    optimizer = lt.SSeSOAP(net.parameters(), lr=3e-3)
    points = torch.rand(64, 2, dtype=torch.float64, device="cuda")

    def train(n, o, steps):
        for _ in range(steps):
            o.zero_grad()
            burgers_loss(n, points.to(next(n.parameters()).device)).backward()
            o.step()
        return torch.cat([p.detach().cpu().ravel() for p in n.parameters()])
    train(net, optimizer, 10)
    other, host = mlp(8, 2, torch.float64, "cuda"), mlp(8, 2, torch.float64, "cpu")
    for target in (other, host):
        target.load_state_dict(net.state_dict())
    again, on_host = lt.SSeSOAP(other.parameters()), lt.SSeSOAP(host.parameters())
    for o in (again, on_host):
        o.load_state_dict(optimizer.state_dict())
    whole = train(net, optimizer, 5)
    check("state_dict, CUDA to CUDA", torch.equal(train(other, again, 5), whole), "bit for bit")
    off = (train(host, on_host, 5) - whole).abs().max().item()
    check("state_dict, CUDA to CPU", off < 1e-6, f"largest difference {off:.1e}")

    stream = torch.cuda.Stream()
    w = torch.nn.Parameter(torch.zeros(1000, 1000, dtype=torch.float32, device="cuda"))
    sgd = lt.SGD([w], lr=1.0, momentum=0)
    with torch.cuda.stream(stream):
        for _ in range(20):
            torch.cuda._sleep(1000000)  # the gradient is late: the step must wait for it
            w.grad = torch.ones_like(w)
            sgd.step()
            seen = w.detach().clone()
    stream.synchronize()
    check("torch's stream is waited for", bool((seen == -20).all()), f"mean {seen.mean().item()}")

    loss = lather.Problem("burgers").objective(device="cuda", network={"width": 16, "depth": 2})
    x = loss.initialize(1)
    value, gradient = loss.gradient(x)
    on_device, g = loss.gradient(torch.tensor(x, device="cuda"))
    off = (g.cpu().numpy() - gradient)
    check("objective on device memory", abs(on_device / value - 1) < 1e-12 and np.abs(off).max() < 1e-12 * np.abs(gradient).max(),
          f"value {on_device:.6e}, gradient differs by {np.abs(off).max():.1e}")
    target = torch.linspace(0, 1, 12, dtype=torch.float64, device="cuda").reshape(3, 4)
    result = lather.minimize(lambda w: (w - target).square().sum(), torch.zeros_like(target), {"name": "soap", "learning_rate": 0.05}, steps=300)
    check("minimize on CUDA tensors", result.value < 1e-3 and result.x.is_cuda, f"{result.value:.1e} after {result.steps} steps")
    with tempfile.TemporaryDirectory() as folder:
        run = lather.Problem("burgers").train(device="cuda", recipe="quick", steps=30, folder=folder + "/run", progress=False)
        check("train(device='cuda')", run.reason == "steps", repr(run))
    try:
        import jax
    except ImportError:
        return
    jax.config.update("jax_enable_x64", True)
    a = jax.numpy.arange(4.0)

    def f(p):
        return jax.numpy.sum((p["W"] @ a - 1) ** 2) + jax.numpy.sum(p["b"] ** 2)
    start = {"W": jax.numpy.ones((3, 4)), "b": jax.numpy.ones(2)}
    result = lather.minimize(jax.jit(jax.value_and_grad(f)), start, "lbfgs", steps=50)
    check("minimize a JAX function", result.value < 1e-12, f"{result.value:.1e} on {jax.devices()[0]}")
    seen = lather._arrays.borrowed(a)
    check("a JAX array without a copy", seen.shape == (4,) and seen.address != 0, f"{seen.device}, {seen.dtype}")


def step_times():
    rows = []
    for width, depth in ((64, 4), (128, 5), (256, 5)):
        for dtype in (torch.float32, torch.float64):
            points = torch.rand(1024, 2, dtype=dtype, device="cuda") * 2 - 1
            row = {"network": f"{depth} x {width}", "type": str(dtype).split(".")[1]}
            makers = {"torch Adam": lambda p: torch.optim.Adam(p, lr=1e-3),
                      "torch Adam, fused": lambda p: torch.optim.Adam(p, lr=1e-3, fused=True),
                      "plain SOAP": lambda p: PlainSOAP(p, lr=1e-3),
                      "plain SOAP, every step": lambda p: PlainSOAP(p, lr=1e-3, precondition_frequency=1),
                      "lather Adam": lambda p: lt.Adam(p, lr=1e-3),
                      "lather SOAP": lambda p: lt.SOAP(p, lr=1e-3, precondition_frequency=10),
                      "lather SSeSOAP": lambda p: lt.SSeSOAP(p, lr=1e-3),
                      "lather Muon": lambda p: lt.Muon(p, lr=1e-3)}
            for label, make in makers.items():
                net = mlp(width, depth, dtype, "cuda")
                optimizer = make(net.parameters())
                times = []
                for step in range(130):
                    optimizer.zero_grad()
                    burgers_loss(net, points).backward()
                    torch.cuda.synchronize()
                    begin = time.perf_counter()
                    optimizer.step()
                    torch.cuda.synchronize()
                    if step >= 30:
                        times.append(time.perf_counter() - begin)
                # The mean counts steps that compute new bases; the median is the usual step.
                row[label] = {"mean_ms": 1e3 * float(np.mean(times)), "median_ms": 1e3 * float(np.median(times))}
            rows.append(row)
            print(row["network"], row["type"], "; ".join(f"{k} {v['mean_ms']:.3f} ({v['median_ms']:.3f})" for k, v in row.items() if isinstance(v, dict)), flush=True)
    RESULTS["step times, ms, mean (median)"] = rows


def main():
    print("lather", lather.version(), "torch", torch.__version__, torch.cuda.get_device_name(), flush=True)
    RESULTS["machine"] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "lather": lather.version()}
    for part in (given_gradients, pinn_curve, states_and_arrays, step_times):
        try:
            part()
        except Exception as error:  # the other parts are still worth running
            import traceback
            traceback.print_exc()
            check(part.__name__, False, error)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(RESULTS, indent=1))
    print("failed: " + ", ".join(FAILED) if FAILED else "all checks passed")
    return bool(FAILED)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
