"""lather.torch on the CPU: the steps of Lather's optimizers under torch's interface. gpu_check.py does the same on CUDA."""
import copy
import io
import unittest
import warnings

import numpy as np

import lather

try:
    import torch
    import lather.torch
except ImportError:
    torch = None

CATALOGUE = ["SSeSOAP", "SSeSOAPPaper", "SOAP", "Shampoo", "PurifyingShampoo", "Muon", "Adam", "AdamW", "SGD"]


def model(dtype=None):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1)).to(dtype or torch.float64)


def loss_of(net):
    x = torch.linspace(-1, 1, 40, dtype=next(net.parameters()).dtype).reshape(20, 2)
    return (net(x) - torch.sin(x.sum(1, keepdim=True))).square().mean()


def train(net, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(net).backward()
        optimizer.step()
    return [p.detach().clone() for p in net.parameters()]


def same(a, b):
    return all(torch.equal(p, q) for p, q in zip(a, b))


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Torch(unittest.TestCase):
    def test_the_catalogue_is_whole(self) -> None:
        names = {getattr(lather.torch, name).name for name in CATALOGUE}
        known = {name for name, entry in lather.optimizers().items() if entry["family"] in ("first-order", "kronecker")}
        self.assertEqual(known - names, {"multiadam"})  # which needs one gradient per term of the loss

    def test_trajectories_are_those_of_the_library(self) -> None:
        for name in CATALOGUE:
            net = model()
            optimizer = getattr(lather.torch, name)(net.parameters(), lr=0.01)
            mine = train(net, optimizer, 25)

            # The same gradients on Lather's own objective: bit for bit.
            twin = model()
            parameters = list(twin.parameters())

            def function(x):
                with torch.no_grad():
                    for p, value in zip(parameters, x):
                        p.copy_(torch.from_numpy(value))
                twin.zero_grad()
                loss = loss_of(twin)
                loss.backward()
                return loss.item(), [p.grad.numpy() for p in parameters]
            settings = {"name": optimizer.name, "learning_rate": 0.01, **optimizer.preset}
            result = lather.minimize(function, [p.detach().numpy().copy() for p in parameters], settings, steps=25)
            for p, q in zip(mine, result.x):
                np.testing.assert_array_equal(p.numpy(), q, err_msg=name)

    def test_adam_is_torchs_adam(self) -> None:
        ours, theirs = model(), model()
        a = train(ours, lather.torch.Adam(ours.parameters(), lr=0.02, betas=(0.8, 0.99), eps=1e-7), 30)
        b = train(theirs, torch.optim.Adam(theirs.parameters(), lr=0.02, betas=(0.8, 0.99), eps=1e-7), 30)
        for p, q in zip(a, b):
            torch.testing.assert_close(p, q, rtol=1e-10, atol=1e-12)

    def test_float32_and_strided_parameters(self) -> None:
        net = model(torch.float32)
        before = loss_of(net).item()
        train(net, lather.torch.SSeSOAP(net.parameters(), lr=0.02), 30)
        self.assertLess(loss_of(net).item(), 0.5 * before)
        w = torch.nn.Parameter(torch.ones(3, 4, dtype=torch.float64).t())
        self.assertFalse(w.is_contiguous())
        w.grad = torch.ones_like(w)
        lather.torch.SGD([w], lr=0.5, momentum=0).step()
        torch.testing.assert_close(w.detach(), torch.full((4, 3), 0.5, dtype=torch.float64))
        half = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
        half.grad = torch.ones_like(half)
        with self.assertRaisesRegex(TypeError, "float16"):
            lather.torch.SGD([half], lr=0.5).step()

    def test_state_dict_goes_on_bit_for_bit(self) -> None:
        net = model()
        optimizer = lather.torch.SSeSOAP(net.parameters(), lr=0.02)
        train(net, optimizer, 12)
        file = io.BytesIO()
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
        pickled = copy.deepcopy(optimizer)
        whole = train(net, optimizer, 8)
        file.seek(0)
        saved = torch.load(file)
        other = model()
        other.load_state_dict(saved["net"])
        resumed = lather.torch.SSeSOAP(other.parameters(), lr=0.5)
        resumed.load_state_dict(saved["optimizer"])
        self.assertEqual(resumed.param_groups[0]["lr"], 0.02)
        self.assertTrue(same(train(other, resumed, 8), whole))
        self.assertEqual(len(pickled._members), 1)
        with self.assertRaisesRegex(ValueError, "not the state"):
            resumed.load_state_dict(torch.optim.Adam(other.parameters()).state_dict())

    def test_groups_schedulers_clipping_and_closures(self) -> None:
        net = model()
        first, last = net[0], net[2]
        optimizer = lather.torch.SOAP([{"params": first.parameters(), "lr": 0.0},
                                       {"params": last.parameters(), "weight_decay": 0.1}], lr=0.02)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
        frozen = [p.detach().clone() for p in first.parameters()]

        def closure():
            optimizer.zero_grad()
            loss = loss_of(net)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            return loss
        losses = []
        for _ in range(5):
            losses.append(optimizer.step(closure).item())
            scheduler.step()
        self.assertLess(losses[-1], losses[0])
        self.assertTrue(same(first.parameters(), frozen))
        self.assertAlmostEqual(optimizer.param_groups[1]["lr"], 0.02 * 0.5**5)

        # A schedule is a smaller learning rate, not another optimizer.
        scheduled, constant = model(), model()
        a = lather.torch.SGD(scheduled.parameters(), lr=0.2, momentum=0)
        schedule = torch.optim.lr_scheduler.StepLR(a, 1, gamma=0.5)
        train(scheduled, a, 1)
        schedule.step()
        b = lather.torch.SGD(constant.parameters(), lr=0.2, momentum=0)
        train(constant, b, 1)
        b.param_groups[0]["lr"] = 0.1
        self.assertTrue(same(train(scheduled, a, 1), train(constant, b, 1)))

    def test_betas_may_be_cycled(self) -> None:
        net, twin = model(), model()
        ours = lather.torch.Adam(net.parameters(), lr=0.01)
        theirs = torch.optim.Adam(twin.parameters(), lr=0.01)
        pairs = [(o, torch.optim.lr_scheduler.OneCycleLR(o, 0.05, total_steps=20)) for o in (ours, theirs)]
        for _ in range(15):
            for n, (o, s) in zip((net, twin), pairs):
                train(n, o, 1)
                s.step()
        for p, q in zip(net.parameters(), twin.parameters()):
            torch.testing.assert_close(p, q, rtol=1e-8, atol=1e-10)

    def test_mistakes(self) -> None:
        net = model()
        with self.assertRaisesRegex(lather.LatherError, "did you mean 'weight_decay'"):
            lather.torch.SSeSOAP(net.parameters(), weight_decoy=0.1)
        with self.assertRaisesRegex(ValueError, "lr"):
            lather.torch.Adam(net.parameters(), lr=-1)
        with self.assertRaisesRegex(lather.LatherError, "momentm"):
            lather.torch.SGD([{"params": net.parameters(), "momentm": 0.5}], lr=0.1)
        optimizer = lather.torch.Adam(net.parameters())
        train(net, optimizer, 1)
        net[0].weight.grad = None
        with self.assertRaisesRegex(RuntimeError, "group of their own"):
            optimizer.step()
        train(net, optimizer, 1)
        before = [p.detach().clone() for p in net.parameters()]
        net[0].weight.grad[0, 0] = float("nan")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            optimizer.step()
        self.assertTrue(any("left as they were" in str(w.message) for w in caught))
        self.assertTrue(same(net.parameters(), before))


if __name__ == "__main__":
    unittest.main()
