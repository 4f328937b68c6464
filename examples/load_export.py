#!/usr/bin/env python3
"""Loads a network exported by `lather export RUN --format safetensors` and evaluates it; standard library only.

    python3 load_export.py network.safetensors 0.5 0.25        # the fields at one point, coordinates in their order

The file is self-describing: tensors, and what to compute with them (dense layers and pointwise functions) as assignments.
With numpy, replace the lists by arrays and give whole columns of points at once: the assignments work on them as they are.
"""
import json, math, struct, sys

FUNCTIONS = {name: getattr(math, name) for name in "exp log sin cos tan sinh cosh tanh asinh atan erf".split()}
FUNCTIONS.update(abs=abs, min=min, max=max, sign=lambda x: (x > 0) - (x < 0), step=lambda x: 1.0 if x >= 0 else 0.0,
                 sigmoid=lambda x: 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x)),
                 atan2=math.atan2, gate=lambda c, a: a if c else 0.0,
                 softplus=lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))))


def load(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    network = json.loads(header.pop("__metadata__")["lather"])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = struct.unpack(f"<{(end - begin) // 8}d", data[begin:end])
    return network, tensors


def evaluate(block, names):
    """The values of a list of assignments."""
    names = dict(names)
    for name, text in block["let"]:
        names[name] = eval(text, FUNCTIONS, names)
    return [eval(text, FUNCTIONS, names) for text in block["values"]]


def predict(network, tensors, point):
    names = {f"c{i}": x for i, x in enumerate(point)}
    names.update({f"u{i}": tensors["unknown." + u][0] for i, u in enumerate(network["unknowns"])})
    buffers = [[0.0] * width for width in network["buffers"]]
    buffers[0] = evaluate(network["inputs"], names)
    cut = lambda v: buffers[v["buffer"]][v["offset"]:v["offset"] + v["width"]]
    for operation in network["operations"]:
        if "dense" in operation:                      # out = in W + b, W = V diag(g) where a scale g is given
            d = operation["dense"]
            x, n = cut(d["in"]), d["out"]["width"]
            w, b = tensors[d["weight"]], tensors[d["bias"]] if d["bias"] else [0.0] * n
            g = tensors[d["scale"]] if d["scale"] else [1.0] * n
            y = [sum(x[i] * w[i * n + j] for i in range(len(x))) * g[j] + b[j] for j in range(n)]
        else:                                         # out = value(in…), element by element
            d = operation["pointwise"]
            scalars = {f"s{k}": tensors[s][0] for k, s in enumerate(d["scalars"])}
            rows = zip(*(cut(v) for v in d["in"]))
            y = [evaluate({"let": d["let"], "values": [d["value"]]}, {**scalars, **{f"a{k}": a for k, a in enumerate(row)}})[0] for row in rows]
        start = d["out"]["offset"]
        buffers[d["out"]["buffer"]][start:start + len(y)] = y
    names.update({f"n{k}": value for k, value in enumerate(cut(network["output"]))})
    return dict(zip(network["fields"]["names"], evaluate(network["fields"], names)))


if __name__ == "__main__":
    network, tensors = load(sys.argv[1])
    if len(sys.argv) - 2 != len(network["coordinates"]):
        sys.exit(f"usage: {sys.argv[0]} FILE {' '.join(network['coordinates'])}")
    for field, value in predict(network, tensors, [float(x) for x in sys.argv[2:]]).items():
        print(field, repr(value))
