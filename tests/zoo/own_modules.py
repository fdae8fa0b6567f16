"""Networks that none of the pinned packages contains, written after their papers."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class ConvUnit(nn.Sequential):
    """A convolution, a batch norm and SiLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> None:
        super().__init__(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs, eps=1e-3), nn.SiLU())


class SplitBlock(nn.Module):
    """YOLOv8's C2f: half of the channels pass through a chain of bottlenecks, and the results of all steps are joined."""

    def __init__(self, inputs: int, outputs: int, count: int, residual: bool) -> None:
        super().__init__()
        half = outputs // 2
        self.residual = residual
        self.enter = ConvUnit(inputs, outputs)
        self.steps = nn.ModuleList(nn.Sequential(ConvUnit(half, half, 3), ConvUnit(half, half, 3)) for _ in range(count))
        self.leave = ConvUnit(half * (2 + count), outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = list(self.enter(x).chunk(2, 1))
        for step in self.steps:
            made = step(kept[-1])
            kept.append(kept[-1] + made if self.residual else made)
        return self.leave(torch.cat(kept, 1))


class PooledPyramid(nn.Module):
    """YOLO's SPPF: three pools of 5 x 5 in a row, all of them joined."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.enter = ConvUnit(channels, channels // 2)
        self.leave = ConvUnit(2 * channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = [self.enter(x)]
        for _ in range(3):
            kept.append(functional.max_pool2d(kept[-1], 5, 1, 2))
        return self.leave(torch.cat(kept, 1))


class Yolo(nn.Module):
    """YOLOv8n: boxes (center, size) and scores of 80 classes, [batch, 84, places]. Distances are means over 16 bins."""

    def __init__(self, classes: int = 80, bins: int = 16) -> None:
        super().__init__()
        self.bins = bins
        self.stem = nn.Sequential(ConvUnit(3, 16, 3, 2), ConvUnit(16, 32, 3, 2), SplitBlock(32, 32, 1, True), ConvUnit(32, 64, 3, 2), SplitBlock(64, 64, 2, True))
        self.middle = nn.Sequential(ConvUnit(64, 128, 3, 2), SplitBlock(128, 128, 2, True))
        self.deep = nn.Sequential(ConvUnit(128, 256, 3, 2), SplitBlock(256, 256, 1, True), PooledPyramid(256))
        self.up = nn.ModuleList([SplitBlock(384, 128, 1, False), SplitBlock(192, 64, 1, False)])
        self.halve = nn.ModuleList([ConvUnit(64, 64, 3, 2), ConvUnit(128, 128, 3, 2)])
        self.down = nn.ModuleList([SplitBlock(192, 128, 1, False), SplitBlock(384, 256, 1, False)])
        widths = (64, 128, 256)
        self.boxes = nn.ModuleList(nn.Sequential(ConvUnit(each, 64, 3), ConvUnit(64, 64, 3), nn.Conv2d(64, 4 * bins, 1)) for each in widths)
        self.scores = nn.ModuleList(nn.Sequential(ConvUnit(each, classes, 3), ConvUnit(classes, classes, 3), nn.Conv2d(classes, classes, 1)) for each in widths)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        fine = self.stem(images)
        middle = self.middle(fine)
        deep = self.deep(middle)
        joined = self.up[0](torch.cat([functional.interpolate(deep, scale_factor=2.0, mode="nearest"), middle], 1))
        first = self.up[1](torch.cat([functional.interpolate(joined, scale_factor=2.0, mode="nearest"), fine], 1))
        second = self.down[0](torch.cat([self.halve[0](first), joined], 1))
        third = self.down[1](torch.cat([self.halve[1](second), deep], 1))
        levels = (first, second, third)
        distances = torch.cat([each(level).flatten(2) for each, level in zip(self.boxes, levels, strict=True)], 2)
        scores = torch.cat([each(level).flatten(2) for each, level in zip(self.scores, levels, strict=True)], 2)
        centers, strides = self.places(levels)
        shares = distances.unflatten(1, (4, self.bins)).softmax(2)
        near, far = (shares * torch.arange(self.bins, dtype=shares.dtype).reshape(1, 1, -1, 1)).sum(2).chunk(2, 1)
        boxes = torch.cat([centers + (far - near) / 2, near + far], 1) * strides
        return torch.cat([boxes, scores.sigmoid()], 1)

    @staticmethod
    def places(levels: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        """The middle of each place in its level's units, [2, places], and its level's stride."""
        centers, strides = [], []
        for level, stride in zip(levels, (8.0, 16.0, 32.0), strict=True):
            height, width = level.shape[2:]
            rows, columns = torch.arange(height) + 0.5, torch.arange(width) + 0.5
            y, x = torch.meshgrid(rows, columns, indexing="ij")
            centers.append(torch.stack([x, y]).flatten(1))
            strides.append(torch.full((1, height * width), stride))
        return torch.cat(centers, 1), torch.cat(strides, 1)


class ResidualBlock(nn.Module):
    """Group norm, SiLU and a convolution, twice, with a shortcut, as in diffusion models."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.GroupNorm(8, inputs, eps=1e-6), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(8, outputs, eps=1e-6), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1)
        )
        self.shortcut = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x) + self.shortcut(x)


