// Optimizers and schedules go where PyTorch's go: tests/pytorch/steps.jsonl, written by tests/pytorch/write.py.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {nn, optim, Tensor} from '../src/torch.ts';
import {near, skip} from './start.ts';

type Options = Record<string, unknown>;
type Part = [name: string, args: unknown[], options: Options];
interface Line {
  readonly optimizer?: string;
  readonly matrix?: string;
  readonly options?: Options;
  readonly after?: number[];
  readonly schedule?: string;
  readonly args?: unknown[];
  readonly parts?: Part[];
  readonly milestones?: number[];
  readonly rates?: [number, number][];
}
const lines = readFileSync(join(import.meta.dirname, '../../../../../tests/pytorch/steps.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Line);

interface Steps {
  step(): void;
}
type Maker = new (...given: unknown[]) => Steps;
const kinds = optim as unknown as Record<string, Maker | undefined>;
const kind = (name: string): Maker => {
  const found = kinds[name];
  assert.ok(found, `optim has no ${name}`);
  return found;
};

test('optimizers', {skip}, async () => {
  for (const {optimizer: name = '', options, after} of lines.filter(({optimizer}) => optimizer)) {
    const w = new nn.Parameter([1, -2, 0.5]);
    if (name === 'LBFGS') {
      const lbfgs = new optim.LBFGS([w], options);
      const factors = new Tensor([1, 2, 3]);
      for (let step = 0; step < 2; ++step) {
        await lbfgs.step(() => {
          lbfgs.zeroGrad();
          const loss = w.mul(factors).sub(1).pow(4).add(w.square()).sum().div(4);
          loss.backward();
          return loss;
        });
      }
    } else {
      const optimizer = new (kind(name))([w], options);
      for (let step = 0; step < 5; ++step) {
        w.grad = new Tensor([0.3, -0.1 * (step + 1), 0.7 - 0.5 * step]);
        optimizer.step();
      }
    }
    await near(w, after ?? [], name === 'LBFGS' ? 2e-4 : 1e-5, `${name} ${JSON.stringify(options)}`);
  }
});

/** As elements() of write.py. */
const elements = (count: number, seed: number): number[] => Array.from({length: count}, (_, at) => {
  const first = BigInt(at) * 2654435761n + BigInt(seed) * 40503n + 12345n;
  return -1 + (2 * Number((first ^ ((BigInt(at + 1) * BigInt(seed + 1) * 2246822519n) & 0xffffffffn)) & 0xffffffffn)) / 2 ** 32;
});

test('optimizers of matrices', {skip}, async () => {
  for (const {matrix: name, options, after} of lines) {
    if (!name) continue;
    const w = new nn.Parameter(new Tensor(elements(6, 7), {shape: [3, 2]}));
    const optimizer = new (kind(name))([w], options);
    for (let step = 0; step < 4; ++step) {
      w.grad = new Tensor(elements(6, 20 + step), {shape: [3, 2]});
      optimizer.step();
    }
    // PyTorch's Muon computes in bfloat16.
    await near(w.flatten(), after ?? [], name === 'Muon' ? 2e-2 : 1e-5, `${name} ${JSON.stringify(options)}`);
  }
});

/** Without T_max and others that PyTorch takes by another name. */
const given = ({T_mult, total_steps: steps, ...options}: Options): {first: unknown[]; options: Options} =>
  ({first: steps === undefined ? [] : [steps], options: {...options, ...(T_mult === undefined ? {} : {tMult: T_mult})}});

test('schedules', {skip}, () => {
  const made = (optimizer: optim.SGD, [name, args, all]: Part): Steps => {
    const {first, options} = given(all);
    return new (kind(name))(optimizer, ...args, ...first, options);
  };
  for (const {schedule: name = '', args, options, parts, milestones, rates} of lines.filter(({schedule}) => schedule)) {
    const optimizer = new optim.SGD([new nn.Parameter([0])], {lr: 0.4, momentum: 0.9});
    const several = parts?.map((part) => made(optimizer, part));
    const schedule = !several ? made(optimizer, [name, args ?? [], options ?? {}]) : milestones?.[0] ? new (kind(name))(optimizer, several, milestones) : new (kind(name))(several);
    rates?.forEach(([lr, momentum], step) => {
      const [group] = optimizer.groups;
      const what = `${name} ${JSON.stringify(options ?? parts)} step ${step}`;
      assert.ok(Math.abs((group?.lr ?? NaN) - lr) < 1e-6, `${what}: rate ${group?.lr}, not ${lr}`);
      assert.ok(Math.abs((group?.momentum ?? NaN) - momentum) < 1e-6, `${what}: momentum ${group?.momentum}, not ${momentum}`);
      if (step < 11) schedule.step();
    });
  }
});

test('a cycle may be stepped after each of its steps, and not once more', {skip}, () => {
  const optimizer = new optim.SGD([new nn.Parameter([1])], {lr: 0.1});
  const schedule = new optim.OneCycleLR(optimizer, 0.1, 3);
  for (const rate of [0.04626371, 4e-7, 0.04626371]) {
    schedule.step();
    assert.ok(Math.abs(optimizer.groups[0]!.lr - rate) < 1e-7, `${optimizer.groups[0]!.lr}, not ${rate}`); // PyTorch's
  }
  assert.throws(() => schedule.step(), /step 4 of 3/);
});

test('momenta that a schedule changes are fed: all steps are one program', {skip}, async () => {
  const w = new nn.Parameter([1, 2]);
  const optimizer = new optim.Adam([w], {lr: 0.1});
  const schedule = new optim.OneCycleLR(optimizer, 0.1, 20);
  const {profile} = await import('../src/index.ts');
  const step = async (): Promise<void> => {
    w.grad = new Tensor([1, 1]);
    optimizer.step();
    schedule.step();
    await w.data();
  };
  await step();
  await step();
  const before = profile().length;
  for (let at = 0; at < 10; ++at) await step();
  assert.equal(profile().length, before);
});
