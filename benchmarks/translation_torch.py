"""The encoder-decoder of `translation.py` in PyTorch, its training step as one CUDA graph."""

import statistics

import torch
from torch import nn
from torch.nn import functional

from measure import seconds


class EncoderDecoder(nn.Module):
    """A bidirectional GRU, a bridge, attention, a GRU, and a readout with a hidden layer."""

    def __init__(self, symbols, embedding, units, attention):
        super().__init__()
        self.source, self.target = (
            nn.Embedding(symbols, embedding),
            nn.Embedding(symbols, embedding),
        )
        self.encoder = nn.GRU(embedding, units, bidirectional=True)
        self.bridge = nn.Linear(2 * units, units)
        self.attention = attention
        self.Q = nn.Linear(units, units if attention == "additive" else 2 * units, bias=False)
        self.K, self.v = nn.Linear(2 * units, units), nn.Linear(units, 1, bias=False)
        if attention == "additive":
            self.decoder = nn.GRUCell(embedding + 2 * units, units)
        else:
            self.decoder = nn.GRU(embedding, units)
        self.hidden = nn.Linear(3 * units, embedding)
        self.readout = nn.Linear(embedding, symbols)

    def forward(self, source, target):
        memory, final = self.encoder(self.source(source))
        h = torch.tanh(self.bridge(torch.cat([final[0], final[1]], -1)))
        memory, read = memory.transpose(0, 1), self.target(target)
        if self.attention == "dot":
            hs, _ = self.decoder(read, h[None])
            query = self.Q(hs).transpose(0, 1)
            weights = torch.softmax(query @ memory.transpose(1, 2), -1)
            found = torch.cat([hs, (weights @ memory).transpose(0, 1)], -1)
        else:
            keys, query, outs = self.K(memory), torch.zeros_like(h), []
            for x in read:
                scores = self.v(torch.tanh(self.Q(query)[:, None] + keys))[..., 0]
                context = (torch.softmax(scores, -1)[:, None] @ memory)[:, 0]
                h = query = self.decoder(torch.cat([x, context], -1), h)
                outs.append(torch.cat([h, context], -1))
            found = torch.stack(outs)
        return self.readout(torch.tanh(self.hidden(found)))


def sentences_per_second(*, batch, steps, symbols, embedding, units, attention, precision):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    device = "cuda"
    model = EncoderDecoder(symbols, embedding, units, attention).to(device)
    learner = torch.optim.Adam(model.parameters(), 1e-3, capturable=True, fused=True)
    source, target = torch.randint(2, symbols, (2, steps, batch), device=device)

    def step():
        learner.zero_grad(set_to_none=False)
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = model(source, target)
        loss = functional.cross_entropy(logits.float().reshape(-1, symbols), target.reshape(-1))
        loss.backward()
        used = [p for p in model.parameters() if p.grad is not None]
        norm = torch.sqrt(sum((p.grad**2).sum() for p in used))
        for p in used:
            p.grad.mul_(torch.clamp(1 / norm, max=1.0))
        learner.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    times = seconds(graph.replay, lambda _: torch.cuda.synchronize(), repeats=5, inner=20)
    return batch / statistics.median(times)
