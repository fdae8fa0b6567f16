// Pages that learn together: one is closed in the midst, one sends nonsense, and what comes out is as good as one page's that has all
// digits.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Averaging, type AveragingOptions, Refusal} from '../examples/federate/averaging.ts';
import {DIGITS, elementsOf, initial, type Layout, toFile} from '../examples/federate/layout.ts';
import {federation} from '../examples/federate/server.ts';
import {DIGITS as DRAWN} from '../../tests/models/example_data.mjs';
import {type Examples, own, skip, withExample} from './src/example.ts';

const ROUNDS = 6;

/** What was sent to the server: the request and how many bytes came with it. */
type Sent = [request: string, bytes: number][];

function startFederation({server}: Examples, options: Partial<AveragingOptions>): {averaging: Averaging; sent: Sent} {
  const {averaging, answer} = federation({rounds: ROUNDS, patience: 10_000, ...options});
  const sent: Sent = [];
  server.put('/federation', (rest, request, response) => {
    sent.push([`${request.method} ${rest}`, Number(request.headers['content-length'] ?? 0)]);
    return answer(rest, request, response);
  });
  return {averaging, sent};
}

const {train10k: learned, t10k: tested} = own ? DRAWN : {train10k: 10_000, t10k: 10_000};
const share = (text: string): number => Number(new RegExp(`([\\d.]+) % of ${tested} test digits right`).exec(text)?.[1]);

/** A page that wants to spoil the weights: what the server answers to each of its tries. */
const ATTACKS = `(async () => {
  const ask = (what, init) => fetch('federation/' + what, {method: 'POST', ...init});
  const answers = {};
  const said = async (name, response) => (answers[name] = [response.status, await response.text()]);
  const attack = async (name, change, query = {}) => {
    const {client} = await (await ask('join')).json();
    const {round} = await (await fetch('federation/state')).json();
    const whole = new Uint8Array(await (await fetch('federation/weights?round=' + round)).arrayBuffer());
    const words = new URLSearchParams({client, round, examples: 1000, ...query});
    await said(name, await ask('update?' + words, {body: change(whole)}));
  };
  const head = (file) => 8 + new DataView(file.buffer).getUint32(0, true);
  const rewritten = (from, to) => (file) => {
    const text = new TextDecoder().decode(file.subarray(8, head(file))).replace(from, to);
    const header = new TextEncoder().encode(text);
    const made = new Uint8Array(8 + header.length + file.length - head(file));
    new DataView(made.buffer).setUint32(0, header.length, true);
    made.set(header, 8);
    made.set(file.subarray(head(file)), 8 + header.length);
    return made;
  };
  const each = (change) => (file) => {
    const view = new DataView(file.buffer, head(file));
    for (let at = 0; at < view.byteLength; at += 4) view.setFloat32(at, change(view.getFloat32(at, true)), true);
    return file;
  };
  await attack('NaN', each(() => NaN));
  await attack('infinite', each((weight) => weight / 0));
  await attack('huge', each((weight) => 1e6 * weight));
  await attack('inverted', each((weight) => -3 * weight));
  await attack('shapes', rewritten('[16,1,5,5]', '[16,5,1,5]'));
  await attack('model', rewritten('10.weight', '11.weight'));
  await attack('type', rewritten('F32', 'I32'));
  await attack('cut', (file) => file.subarray(0, file.length - 4));
  await attack('nothing', () => new Uint8Array());
  await attack('text', () => 'hello');
  await attack('long', (file) => new Blob([file, new Uint8Array(1e6)])).catch((problem) => (answers.long = [413, String(problem)]));
  await attack('count', (file) => file, {examples: -5});
  await attack('round', (file) => file, {round: 0});
  await attack('stranger', (file) => file, {client: 'nobody'});
  return answers;
})()`;

