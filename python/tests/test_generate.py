"""Text from language models: the tokens that runs whose logits are read give, draws by their distribution, ends and errors."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper

import gossamer
from models import driver_needed, model_of

PROMPT = [5, 7, 13]
WORDS, WIDTH, CONTEXT = 60, 16, 40


def decoder(words=WORDS, context=CONTEXT):
    """A layer of attention with a cache between an embedding and a head, as language models are exported."""
    random = np.random.default_rng(3)
    scales = {"wv": 4}  # so that texts vary
    angles = np.outer(np.arange(context), 100.0 ** -np.arange(WIDTH // 4))
    weights = {
        "words": (words, WIDTH), "wq": (WIDTH, WIDTH), "wk": (WIDTH, 8), "wv": (WIDTH, 8), "head": (WIDTH, words),
    }  # fmt: skip
    initializers = [(name, (scales.get(name, 1) * random.uniform(-1, 1, shape)).astype(np.float32)) for name, shape in weights.items()]
    initializers += [("cosines", np.cos(angles).astype(np.float32)), ("sines", np.sin(angles).astype(np.float32)), ("one", np.array([1])), ("axis", np.array(1))]
    attention = helper.make_node(
        "GroupQueryAttention",
        ["q", "k", "v", "past.key", "past.value", "last", "total", "cosines", "sines"],
        ["attended", "present.key", "present.value"],
        domain="com.microsoft", num_heads=2, kv_num_heads=1, do_rotary=1,
    )  # fmt: skip
    nodes = [
        helper.make_node("ReduceSum", ["attention_mask", "one"], ["count"]),
        helper.make_node("Sub", ["count", "one"], ["last64"]),
        helper.make_node("Cast", ["last64"], ["last"], to=TensorProto.INT32),
        helper.make_node("Shape", ["attention_mask"], ["shape"]),
        helper.make_node("Gather", ["shape", "axis"], ["total64"]),
        helper.make_node("Cast", ["total64"], ["total"], to=TensorProto.INT32),
        helper.make_node("Gather", ["words", "input_ids"], ["x"]),
        *(helper.make_node("MatMul", ["x", f"w{name}"], [name]) for name in "qkv"),
        attention,
        helper.make_node("Add", ["x", "attended"], ["sum"]),
        helper.make_node("MatMul", ["sum", "head"], ["logits"]),
    ]
    f32, i64 = TensorProto.FLOAT, TensorProto.INT64
    caches = [(f"past.{name}", f32, ["b", 1, "p", 8]) for name in ("key", "value")]
    longer = [(f"present.{name}", f32, ["b", 1, "t", 8]) for name in ("key", "value")]
    model = model_of(nodes, [("input_ids", i64, ["b", "s"]), ("attention_mask", i64, ["b", "t"]), *caches], [("logits", f32, ["b", "s", words]), *longer], initializers)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def loaded(target="cpu", **options):
    model = gossamer.compile(decoder(), target, state=True, generate=True, state_rows=CONTEXT, threads=1, **options)
    with driver_needed():
        assert len(model.state) == 3
    return model


@pytest.fixture(scope="module", params=gossamer.HERE)
def model(request):
    return loaded(request.param)


def logits_after(model, tokens, before=0):
    feeds = {"input_ids": np.array([tokens]), "attention_mask": np.ones((1, before + len(tokens)), np.int64)}
    return model.run(feeds)["logits"].ravel()


def text_by_runs(model, count, adjust=lambda logits, said: logits):
    model.state.reset()
    said, following = [], PROMPT
    for _ in range(count):
        logits = adjust(logits_after(model, following, len(PROMPT) + len(said) - 1 if said else 0), said)
        following = [int(np.argmax(logits))]
        said += following
    return said


def test_greedy_text_is_that_of_runs(model):
    said = text_by_runs(model, 12)
    assert list(model.generate(PROMPT, max_tokens=12)) == said
    for options in ({"ahead": 0}, {"ahead": 5}, {"prompt_chunk": 2}):
        assert list(model.generate(np.array(PROMPT), max_tokens=12, **options)) == said


def test_penalties_are_those_of_the_definition(model):
    def penalised(logits, said):
        counts = np.array([said.count(word) for word in range(WORDS)])
        seen = counts > 0
        seen[PROMPT] = True
        repeated = np.where(logits > 0, logits / 1.3, logits * 1.3)
        return np.where(seen, repeated, logits) - 0.2 * (counts > 0) - 0.1 * counts

    given = {"repetition_penalty": 1.3, "presence_penalty": 0.2, "frequency_penalty": 0.1}
    assert list(model.generate(PROMPT, max_tokens=16, **given)) == text_by_runs(model, 16, penalised)


def test_biases_are_added_to_logits(model):
    bias = {text_by_runs(model, 1)[0]: -100, 3: 0.4, WORDS - 1: 0.2}
    added = np.array([bias.get(word, 0) for word in range(WORDS)])
    assert list(model.generate(PROMPT, max_tokens=12, logit_bias=bias)) == text_by_runs(model, 12, lambda logits, said: logits + added)
    for wrong in ({WORDS: 1}, {0: float("nan")}, {"a": 1}, {0: None}, [3]):
        with pytest.raises(gossamer.Error, match="logit_bias"):
            model.generate(PROMPT, logit_bias=wrong)


def shares_of(logits, temperature, top_k=WORDS, top_p=1.0, min_p=0.0):
    """The definition of filters: probabilities by token."""
    weights = np.exp((logits - logits.max()) / temperature)
    order = np.argsort(-weights)
    kept = order[:top_k]
    before = np.cumsum(weights[kept]) - weights[kept]
    kept = kept[(before < top_p * weights[kept].sum()) & (weights[kept] >= min_p)]
    shares = np.zeros(len(weights))
    shares[kept] = weights[kept] / weights[kept].sum()
    return shares


@pytest.mark.parametrize("options", [{"temperature": 0.9}, {"temperature": 1, "top_k": 7}, {"temperature": 1.1, "top_p": 0.6}, {"temperature": 1, "min_p": 0.1}, {"temperature": 0.7, "top_k": 30, "top_p": 0.8, "min_p": 0.05}], ids=str)
def test_draws_have_the_distribution_of_the_definition(model, options):
    count = 1000 if model.target == "cpu" else 200
    model.state.reset()
    shares = shares_of(logits_after(model, PROMPT), **options)
    found = np.zeros(WORDS)
    for seed in range(count):
        found[next(model.generate(PROMPT, seed=seed, max_tokens=1, **options))] += 1
    assert not found[shares == 0].any()
    often = shares * count >= 5
    bins = [*zip(found[often], shares[often] * count, strict=True), (found[~often].sum(), shares[~often].sum() * count)]
    terms = [(has - wanted) ** 2 / wanted for has, wanted in bins if wanted > 1]
    assert sum(terms) < len(terms) + 5 * np.sqrt(2 * len(terms))


def test_one_seed_gives_one_text(model):
    options = {"temperature": 1.2, "top_k": 40, "max_tokens": 16}
    said = list(model.generate(PROMPT, seed=7, **options))
    assert said == list(model.generate(PROMPT, seed=7, **options)) == list(loaded().generate(PROMPT, seed=7, **options))
    assert said != list(model.generate(PROMPT, seed=8, **options))
    # Two texts without a seed are equal once in 230 times.
    assert len({tuple(model.generate(PROMPT, **options)) for _ in range(4)}) > 1


def rows(model):
    return model.state["past.key"].shape[2]


def test_it_ends_with_the_state_of_what_was_given(model):
    said = text_by_runs(model, 20)
    at = next(at for at in range(3, 20) if said[at] not in said[:at])
    generation = model.generate(PROMPT, stop_tokens=[said[at]], ahead=4)
    assert list(generation) == said[:at]
    assert generation.how == "stop"
    assert rows(model) == len(PROMPT) + at
    short = model.generate(PROMPT, max_tokens=3)
    assert list(short) == said[:3]
    assert short.how == "length"
    for given, _ in enumerate(model.generate(PROMPT), 1):
        if given == 3:
            break
    assert rows(model) in (len(PROMPT) + 2, len(PROMPT) + 3)  # the last token's run may be on its way
    with model.generate(PROMPT) as begun:
        assert next(begun) == said[0]
        with pytest.raises(gossamer.Error, match="under way"):
            model.generate(PROMPT)
    assert list(begun) == []
    assert list(model.generate(PROMPT, max_tokens=6)) == said[:6]


def test_tokens_before_the_end_of_the_context_are_given(model):
    said = []
    with pytest.raises(gossamer.Error, match="40 positions"):
        said.extend(said.append(token) or token for token in model.generate(PROMPT))
    with pytest.raises(gossamer.Error, match="shorter prompt"):
        next(model.generate([3] * (CONTEXT + 1), prompt_chunk=16))


def test_log_probabilities(model):
    model.state.reset()
    logits = logits_after(model, PROMPT).astype(np.float64)
    logprobs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    with model.generate(PROMPT, top_logprobs=5) as generation:
        token = next(generation)
        order = np.argsort(-logprobs)[:5]
        assert [id for id, _ in generation.top] == list(order)
        np.testing.assert_allclose([value for _, value in generation.top], logprobs[order], rtol=1e-4)
        assert generation.logprob == pytest.approx(logprobs[token], rel=1e-4)


def test_caches_go_on(model):
    first = list(model.generate(PROMPT, max_tokens=6))
    longer = [*PROMPT, *first, 9]
    wanted = list(model.generate(longer, max_tokens=6))
    cache = gossamer.GenerationCache()
    assert len(cache) == 0
    assert list(model.generate(PROMPT, max_tokens=6, cache=cache)) == first
    assert (cache.tokens, cache.reused) == ([*PROMPT, *first[:-1]], 0)
    fork = cache.fork()
    saved = cache.save()
    for each in (cache, fork, gossamer.GenerationCache.load(saved)):
        assert list(model.generate(longer, max_tokens=6, cache=each)) == wanted
        assert (len(each), each.reused) == (len(longer) + 5, len(PROMPT) + 5)
    with model.generate(longer, cache=cache) as begun:
        next(begun)
        with pytest.raises(gossamer.Error, match="a generation goes on with this cache"):
            cache.fork()
    assert list(model.generate(longer, max_tokens=6, cache=cache)) == wanted
    for wrong in (b"", b"x" * 40, saved[:-8]):
        with pytest.raises(gossamer.Error, match="the saved cache"):
            gossamer.GenerationCache.load(wrong)
    with pytest.raises(gossamer.Error, match="another model"):
        loaded().generate(longer, cache=gossamer.GenerationCache.load(saved.replace(b"past.value", b"past.other")))


def test_saved_caches_are_safetensors(model):
    cache = gossamer.GenerationCache()
    list(model.generate(PROMPT, max_tokens=3, cache=cache))
    length = int.from_bytes(cache.save()[:8], "little")
    header = json.loads(cache.save()[8 : 8 + length])
    assert {name: each["shape"] for name, each in header.items() if not name.startswith("gossamer.padding")} == {
        "tokens": [5],
        "past.key": [1, 1, 5, 8],
        "past.value": [1, 1, 5, 8],
    }


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ([], {}, "no tokens"),
        ([1, -3], {}, "-3"),
        ([1, WORDS], {}, "token 60, the model's vocabulary is 0 to 59"),
        (["one"], {}, "list of integers"),
        (PROMPT, {"top_p": 7}, "top_p is 7"),
        (PROMPT, {"temperature": "warm"}, "temperature is 'warm'"),
        (PROMPT, {"stop_tokens": ["."]}, "stop_tokens"),
        (PROMPT, {"max_tokens": -1}, "max_tokens is -1"),
        (PROMPT, {"feeds": {"pixels": 1.0}}, '"pixels" is not an input'),
    ],
)
def test_wrong_use(prompt, options, message):
    model = loaded()
    with pytest.raises(gossamer.Error, match=message):
        model.generate(prompt, **options)
    assert len(list(model.generate(PROMPT, max_tokens=2))) == 2


def test_packages_that_do_not_choose():
    plain = gossamer.compile(decoder(), state=True)
    with pytest.raises(gossamer.Error, match="compile the model with generate"):
        plain.generate(PROMPT)
    with pytest.raises(gossamer.Error, match="with its state"):
        gossamer.compile(decoder(), generate=True).generate(PROMPT)


BATCH = [PROMPT, [1], [9, 9, 9, 2, 4, 40, 3], [30, 2], [8, 1, 59, 0, 22]]


def test_prompts_of_different_lengths_at_once(model):
    alone = [list(model.generate(prompt, max_tokens=9)) for prompt in BATCH]
    texts = [[] for _ in BATCH]
    with model.generate(BATCH, max_tokens=9) as generations:
        for step in generations:
            assert len(step) == len(BATCH)
            for text, token in zip(texts, step, strict=True):
                text += [] if token is None else [token]
        assert generations.how == ["length"] * len(BATCH)
    assert texts == alone
    stop = alone[2][4]
    ended = model.generate([np.array(prompt) for prompt in BATCH], max_tokens=9, stop_tokens=[stop])
    steps = list(ended)
    for at, text in enumerate(alone):
        wanted = text[: text.index(stop)] if stop in text else text
        assert [step[at] for step in steps if step[at] is not None] == wanted
        assert ended.how[at] == ("stop" if stop in text else "length")
    with pytest.raises(gossamer.Error, match="for one prompt"):
        model.generate(BATCH, cache=gossamer.GenerationCache())
    with pytest.raises(gossamer.Error, match="vocabulary"):
        model.generate([PROMPT, [WORDS]])
    with pytest.raises(gossamer.Error, match="40 positions"):
        list(model.generate([PROMPT, [3] * (CONTEXT - 2)], max_tokens=9))
    assert list(model.generate(PROMPT, max_tokens=9)) == alone[0]


def test_texts_join_and_leave_a_batch(model):
    options = [{"max_tokens": 5 + at, "temperature": at % 2, "seed": at} for at in range(len(BATCH))]
    alone = [list(model.generate(prompt, **each)) for prompt, each in zip(BATCH, options, strict=True)]
    said = {}
    with model.generate_batch(places=3, prompt_chunk=2) as batch:
        assert batch.places == (1 if model.target == "webgl" else 3)
        waits = list(zip(BATCH, options, strict=True))
        numbers = [batch.add(waits[0][0], **waits[0][1])]
        while batch.running + batch.waiting > 0:
            for each in batch.step():
                assert each.error is None
                said.setdefault(each.text, []).extend([] if each.token is None else [each.token])
            if len(numbers) < len(waits):
                prompt, each = waits[len(numbers)]
                numbers.append(batch.add(prompt, **each))
        assert [said[number] for number in numbers] == alone
        removed = batch.add(PROMPT)
        batch.step()
        batch.remove(removed)
        assert batch.running + batch.waiting == 0
        mask = np.zeros(2, np.int32)
        mask[1] = 1 << 3
        only = batch.add(PROMPT, max_tokens=3, mask=mask.tobytes())
        steps = [each for _ in range(8) for each in batch.step()]
        assert [(each.text, each.token, each.end) for each in steps] == [(only, 35, None), (only, 35, None), (only, 35, "length")]
        with pytest.raises(gossamer.Error, match="under way"):
            model.generate(PROMPT)
        with pytest.raises(gossamer.Error, match="allows no token"):
            batch.add(PROMPT, mask=bytes(8))
    with pytest.raises(gossamer.Error, match="closed"):
        batch.step()
    assert list(model.generate(BATCH[0], **options[0])) == alone[0]
