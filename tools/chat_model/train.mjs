// Trains the small chat model with @gossamer/tensor on WebAssembly.
import {manualSeed, nn, optim, setNumThreads, Tensor} from '../../web/tensor/dist/tensor.js';
import {BytePairs} from './byte_pairs.mjs';
import {conversation, numbers} from './conversations.mjs';
import {Llama, SHAPE} from './network.mjs';

/** Rows of a batch, and tokens of a row. */
const ROWS = 2;
const LENGTH = 512;
const WORDS = 1024;
/** A place that does not count. */
const NO_TARGET = -100;

/** Rows of conversations, one after the other, and where the model's words are. */
class Batches {
  #tokenizer;
  #draw;
  #rows;
  #length;
  #tokens = [];
  #counts = [];

  /** `draw` makes a conversation. */
  constructor(tokenizer, draw, rows, length) {
    this.#tokenizer = tokenizer;
    this.#draw = draw;
    this.#rows = rows;
    this.#length = length;
  }

  #add() {
    const id = (token) => this.#tokenizer.idOf(token);
    this.#tokens.push(id('<|endoftext|>'));
    this.#counts.push(0);
    for (const {role, content} of this.#draw()) {
      const head = [id('<|im_start|>'), ...this.#tokenizer.encode(`${role}\n`)];
      const said = [...this.#tokenizer.encode(content), id('<|im_end|>')];
      const end = this.#tokenizer.encode('\n');
      this.#tokens.push(...head, ...said, ...end);
      this.#counts.push(...head.map(() => 0), ...said.map(() => (role === 'assistant' ? 1 : 0)), ...end.map(() => 0));
    }
  }

  next() {
    const length = this.#length;
    // So many places of answers count in each batch; others are left out, so that every step has the same sizes.
    const most = (this.#rows * length) / 2;
    const inputs = new Int32Array(this.#rows * length);
    const places = [];
    const targets = [];
    for (let row = 0; row < this.#rows; ++row) {
      // Each row begins with a conversation, as prompts do.
      this.#tokens = [];
      this.#counts = [];
      while (this.#tokens.length <= length) this.#add();
      inputs.set(this.#tokens.slice(0, length), row * length);
      for (let at = 0; at < length; ++at) {
        if (!this.#counts[at + 1]) continue;
        places.push(row * length + at);
        targets.push(this.#tokens[at + 1]);
      }
    }
    // Any places fill up what is missing; their targets do not count.
    const full = (list, value) => Int32Array.from({length: most}, (_, at) => list[at] ?? value);
    return {inputs, places: full(places, 0), targets: full(targets, NO_TARGET)};
  }
}

/**
 * Trains for `steps`; `told` is called after each. Resolves with the tokenizer, the network's shape, weights by their names, and the most
 * tokens of a text.
 */
export async function train({steps, seed = 1, threads = 2, rate = 4e-3, rows = ROWS, length = LENGTH, words = WORDS, shape = SHAPE, kinds, told = () => undefined}) {
  setNumThreads(threads);
  manualSeed(seed);
  const random = numbers(seed);
  const draw = () => conversation(random, kinds);
  const sample = Array.from({length: 4000}, () => draw().map(({role, content}) => `${role}\n${content}`)).flat();
  const tokenizer = BytePairs.train(sample, words);
  const net = new Llama(shape, tokenizer.size, length);
  const batches = new Batches(tokenizer, draw, rows, length);
  const optimizer = new optim.AdamW(net.parameters(), {lr: rate, betas: [0.9, 0.95], weightDecay: 0.05});
  for (let step = 0; step < steps; ++step) {
    const warm = Math.min(1, (step + 1) / 50);
    const left = Math.min(1, (1 - step / steps) / 0.7);
    for (const group of optimizer.groups) group.lr = rate * warm * left;
    const {inputs, places, targets} = batches.next();
    const x = new Tensor(inputs, {shape: [rows, length]});
    const where = new Tensor(places);
    const y = new Tensor(targets);
    const loss = nn.functional.crossEntropy(net.forward(x, where), y, {ignoreIndex: NO_TARGET});
    optimizer.zeroGrad();
    loss.backward();
    optim.clipGradNorm(net.parameters(), 1);
    optimizer.step();
    told({step, loss: await loss.item()});
    for (const each of [x, where, y, loss]) each.dispose();
  }
  const weights = new Map();
  for (const [name, parameter] of net.namedParameters()) weights.set(name, {shape: [...parameter.shape], data: await parameter.data()});
  return {tokenizer, shape, weights, context: length};
}
