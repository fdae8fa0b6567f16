// What pages and Node do with generate(), and what it should give.

export const PROMPT = [5, 77, 130];

const ids = (numbers) => ({dtype: 'i64', shape: [1, numbers.length], data: BigInt64Array.from(numbers, BigInt)});

export async function textOf(model, options, prompt = PROMPT) {
  const said = [];
  for await (const id of model.generate(prompt, options)) said.push(id);
  return said;
}

/** Greedy tokens by run(), whose logits are read each time. `adjust`: changes logits before the choice, given what was said. */
export async function loop(model, tokens, adjust = (logits) => logits) {
  model.state.reset();
  const said = [];
  let next = PROMPT;
  for (let length = PROMPT.length; said.length < tokens; ++length) {
    const {logits} = await model.run({input_ids: ids(next), attention_mask: ids(Array(length).fill(1))});
    const scores = adjust(Array.from(await logits.data()), said);
    next = [scores.indexOf(Math.max(...scores))];
    said.push(next[0]);
  }
  return said;
}

/** The definition of penalties. */
export const penalised = ({repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0}) => (logits, said) =>
  logits.map((logit, id) => {
    const times = said.filter((each) => each === id).length;
    if (times === 0 && !PROMPT.includes(id)) return logit;
    return (logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty) - (times > 0 ? presencePenalty : 0) - times * frequencyPenalty;
  });

/** The definition of biases. */
export const biased = ({logitBias}) => (logits) => logits.map((logit, id) => logit + (logitBias[id] ?? 0));

/** By name: whether a token may follow what was said. */
const RULES = {
  'every third token': (id, said) => id % 3 === said.length % 3,
  // 0 and the last one are at the ends of masks.
  'runs of single tokens': (id, said) => (said.length % 5 < 2 ? id % 2 === 0 : id === (said.length * 37) % 150),
  'one word of the mask': (id) => id >= 96 && id < 128,
};
export const ruleNames = Object.keys(RULES);
/** Tokens of the models of the suite, at least. */
const allowed = (rule, said, words) => Array.from({length: words}, (_, id) => id).filter((id) => RULES[rule](id, said));

/** A rule as generate() takes it. `most`: where the text ends. */
export function constraintOf(model, rule, most = Infinity) {
  const words = model.outputs.find(({name}) => name === 'logits').shape.at(-1);
  const said = [];
  return {
    allowed: () => {
      if (said.length >= most) return undefined;
      const bits = new Int32Array(Math.ceil(words / 32));
      for (const id of allowed(rule, said, words)) bits[id >> 5] |= 1 << (id & 31);
      return bits;
    },
    accept: (id) => said.push(id),
  };
}

/** The definition of constraints: what is not allowed has no chance. */
export const restricted = (rule) => (logits, said) => {
  const ids = new Set(allowed(rule, said, logits.length));
  return logits.map((logit, id) => (ids.has(id) ? logit : -Infinity));
};

/** The definition of filters: probabilities by token. */
export function probabilities(logits, {temperature, topK = Infinity, topP = 1, minP = 0}) {
  const scaled = logits.map((logit) => logit / temperature);
  const most = Math.max(...scaled);
  let left = scaled.map((value, id) => ({id, weight: Math.exp(value - most)})).sort((a, b) => b.weight - a.weight);
  left = left.slice(0, topK);
  const mass = left.reduce((sum, {weight}) => sum + weight, 0);
  let before = 0;
  left = left.filter(({weight}) => (before += weight) - weight < topP * mass).filter(({weight}) => weight >= minP);
  const all = left.reduce((sum, {weight}) => sum + weight, 0);
  const shares = new Float64Array(logits.length);
  for (const {id, weight} of left) shares[id] = weight / all;
  return shares;
}