class PlaceAttention(nn.Module):
    """One head of attention between all places of an image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, channels, eps=1e-6)
        self.query, self.key, self.value, self.leave = (nn.Linear(channels, channels) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.norm(x).flatten(2).transpose(1, 2).unsqueeze(1)
        mixed = functional.scaled_dot_product_attention(self.query(rows), self.key(rows), self.value(rows))
        return x + self.leave(mixed).squeeze(1).transpose(1, 2).reshape(x.shape)


class ImageDecoder(nn.Module):
    """The decoder of a latent diffusion model's autoencoder: 4 channels to an image of eight times the size."""

    def __init__(self, widths: tuple[int, ...] = (128, 96, 64, 32)) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(4, widths[0], 3, padding=1), ResidualBlock(widths[0], widths[0]), PlaceAttention(widths[0]))
        self.levels = nn.ModuleList(nn.Sequential(ResidualBlock(a, b), nn.Conv2d(b, b, 3, padding=1)) for a, b in zip(widths, widths[1:], strict=False))
        self.leave = nn.Sequential(ResidualBlock(widths[-1], widths[-1]), nn.GroupNorm(8, widths[-1], eps=1e-6), nn.SiLU(), nn.Conv2d(widths[-1], 3, 3, padding=1))

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        x = self.enter(latent)
        for block, convolution in self.levels:
            x = convolution(functional.interpolate(block(x), scale_factor=2.0, mode="nearest"))
        return self.leave(x)


class Denoiser(nn.Module):
    """A step of a latent diffusion model with one halving: the time as sines, a text's tokens by attention."""

    def __init__(self, width: int = 64, text: int = 96) -> None:
        super().__init__()
        self.enter = nn.Conv2d(4, width, 3, padding=1)
        self.wide = ResidualBlock(width, width)
        self.down = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.time = nn.Sequential(nn.Linear(32, 2 * width), nn.SiLU(), nn.Linear(2 * width, 2 * width))
        self.deep = ResidualBlock(2 * width, 2 * width)
        self.attention = nn.MultiheadAttention(2 * width, 4, kdim=text, vdim=text, batch_first=True)
        self.up = nn.ConvTranspose2d(2 * width, width, 4, 2, 1)
        self.leave = nn.Sequential(ResidualBlock(2 * width, width), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, latent: torch.Tensor, step: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        angles = step[:, None] * torch.exp(torch.arange(16) * -0.57)
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))[:, :, None, None]
        wide = self.wide(self.enter(latent))
        deep = self.deep(self.down(wide) + time)
        places = deep.flatten(2).transpose(1, 2)
        places = places + self.attention(places, text, text, need_weights=False)[0]
        deep = places.transpose(1, 2).reshape(deep.shape)
        return self.leave(torch.cat([self.up(deep), wide], 1))


class SuperResolution(nn.Module):
    """Residual blocks at the small size, and a pixel shuffle to three times the size."""

    def __init__(self, width: int = 48, blocks: int = 4, scale: int = 3) -> None:
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width), nn.Conv2d(width, width, 3, padding=1)) for _ in range(blocks))
        self.leave = nn.Sequential(nn.Conv2d(width, 3 * scale**2, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.enter(image)
        for block in self.blocks:
            x = x + block(x)
        return self.leave(x) + functional.interpolate(image, scale_factor=3.0, mode="bilinear", align_corners=False)


class Tagger(nn.Module):
    """Scores for each word, by two layers of a bidirectional LSTM. Sentences of different lengths are packed."""

    def __init__(self, vocabulary: int = 500, width: int = 96) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True)
        self.scores = nn.Linear(2 * width, 9)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(self.words(ids), lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.scores(states)


class Recommender(nn.Module):
    """DLRM: bags of categories, each the sum of its rows of a table, and dense features. The products of all pairs of vectors decide."""

    def __init__(self, tables: int = 4, rows: int = 400, width: int = 32) -> None:
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense: torch.Tensor, categories: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """categories: [tables, all categories of all rows]; offsets: [batch], where each row's bag begins."""
        x = self.dense(dense)
        vectors = torch.stack([x, *(table(categories[at], offsets) for at, table in enumerate(self.tables))], 1)
        products = vectors @ vectors.transpose(1, 2)
        return self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1))


class Attention(nn.Module):
    """Heads of attention alone, written out: batch, queries and keys are open."""

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        return scores.softmax(-1) @ value


class MessagePassing(nn.Module):
    """Two layers of a network on graphs: each node adds the messages of its edges and takes their largest elements."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.messages = nn.ModuleList([nn.Linear(16, width), nn.Linear(width, width)])
        self.scores = nn.Linear(width, 5)

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """edges: [2, edges], from and to."""
        for layer in self.messages:
            messages = layer(nodes)[edges[0]]
            sums = torch.zeros(nodes.shape[0], messages.shape[1]).index_add(0, edges[1], messages)
            largest = torch.full_like(sums, -9.0).scatter_reduce(0, edges[1][:, None].expand(-1, messages.shape[1]), messages, "amax")
            nodes = torch.relu(sums + largest)
        return self.scores(nodes)
