"""The networks of own_modules.py that are not scenes (scene_models.py has YOLO)."""

from __future__ import annotations

import torch
from own_modules import Attention, Denoiser, ImageDecoder, MessagePassing, Recommender, SuperResolution, Tagger
from recipes import Model, images, recipe, tokens, values
from weights import conditioned


@recipe("legacy", "dynamo")
def vae_decoder() -> Model:
    feeds = [{"latent": values(batch, 4, height, width, seed=batch)} for batch, height, width in ((1, 16, 16), (2, 9, 13))]
    return Model(conditioned(ImageDecoder()), feeds, {"latent": {0: "batch", 2: "height", 3: "width"}}, ["image"])


@recipe("legacy", "dynamo")
def denoiser() -> Model:
    def feeds(batch: int, height: int, width: int, length: int) -> dict[str, torch.Tensor]:
        step = torch.full((batch,), 500.0) - 90 * torch.arange(batch)
        return {"latent": values(batch, 4, height, width, seed=batch), "step": step, "text": values(batch, length, 96, seed=length)}

    dims = {"latent": {0: "batch", 2: "height", 3: "width"}, "step": {0: "batch"}, "text": {0: "batch", 1: "tokens"}}
    return Model(conditioned(Denoiser()), [feeds(2, 16, 16, 7), feeds(1, 10, 22, 77)], dims, ["noise"])


@recipe()
def message_passing() -> Model:
    def feeds(nodes: int, edges: int) -> dict[str, torch.Tensor]:
        ends = torch.randint(0, nodes, (2, edges), generator=torch.Generator().manual_seed(nodes))
        return {"nodes": values(nodes, 16, seed=edges), "edges": ends}

    return Model(conditioned(MessagePassing()), [feeds(30, 90), feeds(7, 1), feeds(5, 33)], {"nodes": {0: "nodes"}, "edges": {1: "edges"}}, ["scores"])


@recipe()
def super_resolution() -> Model:
    feeds = [{"image": images(batch, height, width, seed=batch)} for batch, height, width in ((1, 64, 64), (2, 37, 51))]
    return Model(conditioned(SuperResolution()), feeds, {"image": {0: "batch", 2: "height", 3: "width"}}, ["large"])


@recipe()
def lstm_tagger() -> Model:
    sets = ((2, 20, [20, 13]), (3, 7, [2, 7, 5]), (1, 11, [11]))
    feeds = [{"ids": tokens(batch, length, 500, seed=batch), "lengths": torch.tensor(lengths)} for batch, length, lengths in sets]
    return Model(conditioned(Tagger()), feeds, {"ids": {0: "batch", 1: "words"}, "lengths": {0: "batch"}}, ["scores"])


@recipe("legacy", "dynamo")
def dlrm() -> Model:
    def feeds(offsets: list[int], count: int) -> dict[str, torch.Tensor]:
        return {"dense": values(len(offsets), 13, seed=count), "categories": tokens(4, count, 400, seed=count), "offsets": torch.tensor(offsets)}

    dims = {"dense": {0: "batch"}, "categories": {1: "categories"}, "offsets": {0: "batch"}}
    return Model(conditioned(Recommender()), [feeds([0, 3, 4], 9), feeds([0], 5), feeds([0, 2, 7, 8, 11], 12)], dims, ["probability"])


@recipe()
def attention() -> Model:
    def feeds(batch: int, queries: int, keys: int) -> dict[str, torch.Tensor]:
        return {name: values(batch, 6, length, 64, seed=at) for at, (name, length) in enumerate((("query", queries), ("key", keys), ("value", keys)))}

    dims = {"query": {0: "batch", 2: "queries"}, "key": {0: "batch", 2: "keys"}, "value": {0: "batch", 2: "keys"}}
    return Model(Attention(), [feeds(1, 256, 256), feeds(2, 33, 71), feeds(1, 1, 5)], dims, ["mixed"])