/** What is wrong with first tokens drawn with as many seeds: one that has no chance, or chi-square beyond five deviations. */
export async function draws(model, options, count, rule) {
  model.state.reset();
  const {logits} = await model.run({input_ids: ids(PROMPT), attention_mask: ids([1, 1, 1])});
  const scores = Array.from(await logits.data());
  const shares = probabilities(rule ? restricted(rule)(scores, []) : scores, options);
  const found = new Float64Array(shares.length);
  for (let seed = 0; seed < count; ++seed) for (const id of await textOf(model, {...options, seed, maxTokens: 1, ...(rule && {constraint: constraintOf(model, rule)})})) ++found[id];
  let [square, bins, restFound, restWanted] = [0, -1, 0, 0];
  const add = (has, wanted) => {
    square += (has - wanted) ** 2 / wanted;
    ++bins;
  };
  for (const [id, share] of shares.entries()) {
    if (share === 0 && found[id] > 0) return `token ${id} has no chance and came ${found[id]} times`;
    if (share * count >= 5) add(found[id], share * count);
    else [restFound, restWanted] = [restFound + found[id], restWanted + share * count];
  }
  if (restWanted > 1) add(restFound, restWanted);
  const deviations = (square - bins) / Math.sqrt(2 * bins);
  return bins < 1 || deviations < 5 ? undefined : `chi-square ${square.toFixed(1)} of ${bins} degrees of freedom`;
}

/** What is wrong with the log-probabilities of a text, next to those of a loop of runs. Penalties and temperature change none. */
export async function logprobs(model, said) {
  const wanted = [];
  await loop(model, said.length, (logits) => {
    const whole = Math.log(logits.reduce((sum, each) => sum + Math.exp(each), 0));
    wanted.push(logits.map((each, id) => ({id, logprob: each - whole})).sort((a, b) => b.logprob - a.logprob || a.id - b.id));
    return logits;
  });
  const told = [];
  const text = await textOf(model, {maxTokens: said.length, topLogprobs: 3, onLogprobs: (each) => told.push(each)});
  if (String(text) !== String(said)) return `the text is ${text}`;
  const off = ({id, logprob}, right) => id !== right.id || !(Math.abs(logprob - right.logprob) < 1e-4);
  const bad = wanted.findIndex((right, at) => told[at]?.top.length !== 3 || off(told[at], right[0]) || told[at].top.some((each, place) => off(each, right[place])));
  if (bad >= 0 || told.length !== said.length) return `token ${bad} of ${told.length}: ${JSON.stringify([told[bad], wanted[bad]?.slice(0, 3)])}`;
  const alone = [];
  for await (const id of model.generate(PROMPT, {maxTokens: 2, temperature: 0.9, seed: 1, onLogprobs: (each) => alone.push(each)})) {
    const {id: of, logprob, top} = alone.at(-1);
    const right = wanted[0].find((each) => each.id === id);
    if (of !== id || top.length > 0 || (alone.length === 1 && off({id, logprob}, right))) return `without others: ${JSON.stringify([alone, id, right])}`;
  }
  return undefined;
}

/** Draws of one seed, and the same again. */
export const SAMPLED = {
  'by temperature': {temperature: 0.9},
  'top k': {temperature: 1, topK: 7},
  'top p': {temperature: 1.1, topP: 0.6},
  'min p': {temperature: 1, minP: 0.4},
  'all filters': {temperature: 0.7, topK: 30, topP: 0.8, minP: 0.05, repetitionPenalty: 1.2},
};

const rejects = (promise) => promise.then((value) => `it gave ${value}`, ({code, name, message}) => `${typeof code === 'string' ? code : name}: ${message}`);

/** What is wrong, by what was tried: numbers and texts other than wanted, and messages without a part. */
function findings() {
  const problems = {};
  const expect = (what, has, wanted) => {
    const [a, b] = [has, wanted].map((each) => JSON.stringify(each));
    if (a !== b) problems[what] = `${a}, not ${b}`;
  };
  const wants = (what, text, part) => {
    if (!text.includes(part)) problems[what] = text;
  };
  return {problems, expect, wants};
}

