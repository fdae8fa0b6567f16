"""What a server counts and measures, for Prometheus."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
TEXTS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 128)


class Metrics:
    """Of one server."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self.requests = Counter("gossamer_requests", "Requests by status; 499: the client went away", ["path", "status"], registry=own)
        self.seconds = Histogram("gossamer_request_seconds", "Time of a request", ["path"], registry=own, buckets=SECONDS)
        self.first_token = Histogram("gossamer_time_to_first_token_seconds", "From a request's texts to their first token", registry=own, buckets=SECONDS)
        self.prompt_tokens = Counter("gossamer_prompt_tokens", "Tokens of prompts", registry=own)
        self.cached_tokens = Counter("gossamer_cached_tokens", "Tokens of prompts that other texts had computed", registry=own)
        self.completion_tokens = Counter("gossamer_completion_tokens", "Tokens that were generated", registry=own)
        self.running = Gauge("gossamer_running_texts", "Texts that have begun", registry=own)
        self.waiting = Gauge("gossamer_waiting_texts", "Texts that wait for a place or for the rest of their prompt", registry=own)
        self.batch = Histogram("gossamer_batch_texts", "Texts that had a token in a step", registry=own, buckets=TEXTS)

    def text(self) -> bytes:
        return generate_latest(self._registry)
