"""JAX beside bench_engine_cuda where the shared peers have no version: KdV (third derivative), cavity (three fields) and a
PirateNet of three blocks; loss and gradient, jit, forward-mode derivatives (the fastest form in JAX for the Burgers case)."""
import sys, time
import jax, jax.numpy as jnp, numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")


def dense(key, i, o, dt):
    return jax.random.normal(key, (i, o), dt) * np.sqrt(2 / (i + o)), jnp.zeros(o, dt)


def mlp_parameters(width, depth, outputs, dt):
    sizes = [2] + [width] * depth + [outputs]
    keys = jax.random.split(jax.random.PRNGKey(0), len(sizes))
    return [dense(k, i, o, dt) for k, i, o in zip(keys, sizes[:-1], sizes[1:])]


def mlp(p, x, y):
    h = jnp.stack([x, y])
    for W, b in p[:-1]:
        h = jnp.tanh(h @ W + b)
    W, b = p[-1]
    return h @ W + b


def piratenet_parameters(width, blocks, dt):
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 64))
    make = lambda: dense(next(keys), width, width, dt)
    return {"features": jax.random.normal(next(keys), (2, width // 2), dt), "u": make(), "v": make(),
            "blocks": [[make(), make(), make(), jnp.zeros((), dt)] for _ in range(blocks)], "out": dense(next(keys), width, 1, dt)}


def piratenet(p, x, y):
    z = jnp.stack([x, y]) @ jax.lax.stop_gradient(p["features"])
    h = jnp.concatenate([jnp.cos(z), jnp.sin(z)])
    act = lambda h, layer: jnp.tanh(h @ layer[0] + layer[1])
    u, v = act(h, p["u"]), act(h, p["v"])
    for first, second, third, alpha in p["blocks"]:
        f = act(h, first)
        g = act(f * u + (1 - f) * v, second)
        r = act(g * u + (1 - g) * v, third)
        h = alpha * r + (1 - alpha) * h
    W, b = p["out"]
    return h @ W + b


def along(f, x):
    """f and its first two derivatives at x."""
    one = jnp.ones_like(x)
    g = lambda x: jax.jvp(f, (x,), (one,))
    (v, d), (_, dd) = jax.jvp(g, (x,), (one,))
    return v, d, dd


def burgers(net):
    def residual(p, x, t):
        u, u_x, u_xx = along(lambda x: net(p, x, t)[0], x)
        _, u_t = jax.jvp(lambda t: net(p, x, t)[0], (t,), (jnp.ones_like(t),))
        return jnp.stack([u_t + u * u_x - 0.01 / np.pi * u_xx])
    return residual


def kdv(net):
    def residual(p, x, t):
        one = jnp.ones_like(x)
        f = lambda x: net(p, x, t)[0]
        second = lambda x: along(f, x)
        (u, u_x, _), (_, _, u_xxx) = jax.jvp(second, (x,), (one,))
        _, u_t = jax.jvp(lambda t: net(p, x, t)[0], (t,), (jnp.ones_like(t),))
        return jnp.stack([u_t + u * u_x + 0.022**2 * u_xxx])
    return residual


def cavity(net):
    def residual(p, x, y):
        w, w_x, w_xx = along(lambda x: net(p, x, y), x)
        _, w_y, w_yy = along(lambda y: net(p, x, y), y)
        momentum = lambda k, p_k: w[0] * w_x[k] + w[1] * w_y[k] + p_k - 0.01 * (w_xx[k] + w_yy[k])
        return jnp.stack([momentum(0, w_x[2]), momentum(1, w_y[2]), w_x[0] + w_y[1]])
    return residual


def bench(name, net, parameters, residual, n, dt):
    key = jax.random.PRNGKey(1)
    x, y = jax.random.uniform(key, (2, n), dt)
    xi, xb = jax.random.uniform(key, (2, 2, 256), dt)

    def loss(p):
        r = jax.vmap(residual, (None, 0, 0))(p, x, y)
        value = jax.vmap(lambda x, y: net(p, x, y)[0])
        return jnp.sum(jnp.mean(r**2, 0)) + 100 * jnp.mean((value(*xi) + jnp.sin(np.pi * xi[0])) ** 2) + jnp.mean(value(*xb) ** 2)

    f = jax.jit(jax.value_and_grad(loss))
    jax.block_until_ready(f(parameters))
    times = []
    start = time.perf_counter()
    while time.perf_counter() - start < 1.0 or len(times) < 5:
        t = time.perf_counter()
        jax.block_until_ready(f(parameters))
        times.append(time.perf_counter() - t)
    print(f"JAX {name} {np.dtype(dt).name} N={n}: {np.median(times) * 1e3:.3f} ms", flush=True)


for dt in (jnp.float64, jnp.float32):
    for width in (128, 256):
        bench(f"kdv mlp 4x{width}", mlp, mlp_parameters(width, 4, 1, dt), kdv(mlp), 8192, dt)
        bench(f"cavity mlp 4x{width}", mlp, mlp_parameters(width, 4, 3, dt), cavity(mlp), 8192, dt)
    bench("burgers piratenet 3x256", piratenet, piratenet_parameters(256, 3, dt), burgers(piratenet), 8192, dt)