test('pages learn together, whoever leaves or lies', {skip}, () =>
  withExample('federate', async (examples) => {
    // The hostile page's own updates count as refused; so a page that leaves is not waited for longer than 10 s.
    const {averaging, sent} = startFederation(examples, {least: 2});
    const pages = [];
    for (const part of [1, 2, 3]) {
      const example = await examples.open(`part=${part}&parts=10&epochs=2`);
      await example.reach('ready');
      pages.push(example);
    }
    await Promise.all(pages.map((example) => example.press('#start')));
    const [first, second, leaving] = pages as [(typeof pages)[0], (typeof pages)[0], (typeof pages)[0]];
    while (averaging.round < 2) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(averaging.counted[0], 3);
    // Weights in 32 bits and their names; a page's digits are four times as much.
    const most = 4 * elementsOf(DIGITS) + 2000;
    for (const [request, bytes] of sent) assert.ok(bytes === 0 || (request === 'POST /update' && bytes < most), `${request}: ${bytes} bytes`);
    await leaving.page.close();
    const hostile = await examples.open();
    const answers = (await hostile.page.evaluate(ATTACKS)) as Record<string, [number, string]>;
    const expected: Record<string, [number, RegExp]> = {
      NaN: [422, /no finite numbers/],
      infinite: [422, /no finite numbers/],
      huge: [422, /the weights moved by \S+; [\d.]+ at most/],
      inverted: [422, /the weights moved by/],
      shapes: [422, /"0.weight" is f32 \[16, 5, 1, 5\]; f32 \[16, 1, 5, 5\] is wanted/],
      model: [422, /weights of another model/],
      type: [422, /is i32 \[/],
      cut: [400, /./],
      nothing: [400, /cut off/],
      text: [400, /cut off/],
      long: [413, /./],
      count: [400, /-5 examples/],
      round: [409, /round 0 is not under way/],
      stranger: [403, /does not take part/],
    };
    assert.deepEqual(Object.keys(answers), Object.keys(expected));
    for (const [name, [status, message]] of Object.entries(expected)) {
      // An attack that takes longer than a round comes too late.
      const [got, text] = answers[name] as [number, string];
      assert.ok((got === status && message.test(text)) || got === 409, `${name}: ${got} ${text}`);
    }
    await hostile.page.close();
    await Promise.all([first.reach('done', 240), second.reach('done', 240)]);
    await first.screenshot('federate');
    assert.equal(averaging.counted.length, ROUNDS);
    assert.ok(averaging.counted.slice(2).every((count) => count === 2), String(averaging.counted));
    const together = share(await first.text('#accuracy'));
    assert.equal(share(await second.text('#accuracy')), together);

    // One page with all the digits that these had.
    startFederation(examples, {least: 1});
    const alone = await examples.open(`part=1&parts=1&most=${0.3 * learned}&epochs=2`);
    await alone.reach('ready');
    await alone.press('#start');
    await alone.reach('done', 240);
    const one = share(await alone.text('#accuracy'));
    console.log(`together ${together} %, one page with all digits ${one} %`);
    assert.ok(together > 92 && together > one - 4, `${together} % together, ${one} % alone`);
  }));

const SMALL: Layout = [['w', [1, 2]], ['b', [1]]];
const file = (...weights: number[]): Uint8Array => toFile(SMALL, Float32Array.from(weights));
const start = (options: Partial<AveragingOptions> = {}): Averaging => new Averaging(SMALL, Float32Array.of(3, 4, 0), {rounds: 3, least: 2, patience: 100, longest: 1000, mostChange: 1, ...options});

test('a round is the mean of its updates, by examples, of which nobody claims too many', () => {
  const averaging = start();
  for (const name of ['a', 'b', 'c']) averaging.join(name, 0);
  averaging.update('a', 1, 100, file(4, 4, 0), 1);
  averaging.update('b', 1, 100, file(3, 5, 0), 2);
  assert.equal(averaging.round, 1);
  averaging.update('c', 1, 1e12, file(3, 4, 3), 3);
  assert.deepEqual([averaging.round, averaging.counted], [2, [3]]);
  assert.deepEqual([...averaging.weights].map((weight) => Math.round(weight * 1e5) / 1e5), [3.33333, 4.33333, 1]);
});

test('a page that leaves is waited for a while, one that gives nothing a little longer', () => {
  const averaging = start();
  for (const name of ['a', 'b', 'c']) averaging.join(name, 0);
  averaging.update('a', 1, 1, file(3, 4, 0), 50);
  averaging.update('b', 1, 1, file(3, 4, 0), 60);
  averaging.seen('a', 90);
  assert.equal(averaging.round, 1);
  averaging.seen('a', 101); // c was heard of at 0
  assert.equal(averaging.round, 2);
  averaging.update('a', 2, 1, file(3, 4, 0), 110);
  averaging.update('b', 2, 1, file(3, 4, 0), 110);
  assert.equal(averaging.round, 3);
  averaging.join('c', 120);
  averaging.update('a', 3, 1, file(3, 4, 0), 130);
  averaging.update('b', 3, 1, file(3, 4, 0), 130);
  for (let now = 140; now <= 1130; now += 90) averaging.seen('c', now);
  assert.equal(averaging.round, 3);
  averaging.seen('c', 1131);
  assert.ok(averaging.over);
  assert.throws(() => averaging.update('a', 4, 1, file(3, 4, 0), 1132), /not under way/);
});

test('what is refused changes nothing, and is not waited for', () => {
  const averaging = start();
  for (const name of ['a', 'b', 'x']) averaging.join(name, 0);
  const refused = (weights: Uint8Array, message: RegExp, examples = 1): void =>
    assert.throws(() => averaging.update('x', averaging.round, examples, weights, 1), (problem: unknown) => problem instanceof Refusal && message.test(problem.message));
  refused(file(NaN, 4, 0), /no finite/);
  assert.equal(averaging.refusals, 1);
  refused(file(3, 4, 0), /gave its update of round 1 already/);
  averaging.update('a', 1, 1, file(3, 4, 1), 2);
  averaging.update('b', 1, 1, file(3, 4, 3), 3);
  assert.deepEqual([...averaging.weights], [3, 4, 2]);
  // The change may be as large as the weights: sqrt(29).
  refused(file(3, 4, 7.4), /moved by 5.40; 5.39 at most/);
  averaging.update('a', 2, 1, file(3, 4, 7.3), 4);
  averaging.update('b', 2, 1, file(3, 4, 2), 5);
  refused(file(3, 4, 2), /0.5 examples/, 0.5);
  averaging.seen('x', 6);
  assert.throws(() => averaging.update('x', 3, 1, file(3, 4, 4), 6), /does not take part any more/);
  assert.equal(averaging.present(6), 2);
  for (let other = 0; other < 61; ++other) averaging.join(`other ${other}`, 7);
  assert.throws(() => averaging.join('one more', 7), /64 pages take part already/);
  averaging.join('much later', 5000);
});

test('the server begins with weights as PyTorch draws them', () => {
  const weights = initial(DIGITS, 1);
  assert.equal(weights.length, elementsOf(DIGITS));
  assert.equal(weights.length, 46_730);
  const first = weights.subarray(0, 416);
  assert.ok(first.every((weight) => Math.abs(weight) <= 0.2) && first.some((weight) => Math.abs(weight) > 0.19));
});