/** Ends of generate(): each entry says what is wrong. `said`: the greedy text, in which the token at 5 is new; `chains`: runs may be ahead. */
export async function ends(model, {said, chains}) {
  const {problems, expect, wants} = findings();
  const name = model.state.names.find((each) => each.endsWith('.key'));
  const rows = () => model.state.get(name)?.shape[2];
  for (const ahead of [0, 3, undefined]) {
    const iterator = model.generate(PROMPT, {stopTokens: [said[5]], ahead});
    const text = [];
    let step = await iterator.next();
    for (; !step.done; step = await iterator.next()) text.push(step.value);
    expect(`stop, ${ahead} ahead`, [text, step.value, rows()], [said.slice(0, 5), 'stop', PROMPT.length + 5]);
    for await (const id of model.generate(PROMPT, {ahead})) if (id === said[2]) break;
    expect(`break, ${ahead} ahead`, rows(), PROMPT.length + (chains && ahead !== 0 ? 3 : 2));
  }
  expect('no tokens', await textOf(model, {maxTokens: 0}), []);
  // What follows a stop is what would have followed without.
  for await (const id of model.generate(PROMPT, {maxTokens: 8, stopTokens: [said[5]], ahead: 8})) void id;
  const {next_ids: next} = await model.run({input_ids: ids([said[5]]), attention_mask: ids(Array(PROMPT.length + 6).fill(1))});
  expect('the state after a stop', Number((await next.data())[0]), said[6]);
  const stop = new AbortController();
  const heard = [];
  const aborted = await rejects((async () => {
    for await (const id of model.generate(PROMPT, {signal: stop.signal})) {
      heard.push(id);
      if (heard.length === 4) stop.abort();
    }
  })());
  wants('abort', aborted, 'AbortError');
  expect('tokens before an abort', heard, said.slice(0, 4));
  wants('aborted before', await rejects(textOf(model, {signal: AbortSignal.abort()})), 'AbortError');
  const first = model.generate(PROMPT, {maxTokens: 4});
  const begun = first.next();
  wants('two at once', await rejects(textOf(model, {})), 'under way');
  await begun;
  await first.return();
  expect('after one that ended early', await textOf(model, {maxTokens: 6}), said.slice(0, 6));
  wants('an empty prompt', await rejects(textOf(model, {}, [])), 'no tokens');
  wants('a prompt of no token', await rejects(textOf(model, {}, [1, -3])), '-3');
  wants('a token outside of the vocabulary', await rejects(textOf(model, {}, [1, 1000])), 'token 1000');
  wants('an option out of range', await rejects(textOf(model, {topP: 7})), 'topP is 7');
  const long = await rejects(textOf(model, {maxTokens: 1}, Array(200).fill(3)));
  wants('a prompt longer than the context', long, '128 positions');
  wants('what to do then', long, 'shorter prompt');
  const over = [];
  wants('tokens beyond the context', await rejects((async () => {
    for await (const id of model.generate(PROMPT, {})) over.push(id);
  })()), '128 positions');
  // The last token is read though no run may follow.
  expect('tokens of a full context', over.length, 128 - PROMPT.length + 1);
  const run = model.run.bind(model);
  let sent = 0;
  model.run = (...given) => (++sent, run(...given));
  const slow = model.generate(PROMPT, {ahead: 3, maxTokens: 50});
  await slow.next();
  const before = sent;
  await new Promise((done) => setTimeout(done, 100));
  if (sent !== before || sent > 5) problems['a consumer that waits'] = `${before} runs, then ${sent}`;
  await slow.return();
  delete model.run;
  return problems;
}

/** How many tokens runs are fed while `body` runs. */
async function fedBy(model, body) {
  const run = model.run.bind(model);
  let fed = 0;
  model.run = (feeds, ...more) => {
    fed += feeds.input_ids.shape[1];
    return run(feeds, ...more);
  };
  const result = await body();
  delete model.run;
  return [result, fed];
}

/**
 * What is wrong with caches: texts are those without one, and what a prompt shares with a cache is not fed again. `cuts`: state can be set back,
 * so that a part of a cache is of use. `others`: a cache of another model.
 */
