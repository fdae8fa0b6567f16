// The statistics that every figure of the benchmark rests on.
import assert from 'node:assert/strict';
import test from 'node:test';
import {interleave, judge, median, quantile, relativeError, within} from '../lib/measure.mjs';

test('median and quantiles lie between neighbours by proportion', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(quantile([10, 20, 30, 40, 50], 0.25), 20);
  assert.equal(quantile([1, 2], 0.75), 1.75);
  assert.equal(quantile([7], 0.25), 7);
});

/** A party whose runs say how long they took. */
const scripted = (name, times, log) => {
  let at = 0;
  return {
    name,
    run: async () => {
      log?.push(name);
      const wall = times[at++ % times.length];
      if (wall instanceof Error) throw wall;
      return {wall};
    },
  };
};

test('every round runs each party once, and they take turns in going first', async () => {
  const log = [];
  await interleave([scripted('a', [1], log), scripted('b', [1], log), scripted('c', [1], log)], {rounds: 3, warmup: 0});
  assert.equal(log.join(''), 'abcbcacab');
});

test('warm-up rounds do not count', async () => {
  const [a] = await interleave([scripted('a', [100, 100, 1, 2, 3])], {rounds: 3, warmup: 2});
  assert.deepEqual([a.rounds, a.median, a.best, a.low, a.high], [3, 2, 1, 1.5, 2.5]);
});

test('a ratio is the median of the rounds’ ratios, not the ratio of medians', async () => {
  // The machine is three times slower in the second round, which hits both.
  const [ours, peer] = await interleave([scripted('ours', [1, 3, 2]), scripted('peer', [2, 6, 2])], {rounds: 3, warmup: 0});
  assert.equal(ours.ratio, 1);
  assert.equal(peer.ratio, 0.5);
  assert.equal(ours.median / peer.median, 1);
});

test('a party that fails is out of the later rounds, and the others go on', async () => {
  const [ours, peer] = await interleave([scripted('ours', [1]), scripted('peer', [1, new Error('lost')])], {rounds: 4, warmup: 0});
  assert.equal(ours.rounds, 4);
  assert.deepEqual(peer, {name: 'peer', problem: 'lost', overMs: undefined});
});

test('without the first party there are no ratios', async () => {
  const [, peer] = await interleave([scripted('ours', [new Error('refuses')]), scripted('peer', [2])], {rounds: 3, warmup: 0});
  assert.equal(peer.median, 2);
  assert.equal(peer.ratio, undefined);
  const [other] = await interleave([scripted('other', [2])], {rounds: 3, warmup: 0, first: 'ours'});
  assert.equal(other.ratio, undefined);
});

test('a party that hangs is given up after its limit and does not stop the others', async () => {
  const hangs = {name: 'hangs', run: () => new Promise(() => {})};
  const [ours, late] = await interleave([scripted('ours', [1]), hangs], {rounds: 3, warmup: 0, limitMs: 20});
  assert.equal(ours.rounds, 3);
  assert.equal(late.overMs, 20);
});

test('the budget ends the rounds, but not before the least', async () => {
  const slow = (name) => ({name, run: () => new Promise((done) => setTimeout(done, 5))});
  const [a] = await interleave([slow('a')], {rounds: 1000, leastRounds: 4, warmup: 0, budgetMs: 12});
  assert.ok(a.rounds >= 3 && a.rounds <= 6, String(a.rounds));
});

test('CPU time is taken around each run', async () => {
  let clock = 0;
  const busy = (name, ms) => ({name, run: async () => void (clock += ms)});
  const [a, b] = await interleave([busy('a', 3), busy('b', 6)], {rounds: 3, warmup: 0, cpuTime: () => clock});
  assert.deepEqual([a.cpu, b.cpu, b.cpuRatio], [3, 6, 0.5]);
});

test('within gives results and errors through, and says how long it waited', async () => {
  assert.equal(await within(1000, Promise.resolve(7), 'x'), 7);
  await assert.rejects(within(1000, Promise.reject(new Error('own')), 'x'), /own/);
  await assert.rejects(within(5, new Promise(() => {}), 'x'), {overMs: 5, message: 'x: no answer within 5 ms'});
});

test('the error is the largest difference over the largest value', () => {
  assert.equal(relativeError([1, 2, 4], [1, 3, 4]), 0.25);
  assert.equal(relativeError([1n, 2n], [1, 2]), 0);
  assert.equal(relativeError([1], [1, 2]), Infinity);
  assert.ok(Number.isNaN(relativeError([NaN, 1], [1, 1])));
  assert.equal(relativeError([NaN, 1], [NaN, 1]), 0);
});

test('the party with whom most agree is believed; one alone is wrong', () => {
  const verdicts = judge([[[9, 9]], [[1, 2]], undefined, [[1, 2.0001]]], 1e-3);
  assert.deepEqual(verdicts.map(({wrong}) => wrong), [true, false, undefined, false]);
  assert.ok(verdicts[0].error > 1);
});

test('where two differ nobody is believed, and NaN agrees with no number', () => {
  assert.deepEqual(judge([[[1]], [[2]]], 1e-3).map(({wrong}) => wrong), [true, true]);
  assert.deepEqual(judge([[[NaN]], [[1]], [[1]]], 1e-3).map(({wrong}) => wrong), [true, false, false]);
  assert.deepEqual(judge([[[1]], undefined], 1e-3), [{}, {}]);
});
