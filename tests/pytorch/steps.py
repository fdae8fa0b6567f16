"""Optimizers and schedules of steps.jsonl, a few steps each."""

from __future__ import annotations

from typing import Any

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.01}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "betas": [0.8, 0.9], "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": [0.5, 0.6], "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "betas": [0.8, 0.7], "weight_decay": 0.1}),
    ("Adadelta", {"lr": 0.5}),
    ("Adadelta", {"rho": 0.5, "eps": 0.01, "weight_decay": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "t0": 2}),
    ("ASGD", {"lr": 0.1, "alpha": 0.5, "weight_decay": 0.1}),
    ("Rprop", {"lr": 0.1}),
    ("Rprop", {"lr": 0.1, "etas": [0.3, 1.5], "step_sizes": [0.01, 0.12]}),
    ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.5}),
    ("Adafactor", {"lr": 0.1}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "d": 1.5, "weight_decay": 0.1}),
    ("LBFGS", {"lr": 0.5}),
    ("LBFGS", {"lr": 1, "max_iter": 4, "history_size": 2}),
    ("LBFGS", {"line_search_fn": "strong_wolfe"}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 5}),
]

MATRICES: list[tuple[str, dict[str, Any]]] = [
    ("Adafactor", {"lr": 0.1}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1}),
    ("Muon", {"lr": 0.1}),
    ("Muon", {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0}),
]
"""Of a matrix of three rows and two columns."""

SCHEDULES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("StepLR", [3], {"gamma": 0.5}),
    ("MultiStepLR", [[2, 5]], {"gamma": 0.5}),
    ("ConstantLR", [], {"factor": 0.5, "total_iters": 4}),
    ("LinearLR", [], {"start_factor": 0.5, "total_iters": 4}),
    ("ExponentialLR", [0.9], {}),
    ("PolynomialLR", [], {"total_iters": 5, "power": 2.0}),
    ("CosineAnnealingLR", [6], {"eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", [3], {"T_mult": 2, "eta_min": 0.01}),
    ("OneCycleLR", [0.5], {"total_steps": 12}),
    ("OneCycleLR", [0.5], {"total_steps": 12, "anneal_strategy": "linear", "three_phase": True, "pct_start": 0.4}),
    ("OneCycleLR", [0.5], {"total_steps": 12, "cycle_momentum": False}),
    ("CyclicLR", [0.1, 0.5], {"step_size_up": 3}),
    ("CyclicLR", [0.1, 0.5], {"step_size_up": 2, "step_size_down": 3, "mode": "triangular2"}),
    ("CyclicLR", [0.1, 0.5], {"step_size_up": 2, "mode": "exp_range", "gamma": 0.9, "cycle_momentum": False}),
]
"""Each with its arguments after the optimizer."""

SEVERAL: list[tuple[str, list[tuple[str, list[Any], dict[str, Any]]], list[int]]] = [
    ("SequentialLR", [("ConstantLR", [], {"factor": 0.1, "total_iters": 2}), ("ExponentialLR", [0.9], {})], [4]),
    ("SequentialLR", [("LinearLR", [], {"start_factor": 0.1, "total_iters": 3}), ("CosineAnnealingLR", [5], {}), ("StepLR", [2], {"gamma": 0.5})], [3, 8]),
    ("ChainedScheduler", [("ConstantLR", [], {"factor": 0.1, "total_iters": 3}), ("ExponentialLR", [0.9], {})], []),
    ("ChainedScheduler", [("LinearLR", [], {"start_factor": 0.5, "total_iters": 4}), ("StepLR", [3], {"gamma": 0.5})], []),
]
