import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Lifetime} from '../src/devices/lifetime.ts';
import {type ModelParts, Recovery, type Reload, TRIES} from '../src/session/recovery.ts';
import {GossamerError} from '../src/values/types.ts';

const lost = (): GossamerError => new GossamerError('lost', 'gone');
const later = (ms = 0): Promise<void> => new Promise((resolve) => setImmediate(() => setTimeout(resolve, ms)));

/** Parts of nothing but a device that can be lost and a session that can be disposed. */
function parts(target: string): {parts: ModelParts; life: Lifetime; disposed: () => number} {
  const life = new Lifetime();
  let disposed = 0;
  const fake = {manifest: {target}, devices: [{kind: target, life}], session: {dispose: () => ++disposed}};
  return {parts: fake as unknown as ModelParts, life, disposed: () => disposed};
}

test('a device that is lost again and again ends the model, after longer and longer waits', async (context) => {
  context.mock.timers.enable({apis: ['setTimeout']});
  const first = parts('webgpu');
  const tries: number[] = [];
  // Each time another device, which goes as well.
  const reload: Reload = (from, reason, count) => {
    assert.deepEqual([from, reason], ['webgpu', 'gone']);
    tries.push(count);
    const next = parts('webgpu');
    next.life.end(lost());
    return Promise.resolve(next.parts);
  };
  const recovery = new Recovery(first.parts, new AbortController(), reload, undefined);
  first.life.end(lost());
  for (let at = 1; at < TRIES; ++at) {
    for (let turn = 0; turn < 20; ++turn) await Promise.resolve();
    assert.equal(tries.length, at);
    context.mock.timers.tick(200 * 2 ** (at - 1) - 1);
    for (let turn = 0; turn < 20; ++turn) await Promise.resolve();
    assert.equal(tries.length, at, 'not before its time');
    context.mock.timers.tick(1);
  }
  for (let turn = 0; turn < 40; ++turn) await Promise.resolve();
  assert.deepEqual(tries, [0, 1, 2, 3, 4, 5]);
  await assert.rejects(Promise.resolve(recovery.next), /gone; given up after 6 tries/);
  assert.equal(recovery.losses.length, TRIES + 1);
  assert.equal(first.disposed(), 1);
});

test('a run that came to its end starts the count anew', async () => {
  let now = parts('webgpu');
  const tries: number[] = [];
  const reload: Reload = (_from, _reason, count) => {
    tries.push(count);
    now = parts('webgpu');
    return Promise.resolve(now.parts);
  };
  const recovery = new Recovery(now.parts, new AbortController(), reload, undefined);
  for (let at = 0; at < 150; ++at) {
    const old = now;
    old.life.end(lost());
    assert.equal(await recovery.next, now.parts);
    assert.equal(old.disposed(), 1);
    recovery.ran();
  }
  assert.deepEqual(new Set(tries), new Set([0]));
  assert.equal(recovery.losses.length, 100);
  assert.equal(recovery.losses.at(-1)?.instead, 'webgpu');
});

test('dispose() ends a recovery, and what it still brings', async () => {
  const first = parts('webgpu');
  const second = parts('webgl');
  const stop = new AbortController();
  let bring: (parts: ModelParts) => void = () => undefined;
  const reload: Reload = () => new Promise((resolve) => (bring = resolve));
  const recovery = new Recovery(first.parts, stop, reload, undefined);
  first.life.end(lost());
  const next = Promise.resolve(recovery.next);
  recovery.dispose();
  await assert.rejects(next, /disposed/);
  assert.ok(stop.signal.aborted);
  bring(second.parts);
  await later();
  assert.equal(second.disposed(), 1);
  await assert.rejects(Promise.resolve(recovery.next), /disposed/);
});

test('which runs are done again', async () => {
  const first = parts('webgpu');
  const plain = new Recovery(first.parts, new AbortController(), undefined, undefined);
  assert.equal(plain.retries(first.parts, lost()), false);
  const reload: Reload = () => Promise.resolve(parts('webgpu').parts);
  const told: string[] = [];
  const recovery = new Recovery(first.parts, new AbortController(), reload, ({reason}) => told.push(reason));
  assert.equal(recovery.retries(first.parts, new GossamerError('input', 'x')), false);
  assert.equal(recovery.retries(first.parts, new GossamerError('disposed', 'x')), false);
  assert.equal(recovery.retries(first.parts, new Error('x')), false);
  assert.equal(recovery.retries(first.parts, lost()), true);
  assert.equal(recovery.retries(first.parts, new GossamerError('disposed', 'its session was')), true);
  await recovery.next;
  assert.deepEqual(told, ['gone']);
});

test('a guarded promise ends with what it waits on', async () => {
  const life = new Lifetime();
  const never = life.guard(new Promise(() => undefined));
  assert.equal(await life.guard(Promise.resolve(7)), 7);
  await assert.rejects(life.verdict(new GossamerError('kernel', 'strange')), /strange/);
  const doubted = life.verdict(new GossamerError('kernel', 'strange'));
  const sure = life.verdict(new GossamerError('input', 'wrong'));
  sure.catch(() => undefined);
  life.end(lost());
  await assert.rejects(never, /gone/);
  await assert.rejects(doubted, /gone/);
  await assert.rejects(sure, /wrong/);
  await assert.rejects(life.guard(new Promise(() => undefined)), /gone/);
  assert.throws(() => life.check(), /gone/);
});
