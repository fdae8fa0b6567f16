"""Networks of images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers as hf
from checkpoints import checkpoint, exported, labels, write_config, write_json
from forms import write_forms
from recipes import Call
from weights import conditioned

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def network(folder: Path, module: Any, outputs: list[str], processor: dict[str, Any], size: int, dims: dict[str, dict[int, str]] | None = None, *, masked: bool = False) -> None:
    """processor: preprocessor_config.json beyond what all have. masked: takes pixel_mask of 64 x 64, as Optimum exports DETR."""
    images = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(5))
    module = conditioned(module, lambda each: each(pixel_values=images))
    feeds = {"pixel_values": images[:1]}
    if masked:
        feeds["pixel_mask"] = torch.ones(1, 64, 64, dtype=torch.long)
    call = Call(module, lambda each, *given: tuple(getattr(each(**dict(zip(feeds, given, strict=True))), name) for name in outputs))
    batch = {0: "batch_size"}
    open_dims = {"pixel_values": batch, **{name: batch for name in outputs}, **(dims or {})}
    write_forms(exported(call, feeds, outputs, open_dims), folder / "onnx", "model")
    write_config(folder, module.config, type(module).__name__)
    base = {"do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": MEAN, "image_std": STD, "rescale_factor": 1 / 255, "resample": 2}
    write_json(folder / "preprocessor_config.json", {**base, **processor})


@checkpoint
def vit(folder: Path) -> None:
    config = hf.ViTConfig(hidden_size=64, num_hidden_layers=6, num_attention_heads=4, intermediate_size=128, image_size=64, patch_size=8, **labels("cat", "dog", "fox", "owl", "eel", "bee"))
    processor = {"image_processor_type": "ViTFeatureExtractor", "size": {"height": 64, "width": 64}}
    network(folder, hf.ViTForImageClassification(config), ["logits"], processor, 64)


@checkpoint
def segformer(folder: Path) -> None:
    config = hf.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 64, 64], num_attention_heads=[1, 2, 4, 4], decoder_hidden_size=64, **labels("wall", "sky", "road", "tree", "car")
    )
    processor = {"image_processor_type": "SegformerImageProcessor", "size": {"height": 96, "width": 96}, "do_reduce_labels": False}
    network(folder, hf.SegformerForSemanticSegmentation(config), ["logits"], processor, 96, {"pixel_values": {0: "batch_size", 2: "height", 3: "width"}})


@checkpoint
def dpt(folder: Path) -> None:
    config = hf.DPTConfig(
        hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128, image_size=64, patch_size=16, backbone_out_indices=[0, 1, 2, 3], is_hybrid=False,
        neck_hidden_sizes=[16, 16, 32, 32], fusion_hidden_size=16, readout_type="project", reassemble_factors=[4, 2, 1, 0.5],
    )
    processor = {"image_processor_type": "DPTImageProcessor", "size": {"height": 64, "width": 64}, "ensure_multiple_of": 1, "keep_aspect_ratio": False}
    network(folder, hf.DPTForDepthEstimation(config), ["predicted_depth"], processor, 64)


@checkpoint
def yolos(folder: Path) -> None:
    config = hf.YolosConfig(
        hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128, image_size=[96, 96], patch_size=16, num_detection_tokens=12,
        use_mid_position_embeddings=False, **labels("person", "car", "N/A", "chair"),
    )
    processor = {"image_processor_type": "YolosImageProcessor", "size": {"height": 96, "width": 96}, "do_pad": False, "format": "coco_detection"}
    network(folder, hf.YolosForObjectDetection(config), ["logits", "pred_boxes"], processor, 96)


@checkpoint
def detr(folder: Path) -> None:
    backbone = hf.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1], out_features=["stage4"])
    config = hf.DetrConfig(
        backbone_config=backbone, use_timm_backbone=False, use_pretrained_backbone=False, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, num_queries=10, **labels("person", "car", "N/A", "chair", "table"),
    )
    processor = {"image_processor_type": "DetrFeatureExtractor", "size": {"shortest_edge": 96, "longest_edge": 160}, "format": "coco_detection", "do_pad": True}
    sides = {0: "batch_size", 2: "height", 3: "width"}
    dims = {"pixel_values": sides, "pixel_mask": {0: "batch_size"}}
    network(folder, hf.DetrForObjectDetection(config), ["logits", "pred_boxes"], processor, 96, dims, masked=True)
