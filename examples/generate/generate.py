"""The text that follows a prompt, token by token as they are known.

    python generate.py model.onnx --tokenizer tokenizer.json "The web is"        # pip install tokenizers
    python generate.py model.onnx 128000 9906 1917                               # tokens, without a tokenizer

MODEL is a language model as onnxruntime-genai's builder and Transformers.js have it. `--target opencl` and others take this machine's GPU.
"""

import argparse

import gossamer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("prompt", nargs="+", help="a text; without a tokenizer, the numbers of tokens")
    parser.add_argument("--tokenizer", help="tokenizer.json of the model")
    parser.add_argument("--target", default="cpu", choices=gossamer.HERE)
    parser.add_argument("--tokens", type=int, default=16)
    given = parser.parse_args()

    model = gossamer.compile(given.model, given.target, state=True, generate=True)
    choice = {"max_tokens": given.tokens, "temperature": 0.7, "top_p": 0.9, "seed": 1}
    if given.tokenizer is None:
        for token in model.generate([int(each) for each in given.prompt], **choice):
            print(token, flush=True)
        return
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(given.tokenizer)
    said: list[int] = []
    shown = ""
    for token in model.generate(tokenizer.encode(" ".join(given.prompt)).ids, **choice):
        said.append(token)
        text = tokenizer.decode(said)  # of all, as a character may take several tokens
        print(text[len(shown) :], end="", flush=True)
        shown = text
    print()


if __name__ == "__main__":
    main()
