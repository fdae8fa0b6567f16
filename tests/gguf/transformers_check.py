"""Compares reference.py with transformers: once after a change of it, with an environment that has torch, transformers, gguf and tokenizers.

    transformers_check.py FOLDER_OF_MAKE_PY
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from make import HEAD, HEADS, GROUPS, WIDTH, HIDDEN, CONTEXT, models
from reference import Model

ROWS = {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma3": "gemma3_text", "phi3": "phi3"}


def config_of(model: Model) -> object:
    words = len(model.tensors["token_embd.weight"])
    base, scaling = model.get("rope.freq_base", 10000.0), None
    kind = model.get("rope.scaling.type")
    if kind == "linear":
        scaling = {"rope_type": "linear", "factor": model.get("rope.scaling.factor")}
    if kind == "yarn":
        scaling = {"rope_type": "yarn", "factor": model.get("rope.scaling.factor"), "original_max_position_embeddings": model.get("rope.scaling.original_context_length")}
    if kind == "longrope":
        scaling = {"type": "longrope", **{f"{name}_factor": model.tensors[f"rope_factors_{name}.weight"].tolist() for name in ("long", "short")}}
    more = {}
    if model.architecture == "phi3":
        more = {"partial_rotary_factor": model.rotated / HEAD, "original_max_position_embeddings": model.get("rope.scaling.original_context_length", CONTEXT), "pad_token_id": 0, "sliding_window": model.window or None}
    if model.architecture == "gemma3":
        more = {"sliding_window": model.window, "query_pre_attn_scalar": HEAD, "rope_local_base_freq": 10000.0}
    return AutoConfig.for_model(
        ROWS[model.architecture], vocab_size=words, hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=model.layers, num_attention_heads=HEADS, num_key_value_heads=GROUPS, head_dim=HEAD,
        max_position_embeddings=CONTEXT, rms_norm_eps=model.epsilon, rope_theta=base, rope_scaling=scaling, tie_word_embeddings="output.weight" not in model.tensors, **more)


NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_qkv": "self_attn.qkv_proj", "attn_output": "self_attn.o_proj",
         "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "ffn_norm": "post_attention_layernorm"}
GEMMA = {**NAMES, "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm", "post_ffw_norm": "post_feedforward_layernorm"}


def weights_of(model: Model) -> dict[str, torch.Tensor]:
    gemma, made = model.architecture == "gemma3", {}
    for name, tensor in model.tensors.items():
        parts = name.split(".")
        if parts[0] == "blk":
            own = (GEMMA if gemma else NAMES)[parts[2]]
            if model.architecture == "phi3" and parts[2] == "ffn_up":
                own = "mlp.gate_up_proj"
            key = f"model.layers.{parts[1]}.{own}.{parts[3]}"
            if model.architecture == "llama" and parts[2] in ("attn_q", "attn_k"):  # neighbours to halves
                tensor = tensor.reshape(-1, HEAD // 2, 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)
        elif parts[0].startswith("rope"):
            continue
        else:
            key = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}[parts[0]] + f".{parts[1]}"
        if gemma and "norm" in key:
            tensor = tensor - 1
        made[key] = torch.tensor(tensor, dtype=torch.float32)
    return made


for name in models():
    model = Model.read(f"{sys.argv[1]}/{name}.gguf")
    config = config_of(model)
    config._attn_implementation = "eager"
    network = AutoModelForCausalLM.from_config(config).float().eval()
    missing, unexpected = network.load_state_dict(weights_of(model), strict=False)
    assert not unexpected and all("lm_head" in each for each in missing), (missing, unexpected)
    if "rope_freqs.weight" in model.tensors:  # as Llama 3's configuration computes them
        network.model.rotary_emb.inv_freq /= torch.tensor(model.tensors["rope_freqs.weight"], dtype=torch.float32)
    ids = np.load(f"{sys.argv[1]}/{name}.ids.npy")
    with torch.no_grad():
        expected = network(torch.tensor(ids)).logits.numpy()
    print(f"{name}: logits of {expected.std():.3f} differ by {np.abs(expected - np.load(f'{sys.argv[1]}/{name}.logits.npy')).max():.2g} at most")
