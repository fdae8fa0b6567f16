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

/** Ends of generate(): each entry says what is wrong. `said`: the greedy text, in which the token at 5 is new; `chains`: runs may be ahead. */
export async function ends(model, {said, chains}) {
  const problems = {};
  const name = model.state.names.find((each) => each.endsWith('.key'));
  const rows = () => model.state.get(name)?.shape[2];
  const expect = (what, has, wanted) => {
    const [a, b] = [has, wanted].map((each) => JSON.stringify(each));
    if (a !== b) problems[what] = `${a}, not ${b}`;
  };
  const wants = (what, text, part) => {
    if (!text.includes(part)) problems[what] = text;
  };
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
