"""Detection, segmentation and depth: networks whose images have any size."""

from __future__ import annotations

from collections import OrderedDict

import torch
import transformers as hf
from own_modules import Yolo
from recipes import Call, Model, images, recipe, values
from torchvision.models import detection, mobilenet_v3_small, segmentation
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.detection.backbone_utils import mobilenet_backbone
from weights import conditioned

SIZES = {0: "batch", 2: "height", 3: "width"}


def scene(call: torch.nn.Module, name: str, outputs: list[str], shapes: list[tuple[int, int, int]]) -> Model:
    """shapes: batch, height and width of each set."""
    feeds = [{name: images(*shape, seed=at)} for at, shape in enumerate(shapes)]
    return Model(call, feeds, {name: SIZES}, outputs)


@recipe("legacy", "dynamo")
def yolo() -> Model:
    module = conditioned(Yolo(), lambda each: each(images(2, 320, 320, seed=5).sigmoid()))
    model = scene(module, "images", ["output0"], [(1, 320, 320), (2, 192, 256), (1, 160, 352)])
    model.feeds = [{"images": each["images"].sigmoid()} for each in model.feeds]
    return model


@recipe()
def dinov2() -> Model:
    config = hf.Dinov2Config(hidden_size=192, num_hidden_layers=3, num_attention_heads=3, image_size=224, patch_size=14)
    call = Call(conditioned(hf.Dinov2Model(config)), lambda each, image: (lambda made: (made.last_hidden_state, made.pooler_output))(each(pixel_values=image)))
    return scene(call, "pixel_values", ["last_hidden_state", "pooler_output"], [(1, 224, 224), (2, 98, 154), (1, 126, 70)])


@recipe()
def depth_anything() -> Model:
    """The batch is 1, as its authors export it."""
    dino = hf.Dinov2Config(
        hidden_size=192, num_hidden_layers=4, num_attention_heads=3, image_size=224, patch_size=14, out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False, apply_layernorm=True
    )
    config = hf.DepthAnythingConfig(backbone_config=dino, reassemble_hidden_size=192, neck_hidden_sizes=[24, 48, 96, 192], fusion_hidden_size=32, patch_size=14)
    module = conditioned(hf.DepthAnythingForDepthEstimation(config))
    with torch.no_grad():
        module.head.conv3.bias.fill_(2.0)  # its ReLU passes something
    model = scene(Call(module, lambda each, image: each(pixel_values=image).predicted_depth), "pixel_values", ["predicted_depth"], [(1, 182, 182), (1, 126, 210)])
    model.open = {"pixel_values": {2: "height", 3: "width"}}
    return model


@recipe()
def deeplabv3() -> Model:
    """On the smaller MobileNetV3; its head has convolutions of dilation 12, 24 and 36."""
    features = torch.nn.Sequential(OrderedDict(out=mobilenet_v3_small(weights=None, dilated=True).features))
    backbone = IntermediateLayerGetter(features, {"out": "out"})
    module = segmentation.DeepLabV3(backbone, segmentation.deeplabv3.DeepLabHead(576, 21))
    conditioned(module, lambda each: each(images(2, 224, 224, seed=5)))
    return scene(Call(module, lambda each, image: each(image)["out"]), "image", ["out"], [(1, 224, 224), (2, 160, 193)])


@recipe("legacy", "dynamo")
def segformer() -> Model:
    config = hf.SegformerConfig(num_labels=20, depths=[1, 1, 1, 1], decoder_hidden_size=128)
    module = conditioned(hf.SegformerForSemanticSegmentation(config), lambda each: each(pixel_values=images(2, 128, 128, seed=5)))
    return scene(Call(module, lambda each, image: each(pixel_values=image).logits), "pixel_values", ["logits"], [(1, 256, 256), (2, 128, 192), (1, 160, 224)])


@recipe()
def detr() -> Model:
    resnet = hf.ResNetConfig(embedding_size=32, hidden_sizes=[64, 128, 256, 512], depths=[1, 1, 1, 1], out_features=["stage4"])
    config = hf.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=resnet, d_model=128, num_queries=40,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=256, decoder_ffn_dim=256,
    )
    module = conditioned(hf.DetrForObjectDetection(config), lambda each: each(pixel_values=images(2, 256, 256, seed=5)))
    call = Call(module, lambda each, image: (lambda made: (made.logits, made.pred_boxes))(each(pixel_values=image)))
    return scene(call, "pixel_values", ["logits", "pred_boxes"], [(1, 256, 256), (2, 224, 193)])