export async function caches(model, GenerationCache, {cuts, others}) {
  const {problems, expect, wants} = findings();
  const options = {maxTokens: 6};
  const first = await textOf(model, {maxTokens: 8});
  const longer = [...PROMPT, ...first, 9, 300];
  const other = [...PROMPT, ...first.slice(0, 3), 41, 7];
  const [longerText, otherText, whole] = [await textOf(model, options, longer), await textOf(model, options, other), await textOf(model, options)];
  const cached = async (what, cache, prompt, wanted, reused, more = {}) => {
    const [text, fed] = await fedBy(model, () => textOf(model, {...options, ahead: 0, ...more, cache}, prompt));
    expect(`the text of ${what}`, text, wanted);
    expect(`the tokens of ${what}`, [cache.tokens, cache.reused], [[...prompt, ...text].slice(0, -1), reused]);
    // Each token of the text but the last is fed, too.
    expect(`what is fed for ${what}`, fed, prompt.length - reused + text.length - 1);
  };
  const cache = new GenerationCache();
  expect('a cache at first', [cache.tokens, cache.reused], [[], 0]);
  await cached('the first text', cache, PROMPT, first, 0, {maxTokens: 8});
  const two = cache.fork();
  const three = cache.fork();
  const all = PROMPT.length + first.length - 1;
  await cached('a longer prompt', cache, longer, longerText, all);
  await cached('a longer prompt of a fork', two, longer, longerText, all);
  const saved = await three.save();
  await cached('a prompt that differs', three, other, otherText, cuts ? PROMPT.length + 3 : 0);
  await cached('the first prompt again', three, PROMPT, whole, cuts ? PROMPT.length - 1 : 0);
  const loaded = GenerationCache.load(saved);
  expect('the tokens of a saved cache', loaded.tokens, [...PROMPT, ...first].slice(0, -1));
  const half = GenerationCache.load(new Uint8Array([...saved]));
  await cached('a longer prompt of a saved cache', loaded, longer, longerText, all, {promptChunk: 2});
  await cached('a prompt that differs from a saved cache', half, other, otherText, cuts ? PROMPT.length + 3 : 0);
  const again = GenerationCache.load(await loaded.save());
  await cached('a saved cache of a saved one', again, longer, longerText, longer.length - 1 - (cuts ? 0 : longer.length - 1));
  // Runs ahead of a stop are taken back.
  const ahead = cache.fork();
  const text = await textOf(model, {...options, ahead: 8, stopTokens: [longerText[4]], cache: ahead}, longer);
  expect('a stop with runs ahead', [text, ahead.tokens], [longerText.slice(0, longerText.indexOf(longerText[4])), [...longer, ...text]]);
  // Penalties count tokens that are not fed.
  const penalties = {...options, repetitionPenalty: 1.3, frequencyPenalty: 0.2};
  expect('penalties', await textOf(model, {...penalties, cache: two.fork()}, longer), await textOf(model, penalties, longer));
  // An early end.
  const left = new GenerationCache();
  for await (const id of model.generate(longer, {cache: left, ahead: 0})) if (id === longerText[2]) break;
  expect('a loop that is left', left.tokens, [...longer, ...longerText.slice(0, longerText.indexOf(longerText[2]))]);
  const failed = two.fork();
  wants('a text that fails', await rejects(textOf(model, {cache: failed}, Array(200).fill(3))), '128 positions');
  expect('a cache after that', failed.tokens, []);
  expect('a text after that', await textOf(model, {...options, cache: failed}, longer), longerText);
  const begun = model.generate(longer, {...options, cache});
  await begun.next();
  wants('a cache in use', await Promise.resolve().then(() => cache.fork()).then(() => 'it gave one', ({message}) => message), 'a generation goes on');
  await begun.return();
  expect('another one after that', await textOf(model, {...options, cache}, longer), longerText);
  // Runs that go on from the model's state leave the cache as it was.
  await model.run({input_ids: ids([4]), attention_mask: ids(Array(cache.tokens.length + 1).fill(1))});
  await cached('a prompt after a run', cache.fork(), [...cache.tokens, 9], await textOf(model, options, [...cache.tokens, 9]), cache.tokens.length);
  wants('bytes of something else', await rejects(Promise.resolve().then(() => GenerationCache.load(new Uint8Array(40).fill(7)))), 'damaged');
  wants('bytes that are cut off', await rejects(Promise.resolve().then(() => GenerationCache.load(saved.subarray(0, -8)))), 'damaged');
  wants('a cache of another model', await rejects(textOf(model, {cache: GenerationCache.load(others)})), 'another model');
  wants('no cache', await rejects(textOf(model, {cache: {}})), 'not a GenerationCache');
  expect('a text after these', await textOf(model, options, longer), longerText);
  cache.dispose();
  expect('a cache that was disposed of', cache.tokens, []);
  return problems;
}

