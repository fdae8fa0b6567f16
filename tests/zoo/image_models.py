"""Image classifiers of timm."""

from __future__ import annotations

from typing import Any

import timm
from recipes import Model, images, recipe
from weights import conditioned

BATCH = {0: "batch"}
SIZES = {0: "batch", 2: "height", 3: "width"}


def backbone(architecture: str, *, size: int = 224, open_size: bool = False, **options: Any) -> Model:
    """With 100 classes. open_size: height and width are open, too; only convolutional networks accept that."""
    module = timm.create_model(architecture, pretrained=False, num_classes=100, **options)
    conditioned(module, lambda each: each(images(4, size, size, seed=7)))
    others = [(2, size - 32, size + 32), (1, size // 2 + 1, size // 2 + 35)] if open_size else [(2, size, size)]
    feeds = [{"image": images(1, size, size)}, *({"image": images(*shape, seed=at + 1)} for at, shape in enumerate(others))]
    return Model(module, feeds, {"image": SIZES if open_size else BATCH}, ["logits"])


@recipe("legacy", "dynamo")
def efficientnet_b0() -> Model:
    return backbone("efficientnet_b0", open_size=True)


@recipe()
def mobilenetv3_small() -> Model:
    return backbone("mobilenetv3_small_100", open_size=True)


@recipe()
def mobilenetv4_small() -> Model:
    return backbone("mobilenetv4_conv_small")


@recipe("legacy", "dynamo")
def convnext_atto() -> Model:
    return backbone("convnext_atto", depths=(1, 1, 3, 1), open_size=True)


@recipe()
def swin_tiny() -> Model:
    return backbone("swin_tiny_patch4_window7_224", embed_dim=48, depths=(2, 2, 2, 2), num_heads=(2, 4, 8, 16))


@recipe()
def vit_small() -> Model:
    return backbone("vit_small_patch16_224", depth=3)


@recipe()
def mobilevit_xxs() -> Model:
    return backbone("mobilevit_xxs", size=256)


@recipe()
def regnety_004() -> Model:
    return backbone("regnety_004", open_size=True)


@recipe()
def ghostnetv2() -> Model:
    return backbone("ghostnetv2_100")


@recipe()
def fastvit() -> Model:
    return backbone("fastvit_t8", size=256)