@recipe()
def yolos() -> Model:
    """A vision transformer with tokens of detections. Its table of positions is scaled to the image."""
    config = hf.YolosConfig(
        hidden_size=192, num_hidden_layers=3, num_attention_heads=3, intermediate_size=768, image_size=[256, 256], num_detection_tokens=40, use_mid_position_embeddings=False
    )
    call = Call(conditioned(hf.YolosForObjectDetection(config)), lambda each, image: (lambda made: (made.logits, made.pred_boxes))(each(pixel_values=image)))
    return scene(call, "pixel_values", ["logits", "pred_boxes"], [(1, 256, 256), (2, 192, 224)])


@recipe()
def sam_decoder() -> Model:
    """Masks for points in an image that was encoded before."""
    vision = hf.SamVisionConfig(hidden_size=48, num_hidden_layers=1, num_attention_heads=2, image_size=256, patch_size=16, num_pos_feats=64, global_attn_indexes=[0], mlp_dim=48, output_channels=128)
    prompt = hf.SamPromptEncoderConfig(hidden_size=128, image_size=256, image_embedding_size=16)
    masks = hf.SamMaskDecoderConfig(hidden_size=128, mlp_dim=512, num_hidden_layers=2, num_attention_heads=4, iou_head_hidden_dim=128)
    module = conditioned(hf.SamModel(hf.SamConfig(vision_config=vision.to_dict(), prompt_encoder_config=prompt.to_dict(), mask_decoder_config=masks.to_dict())))

    def call(module: hf.SamModel, image: torch.Tensor, points: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        result = module(image_embeddings=image, input_points=points, input_labels=labels, multimask_output=True)
        return result.iou_scores, result.pred_masks

    def feeds(points: int) -> dict[str, torch.Tensor]:
        places = 256 * values(1, 1, points, 2, seed=points).sigmoid()
        return {"image_embeddings": values(1, 128, 16, 16, seed=points), "input_points": places, "input_labels": torch.arange(points).reshape(1, 1, points) % 2}

    dims = {"input_points": {2: "points"}, "input_labels": {2: "points"}}
    return Model(Call(module, call), [feeds(2), feeds(5), feeds(1)], dims, ["iou_scores", "pred_masks"])


def detector(module: torch.nn.Module, size: int, scores: list[torch.nn.Module]) -> Model:
    """One image of any size that the network scales itself. scores: layers that score classes. Their
    weights are scaled up so that scores differ clearly and rounding does not change the order of boxes;
    images of some other sizes, such as 200 x 161, give boxes of equal scores."""
    conditioned(module, lambda each: each(list(images(4, size, size, seed=5).sigmoid())))
    with torch.no_grad():
        for layer in scores:
            layer.weight.mul_(6 / layer.weight.std() / layer.weight[0].numel() ** 0.5)
    call = Call(module, lambda each, image: (lambda made: (made[0]["boxes"], made[0]["scores"], made[0]["labels"]))(each([image])))
    feeds = [{"image": images(1, *shape, seed=at)[0].sigmoid()} for at, shape in enumerate(((size, size), (192, 161)))]
    return Model(call, feeds, {"image": {1: "height", 2: "width"}}, ["boxes", "scores", "labels"])


@recipe()
def ssdlite() -> Model:
    module = detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=8, detections_per_img=20, topk_candidates=50)
    return detector(module, 320, [each[-1] for each in module.head.classification_head.module_list])


@recipe()
def faster_rcnn() -> Model:
    backbone = mobilenet_backbone(backbone_name="mobilenet_v3_small", weights=None, fpn=True, trainable_layers=6)
    anchors = detection.anchor_utils.AnchorGenerator(((32, 64, 128),) * 3, ((0.5, 1.0, 2.0),) * 3)
    head = detection.faster_rcnn.TwoMLPHead(256 * 49, 64)
    module = detection.FasterRCNN(
        backbone, rpn_anchor_generator=anchors, box_head=head, box_predictor=detection.faster_rcnn.FastRCNNPredictor(64, 8), min_size=160, max_size=320,
        rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=30, box_detections_per_img=10,
    )
    return detector(module, 224, [module.roi_heads.box_predictor.cls_score])
