"""Language models of two to six layers with seeded weights, in the widths of small ones that people use."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers as hf

WORDS = 2048
COMMON = {"vocab_size": WORDS, "num_hidden_layers": 2, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
SMALL = {"hidden_size": 512, "intermediate_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 4096}
HYBRID = {"linear_num_key_heads": 4, "linear_num_value_heads": 8, "linear_key_head_dim": 64, "linear_value_head_dim": 64, "head_dim": 64}
VISION = {"depth": 1, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 512}


def long_rope(pairs: int, **more: object) -> dict[str, object]:
    factors = {f"{which}_factor": [1 + step * at for at in range(pairs)] for which, step in (("short", 0.01), ("long", 0.05))}
    return {"rope_type": "longrope", "type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 4096, **factors, **more}


def llama() -> hf.PreTrainedModel:
    rope = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    return hf.LlamaForCausalLM(hf.LlamaConfig(**COMMON, hidden_size=2048, intermediate_size=8192, num_attention_heads=32, num_key_value_heads=8,
                                              head_dim=64, max_position_embeddings=131072, tie_word_embeddings=True, rope_scaling=rope))


def smollm() -> hf.PreTrainedModel:
    return hf.LlamaForCausalLM(hf.LlamaConfig(**COMMON, hidden_size=576, intermediate_size=1536, num_attention_heads=9, num_key_value_heads=3,
                                              head_dim=64, max_position_embeddings=8192, rope_theta=1e5, tie_word_embeddings=True))


def qwen2() -> hf.PreTrainedModel:
    return hf.Qwen2ForCausalLM(hf.Qwen2Config(**COMMON, hidden_size=896, intermediate_size=4864, num_attention_heads=14, num_key_value_heads=2,
                                              max_position_embeddings=32768, rope_theta=1e6, tie_word_embeddings=True))


def qwen3() -> hf.PreTrainedModel:
    return hf.Qwen3ForCausalLM(hf.Qwen3Config(**COMMON, hidden_size=1024, intermediate_size=3072, num_attention_heads=16, num_key_value_heads=8,
                                              head_dim=128, max_position_embeddings=40960, rope_theta=1e6, tie_word_embeddings=True))


def gemma3() -> hf.PreTrainedModel:
    ropes = {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4}, "full_attention": {"rope_type": "default", "rope_theta": 1e6}}
    return hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(**{**COMMON, "num_hidden_layers": 6}, hidden_size=640, intermediate_size=2048, num_attention_heads=4,
                                                    num_key_value_heads=1, head_dim=256, max_position_embeddings=32768, sliding_window=16,
                                                    layer_types=["sliding_attention"] * 5 + ["full_attention"], rope_parameters=ropes, query_pre_attn_scalar=256))


def gemma2() -> hf.PreTrainedModel:
    return hf.Gemma2ForCausalLM(hf.Gemma2Config(**COMMON, **{**SMALL, "num_key_value_heads": 4}, head_dim=64, sliding_window=16, query_pre_attn_scalar=64))


def phi4() -> hf.PreTrainedModel:
    return hf.Phi3ForCausalLM(hf.Phi3Config(**COMMON, hidden_size=3072, intermediate_size=8192, num_attention_heads=24, num_key_value_heads=8,
                                            max_position_embeddings=131072, original_max_position_embeddings=4096, tie_word_embeddings=True,
                                            partial_rotary_factor=0.75, rope_scaling=long_rope(48, partial_rotary_factor=0.75)))


def phi35() -> hf.PreTrainedModel:
    return hf.Phi3ForCausalLM(hf.Phi3Config(**COMMON, hidden_size=1536, intermediate_size=4096, num_attention_heads=16, num_key_value_heads=16,
                                            max_position_embeddings=131072, original_max_position_embeddings=4096, rope_scaling=long_rope(48)))


def gpt_oss() -> hf.PreTrainedModel:
    return hf.GptOssForCausalLM(hf.GptOssConfig(**COMMON, **{**SMALL, "intermediate_size": 512}, head_dim=64, num_local_experts=8, num_experts_per_tok=2, sliding_window=16))


def qwen35(experts: bool = False) -> hf.PreTrainedModel:
    rope = {"rope_type": "default", "rope_theta": 1e7, "mrope_section": [4, 2, 2], "mrope_interleaved": True, "partial_rotary_factor": 0.25}
    text = {**COMMON, **SMALL, **HYBRID, "num_hidden_layers": 4, "rope_parameters": rope}
    if not experts:
        return hf.Qwen3_5ForConditionalGeneration(hf.Qwen3_5Config(text_config=hf.Qwen3_5TextConfig(**text).to_dict(), vision_config=VISION))
    text |= {"moe_intermediate_size": 256, "shared_expert_intermediate_size": 256, "num_experts": 8, "num_experts_per_tok": 2}
    return hf.Qwen3_5MoeForConditionalGeneration(hf.Qwen3_5MoeConfig(text_config=hf.Qwen3_5MoeTextConfig(**text).to_dict(), vision_config=VISION))


def qwen3_vl() -> hf.PreTrainedModel:
    rope = {"rope_type": "default", "rope_theta": 5e6, "mrope_section": [12, 10, 10], "mrope_interleaved": True}
    text = hf.Qwen3VLTextConfig(**COMMON, **SMALL, head_dim=64, rope_scaling=rope)
    return hf.Qwen3VLForConditionalGeneration(hf.Qwen3VLConfig(text_config=text.to_dict(), vision_config={**VISION, "deepstack_visual_indexes": []}))


def lfm2(experts: bool = False) -> hf.PreTrainedModel:
    config = {**COMMON, **SMALL, "num_hidden_layers": 4, "layer_types": ["conv", "conv", "full_attention", "conv"]}
    if not experts:
        return hf.Lfm2ForCausalLM(hf.Lfm2Config(**config))
    return hf.Lfm2MoeForCausalLM(hf.Lfm2MoeConfig(**config, moe_intermediate_size=256, num_experts=8, num_experts_per_tok=2, num_dense_layers=1))


def granite() -> hf.PreTrainedModel:
    return hf.GraniteForCausalLM(hf.GraniteConfig(**COMMON, **SMALL, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, attention_multiplier=0.015625))


MODELS = {
    "llama": llama, "smollm": smollm, "qwen2": qwen2, "qwen3": qwen3, "gemma2": gemma2, "gemma3": gemma3, "phi4": phi4, "phi35": phi35, "gpt_oss": gpt_oss,
    "qwen35": qwen35, "qwen35_moe": lambda: qwen35(True), "qwen3_vl": qwen3_vl, "lfm2": lfm2, "lfm2_moe": lambda: lfm2(True), "granite": granite,
    "mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(**COMMON, **SMALL, sliding_window=None)),
    "phi": lambda: hf.PhiForCausalLM(hf.PhiConfig(**COMMON, **{**SMALL, "num_key_value_heads": 8}, partial_rotary_factor=0.5)),
    "nemotron": lambda: hf.NemotronForCausalLM(hf.NemotronConfig(**COMMON, **SMALL)),
    "ernie": lambda: hf.Ernie4_5ForCausalLM(hf.Ernie4_5Config(**COMMON, **SMALL, head_dim=64)),
    "hunyuan": lambda: hf.HunYuanDenseV1ForCausalLM(hf.HunYuanDenseV1Config(**COMMON, **SMALL, head_dim=64)),
}


def write(name: str, folder: Path) -> None:
    """A folder as Hugging Face has it, which the builder reads."""
    from safetensors.torch import load_file, save_file
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.manual_seed(0)
    model = MODELS[name]()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # norms and biases, which begin as ones and zeros
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.to(torch.float32).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({f"t{at}": at for at in range(WORDS)}, unk_token="t0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="t1", eos_token="t2", unk_token="t0", pad_token="t2").save_pretrained(folder)
    if name != "gpt_oss":
        return
    # The builder reads the experts as they are published, in MXFP4.
    file = folder / "model.safetensors"
    weights = load_file(file)
    for layer in range(2):
        for which, rows in (("gate_up_proj", 1024), ("down_proj", 512)):
            at = f"model.layers.{layer}.mlp.experts.{which}"
            weights[f"{at}_blocks"] = torch.randint(0, 256, (8, rows, 16, 16), dtype=torch.uint8)
            weights[f"{at}_scales"] = torch.randint(119, 122, (8, rows, 16), dtype=torch.uint8)
    save_file(weights, file, metadata={"format": "pt"})
