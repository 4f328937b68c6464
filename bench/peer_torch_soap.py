"""SOAP in PyTorch as its authors publish it (Vyas et al. 2024): Adam in the eigenbases of Shampoo's factors, refreshed by one
power iteration with QR every few steps. A plain loop over parameters, as theirs: the peer of lather.torch.SOAP in timings."""
import torch


class PlainSOAP(torch.optim.Optimizer):
    def __init__(self, params, lr=3e-3, betas=(0.95, 0.95), eps=1e-8, precondition_frequency=10, max_dimension=10000):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, precondition_frequency=precondition_frequency,
                                      max_dimension=max_dimension))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g, s = p.grad, self.state[p]
                if not s:
                    s["step"], s["m"], s["v"] = 0, torch.zeros_like(g), torch.zeros_like(g)
                    s["GG"] = [torch.zeros(d, d, dtype=g.dtype, device=g.device) if g.dim() == 2 and d <= group["max_dimension"]
                               else None for d in g.shape]
                    self._accumulate(g, s["GG"], beta2)
                    s["Q"] = [None if m is None else torch.linalg.eigh(m + 1e-30 * torch.eye(len(m), dtype=m.dtype, device=m.device))[1].flip(1)
                              for m in s["GG"]]
                    continue  # the first step only sets the bases
                s["step"] += 1
                rotated = self._rotate(g, s["Q"], False)
                s["m"].mul_(beta1).add_(g, alpha=1 - beta1)
                s["v"].mul_(beta2).addcmul_(rotated, rotated, value=1 - beta2)
                size = group["lr"] * (1 - beta2 ** s["step"]) ** 0.5 / (1 - beta1 ** s["step"])
                direction = self._rotate(s["m"], s["Q"], False) / (s["v"].sqrt() + group["eps"])
                p.add_(self._rotate(direction, s["Q"], True), alpha=-size)
                self._accumulate(g, s["GG"], beta2)
                if s["step"] % group["precondition_frequency"] == 0:
                    self._refresh(s)

    @staticmethod
    def _accumulate(g, factors, beta2):
        for side, m in enumerate(factors):
            if m is not None:
                m.lerp_(g @ g.T if side == 0 else g.T @ g, 1 - beta2)

    @staticmethod
    def _rotate(g, bases, back):
        if g.dim() != 2:
            return g
        left, right = bases
        if left is not None:
            g = (left if back else left.T) @ g
        if right is not None:
            g = g @ (right.T if back else right)
        return g

    @staticmethod
    def _refresh(s):
        for side, (m, q) in enumerate(zip(s["GG"], s["Q"])):
            if m is None:
                continue
            order = torch.argsort(torch.diag(q.T @ m @ q), descending=True)
            s["v"] = s["v"].index_select(side, order)
            s["Q"][side] = torch.linalg.qr(m @ q[:, order])[0]
