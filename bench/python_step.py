"""What a step of training costs in Python, on each device of this machine, in turns.

    python bench/python_step.py [DEVICE...] [--hidden 512] [--batch 32] [--rounds 30] [--before SITE]

A step writes a batch, computes forward, gradients and Adam of an MLP (64-hidden-hidden-10), and reads the loss. Each device is a process
of its own and measures five steps a turn; printed are milliseconds, least and median. With `--before`, a folder that has another build of
the package (`pip install --target SITE`), each device is measured with that, too, and the last column is now / before.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

STEPS_A_TURN = 5


def measure(device, hidden, batch):
    """Answers each line of standard input with milliseconds of some steps."""
    import numpy as np

    import gossamer as gs
    from gossamer import nn, optim
    from gossamer.nn import functional as F

    gs.manual_seed(1)
    net = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 10))
    if device != "cpu":
        net.to(device)
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    draw = np.random.default_rng(0)
    x = draw.standard_normal((batch, 64)).astype(np.float32)
    y = draw.integers(0, 10, batch)

    def step():
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(gs.as_tensor(x, device=device)), gs.as_tensor(y, device=device))
        loss.backward()
        optimizer.step()
        value = loss.item()
        return (time.perf_counter() - begin) * 1e3, value

    for _ in range(10):  # compiled, then kept
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        taken = [step() for _ in range(STEPS_A_TURN)]
        print(*(ms for ms, _ in taken), taken[-1][1], flush=True)


class Party:
    """A device, in a process of its own."""

    def __init__(self, device, options, site):
        command = [sys.executable, __file__, device, "--child", f"--hidden={options.hidden}", f"--batch={options.batch}"]
        environment = dict(os.environ)
        if site:  # before what is found there already
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [site, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.times, self.loss = [], None
        self.ready = self.process.stdout.readline().strip() == "ready"

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        *times, self.loss = map(float, self.process.stdout.readline().split())
        self.times += times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("devices", nargs="*", default=["cpu", "opencl", "opengl", "webgl", "webgpu"])
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--before", metavar="SITE")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return measure(options.devices[0], options.hidden, options.batch)
    sites = [None] + ([options.before] if options.before else [])
    parties = {(device, site): Party(device, options, site) for device in options.devices for site in sites}
    for _ in range(options.rounds):
        for party in parties.values():
            if party.ready:
                party.turn()
    print(f"{'device':8} {'least':>8} {'median':>8} {'loss':>10}" + (f" {'before':>8} {'ratio':>6}" if options.before else ""))
    for device in options.devices:
        now = parties[device, None]
        if not now.ready:
            print(f"{device:8} is not here")
            continue
        line = f"{device:8} {min(now.times):8.3f} {statistics.median(now.times):8.3f} {now.loss:10.2e}"
        before = parties.get((device, options.before)) if options.before else None
        if before and before.ready:
            line += f" {statistics.median(before.times):8.3f} {statistics.median(now.times) / statistics.median(before.times):6.2f}"
        print(line)
    for party in parties.values():
        party.process.stdin.close()
        party.process.wait()
    return None


if __name__ == "__main__":
    main()