/** What is wrong with guessed tokens: texts are those of greedy choice, by fewer runs where text repeats. `plain`: texts by prompt, of a package that guesses nothing. */
export async function guesses(model, plain) {
  const {problems, expect} = findings();
  const name = model.state.names.find((each) => each.endsWith('.key'));
  const run = model.run.bind(model);
  let [runs, most] = [0, 0];
  model.run = (feeds, ...more) => {
    ++runs;
    most = Math.max(most, feeds['sampling.rows']?.shape[0] ?? 0);
    return run(feeds, ...more);
  };
  let saved = 0;
  for (const {prompt, text} of plain) {
    const maxTokens = text.length;
    expect(`${prompt} without guesses`, await textOf(model, {maxTokens}, prompt), text);
    for (const promptLookupNumTokens of [1, 3, 8]) {
      runs = 0;
      expect(`${prompt} by ${promptLookupNumTokens}`, await textOf(model, {maxTokens, promptLookupNumTokens}, prompt), text);
      expect(`the state after ${prompt} by ${promptLookupNumTokens}`, model.state.get(name).shape[2], prompt.length + text.length - 1);
      saved += text.length - runs;
    }
    const stop = text[Math.floor(text.length / 2)];
    expect(`${prompt} until a stop`, await textOf(model, {promptLookupNumTokens: 5, stopTokens: [stop]}, prompt), text.slice(0, text.indexOf(stop)));
    expect(`the state after the stop of ${prompt}`, model.state.get(name).shape[2], prompt.length + text.indexOf(stop));
    // What has no effect on draws.
    const drawn = {maxTokens: 8, temperature: 0.9, seed: 3};
    expect(`a draw after ${prompt}`, await textOf(model, {...drawn, promptLookupNumTokens: 4}, prompt), await textOf(model, drawn, prompt));
  }
  if (saved < 10 || most < 4) problems['runs'] = `${saved} fewer, ${most} tokens at once`;
  const over = [];
  const end = await rejects((async () => {
    for await (const id of model.generate(PROMPT, {promptLookupNumTokens: 8})) over.push(id);
  })());
  if (!end.includes('128 positions')) problems['the end of the context'] = end;
  expect('tokens of a full context', over.length, 128 - PROMPT.length + 1);
  delete model.run;
  return problems;
}

/** What is wrong with several texts at once: each is the text of its prompt alone. */
export async function batches(model, GenerationCache, maxTokens = 8) {
  const {problems, expect, wants} = findings();
  const textsOf = async (prompts, options) => {
    const texts = prompts.map(() => []);
    const steps = model.generate(prompts, options);
    for (;;) {
      const {done, value} = await steps.next();
      if (done) return [texts, value];
      if (value.length !== prompts.length || value.every((id) => id === undefined)) problems['a step'] = JSON.stringify(value);
      value.forEach((id, at) => id !== undefined && texts[at].push(id));
    }
  };
  const prompts = [[5, 77, 130, 9, 8, 7, 6, 5], PROMPT, [400, 401, 402, 403, 404]];
  const penalties = {repetitionPenalty: 1.3, presencePenalty: 0.2, frequencyPenalty: 0.1};
  const each = async (options) => {
    const texts = [];
    for (const prompt of prompts) texts.push(await textOf(model, options, prompt));
    return texts;
  };
  const alone = await each({maxTokens});
  expect('greedy texts', await textsOf(prompts, {maxTokens}), [alone, ['length', 'length', 'length']]);
  expect('the state', model.state.names.filter((name) => name.endsWith('.key')).map((name) => model.state.get(name).shape[0]), [3, 3]);
  expect('prompts by 2', (await textsOf(prompts, {maxTokens, promptChunk: 2}))[0], alone);
  expect('penalties', (await textsOf(prompts, {maxTokens, ...penalties}))[0], await each({maxTokens, ...penalties}));
  const stopTokens = [alone[1][3]];
  const until = alone.map((text) => (text.includes(stopTokens[0]) ? text.slice(0, text.indexOf(stopTokens[0])) : text));
  expect('a stop token', await textsOf(prompts, {maxTokens, stopTokens}), [until, alone.map((text) => (text.includes(stopTokens[0]) ? 'stop' : 'length'))]);
  const drawn = {maxTokens, temperature: 0.9, seed: 4};
  expect('the first draw', (await textsOf(prompts, drawn))[0][0], await textOf(model, drawn, prompts[0]));
  const twins = (await textsOf([PROMPT, PROMPT], drawn))[0];
  if (String(twins[0]) === String(twins[1])) problems['draws of one prompt'] = String(twins[0]);
  expect('one prompt', await textsOf([PROMPT], {maxTokens}), [[alone[1]], ['length']]);
  expect('no tokens', await textsOf(prompts, {maxTokens: 0}), [[[], [], []], ['length', 'length', 'length']]);
  wants('a cache', await rejects(textsOf(prompts, {cache: new GenerationCache()})), '`cache` is for one prompt');
  wants('an empty prompt', await rejects(textsOf([PROMPT, []], {})), 'no tokens');
  for await (const step of model.generate(prompts, {})) if (step[1] !== undefined) break;
  expect('a text after these', await textOf(model, {maxTokens}), alone[1]);
  return problems;
}
