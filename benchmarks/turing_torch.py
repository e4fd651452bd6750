"""The neural Turing machine of `turing.py` in PyTorch, as the plain loop over time.

It follows loudinthecloud/pytorch-ntm, the most used implementation: an LSTM controller, read and
write heads with their own linear layers, reading before writing, circular convolution of the
weightings, RMSprop with momentum, gradients clipped to ±10. One thing is faster than there: the
convolution is done for the whole batch, where the original loops over the sequences.
"""

import statistics

from measure import seconds


def model(inputs, outputs, *, units=100, rows=128, columns=20):
    """A module that maps `(T, B, inputs)` to logits `(T, B, outputs)`."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Head(nn.Module):
        """The weighting of a head; a write head also has what it erases and adds."""

        def __init__(self, writes):
            super().__init__()
            self.sizes = [columns, 1, 1, 3, 1] + ([columns, columns] if writes else [])
            self.told = nn.Linear(units, sum(self.sizes))
            nn.init.xavier_uniform_(self.told.weight, gain=1.4)
            nn.init.normal_(self.told.bias, std=0.01)

        def forward(self, h, memory, before):
            k, beta, g, s, gamma, *more = torch.split(self.told(h), self.sizes, dim=1)
            beta, g = functional.softplus(beta), torch.sigmoid(g)
            s, gamma = functional.softmax(s, dim=1), 1 + functional.softplus(gamma)
            likeness = functional.cosine_similarity(memory + 1e-16, k[:, None] + 1e-16, dim=-1)
            content = functional.softmax(beta * likeness, dim=1)
            w = g * content + (1 - g) * before
            around = torch.cat([w[:, -1:], w, w[:, :1]], dim=1)
            moved = sum(s[:, j : j + 1] * around[:, 2 - j : 2 - j + rows] for j in range(3))
            sharp = moved**gamma
            return sharp / (sharp.sum(dim=1, keepdim=True) + 1e-16), more

    class Machine(nn.Module):
        def __init__(self):
            super().__init__()
            self.controller = nn.LSTM(inputs + columns, units)
            self.h, self.c = (nn.Parameter(0.05 * torch.randn(1, 1, units)) for _ in range(2))
            self.reader, self.writer = Head(False), Head(True)
            self.readout = nn.Linear(units + columns, outputs)
            bound = 1 / (rows + columns) ** 0.5
            self.register_buffer("first", torch.empty(rows, columns).uniform_(-bound, bound))
            self.register_buffer("reads", 0.01 * torch.randn(1, columns))

        def forward(self, xs):
            batch = xs.shape[1]
            memory = self.first.repeat(batch, 1, 1)
            state = self.h.repeat(1, batch, 1), self.c.repeat(1, batch, 1)
            reads = self.reads.repeat(batch, 1)
            reading = writing = torch.zeros(batch, rows, device=xs.device)
            outputs = []
            for x in xs:
                h, state = self.controller(torch.cat([x, reads], dim=1)[None], state)
                h = h[0]
                reading, _ = self.reader(h, memory, reading)
                reads = torch.matmul(reading[:, None], memory)[:, 0]
                writing, (erased, added) = self.writer(h, memory, writing)
                memory = memory * (1 - writing[..., None] * torch.sigmoid(erased)[:, None])
                memory = memory + writing[..., None] * added[:, None]
                outputs.append(self.readout(torch.cat([h, reads], dim=1)))
            return torch.stack(outputs)

    return Machine()


def sequences_per_second(inputs, targets, weights, repeats=5):
    """Of training steps on one batch, `(T, B, …)` as NumPy arrays, on the GPU if there is one."""
    import torch
    from torch.nn import functional

    device = "cuda" if torch.cuda.is_available() else "cpu"
    xs, targets, weights = (torch.tensor(x, device=device) for x in (inputs, targets, weights))
    machine = model(xs.shape[-1], targets.shape[-1]).to(device)
    learner = torch.optim.RMSprop(machine.parameters(), lr=1e-4, momentum=0.9, alpha=0.95)

    def step():
        learner.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(
            machine(xs), targets, weight=weights[..., None]
        )
        loss.backward()
        torch.nn.utils.clip_grad_value_(machine.parameters(), 10)
        learner.step()
        return loss.item()

    return xs.shape[1] / statistics.median(seconds(step, repeats=repeats))
