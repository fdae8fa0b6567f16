"""Language models from folders as Hugging Face has them: text in, text out.

>>> import gossamer
>>> llm = gossamer.llm.load("SmolLM2-135M-Instruct")              # for this machine's CPU
>>> for piece in llm.chat([{"role": "user", "content": "Why is the sky blue?"}]):
...     print(piece, end="", flush=True)
>>> llm.complete("Once upon a time", max_tokens=40).text

Needs the packages tokenizers and jinja2: pip install gossamer[llm].
"""

from .language_model import Answer, LanguageModel, TokenLogprob, Usage, load
from .texts import ToolCall

__all__ = ["Answer", "LanguageModel", "TokenLogprob", "ToolCall", "Usage", "load"]
