// Calls of PyTorch with what it gives for them, values and gradients: tests/pytorch/cases.jsonl, written by tests/pytorch/write.py.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {type DType, nn, Tensor} from '../src/torch.ts';
import {skip} from './start.ts';

interface Spec {
  readonly t?: number[];
  readonly values?: unknown;
  readonly seed?: number;
  readonly range?: [number, number];
  readonly dtype?: DType;
  readonly grad?: boolean;
}

interface Case {
  readonly call: string;
  readonly args: unknown[];
  readonly make?: unknown[];
  readonly options?: Record<string, unknown>;
  readonly training?: boolean;
  /** How many outputs are compared; default: all. */
  readonly only?: number;
  readonly state?: [string, number[], number][];
  readonly out: {readonly shape: number[]; readonly values: (number | string)[]}[];
  readonly grads?: ((number | string)[] | null)[];
}

const cases = readFileSync(join(import.meta.dirname, '../../../../../tests/pytorch/cases.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Case);

/** As elements() of write.py. */
function elements(count: number, seed: number, low: number, high: number): number[] {
  return Array.from({length: count}, (_, at) => {
    const first = BigInt(at) * 2654435761n + BigInt(seed) * 40503n + 12345n;
    const second = (BigInt(at + 1) * BigInt(seed + 1) * 2246822519n) & 0xffffffffn;
    return low + ((high - low) * Number((first ^ second) & 0xffffffffn)) / 2 ** 32;
  });
}

const isSpec = (value: unknown): value is Spec => typeof value === 'object' && value !== null && !Array.isArray(value) && ('t' in value || 'values' in value);
const numbers = (value: unknown): unknown => (Array.isArray(value) ? value.map(numbers) : typeof value === 'string' ? Number(value) : value);

function tensor({t, values, seed = 0, range = [-2, 2], dtype = 'f32', grad}: Spec): Tensor {
  const drawn = t && elements(t.reduce((all, extent) => all * extent, 1), seed, ...range).map((each) => (dtype === 'f32' ? each : Math.floor(each)));
  const made = new Tensor((drawn ?? numbers(values)) as number[], {dtype: dtype === 'i64' ? 'i32' : dtype, ...(t && {shape: t})});
  if (dtype === 'f32' && grad !== false) made.requiresGrad = true;
  return made;
}

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
type Call = (...given: unknown[]) => unknown;

function flat(out: unknown): Tensor[] {
  if (out instanceof Tensor) return [out];
  return typeof out === 'object' && out !== null ? Object.values(out).flatMap(flat) : [];
}

/** What outputs are multiplied with before they are summed up. */
const weights = (out: Tensor): Tensor => new Tensor(Array.from({length: out.size}, (_, at) => (((at * 7) % 11) - 5) / 5), {shape: out.shape});

function close(found: ArrayLike<number | bigint>, wanted: readonly (number | string)[], what: string): void {
  assert.equal(found.length, wanted.length, `${what}: ${found.length} elements, not ${wanted.length}`);
  const scale = Math.max(...wanted.map((each) => Math.abs(Number(each))).filter(Number.isFinite), 0);
  wanted.forEach((each, at) => {
    const [a, b] = [Number(found[at]), Number(each)];
    const same = Object.is(a, b) || a === b || Math.abs(a - b) <= 2e-5 * Math.max(1, Math.abs(b)) + 2e-6 * scale;
    assert.ok(same, `${what}: element ${at} is ${a}, not ${b}: [${Array.from(found, Number).join(', ')}], not [${wanted.join(', ')}]`);
  });
}

async function compare(one: Case): Promise<void> {
  const inputs: Tensor[] = [];
  const argument = (value: unknown): unknown => {
    if (isSpec(value)) {
      inputs.push(tensor(value));
      return inputs.at(-1);
    }
    return Array.isArray(value) ? value.map(argument) : value;
  };
  const args = one.args.map(argument);
  const options = Object.entries(one.options ?? {}).map(([name, value]) => [name, argument(value)] as const);
  const given = options.length > 0 ? [Object.fromEntries(options)] : [];
  const [kind = '', name = ''] = one.call.split('.');
  let out: unknown;
  if (kind === 'F') out = (nn.functional as unknown as Record<string, Call>)[camel(name)]?.(...args, ...given);
  else if (kind === 'nn') {
    const Made = (nn as unknown as Record<string, new (...given: unknown[]) => nn.Module>)[name];
    assert.ok(Made, `nn has no ${name}`);
    const module = new Made(...(one.make ?? []), ...given);
    assert.deepEqual(Object.keys(module.stateDict()).sort(), (one.state ?? []).map(([key]) => key).sort());
    module.loadStateDict(Object.fromEntries((one.state ?? []).map(([key, shape, seed]) => {
      const range = key.endsWith('running_var') ? [0.5, 1.5] : [-0.8, 0.8];
      return [key, tensor({t: shape, seed, range: range as [number, number], grad: false})];
    })));
    out = module.train(one.training ?? false).forward(...args);
  } else {
    const [self, ...rest] = args as [Record<string, Call>, ...unknown[]];
    assert.ok(self[camel(name)], `Tensor has no ${camel(name)}`);
    out = self[camel(name)]?.(...rest, ...given);
  }
  const found = flat(out).slice(0, one.only);
  assert.deepEqual(found.map(({shape}) => [...shape]), one.out.map(({shape}) => shape), 'shapes');
  const reads: Promise<void>[] = [];
  const read = (of: Tensor, wanted: readonly (number | string)[], what: string): void => {
    const done = of.data().then((data) => close(data, wanted, what));
    done.catch(() => undefined); // awaited below, unless something throws before
    reads.push(done);
  };
  found.forEach((each, at) => read(each, one.out[at]?.values ?? [], `output ${at}`));
  if (one.grads) {
    const parts = found.filter(({requiresGrad}) => requiresGrad).map((each) => each.mul(weights(each)).sum());
    parts.reduce((all, each) => all.add(each)).backward();
    one.grads.forEach((wanted, at) => {
      const {grad} = inputs[at] as Tensor;
      if (wanted && (grad || wanted.some((each) => each !== 0))) {
        assert.ok(grad, `input ${at} has no gradient`);
        read(grad, wanted, `gradient ${at}`);
      }
    });
  }
  await Promise.all(reads);
  for (const each of [...inputs, ...found]) each.dispose();
}

test('every case gives what PyTorch gives', {skip}, async (context) => {
  assert.ok(cases.length >= 400, `${cases.length} cases`);
  const failed: string[] = [];
  const only = process.env['PYTORCH_CASES'];
  for (const one of cases) {
    const name = JSON.stringify({...one, out: undefined, grads: undefined});
    if (only && !name.includes(only)) continue;
    try {
      await compare(one);
    } catch (problem) {
      failed.push(`${name}\n    ${(problem as Error).message.split('\n').slice(0, 6).join('\n    ').slice(0, 900)}${only ? (problem as Error).stack : ''}`);
    }
  }
  context.diagnostic(`${cases.length} cases`);
  assert.equal(failed.length, 0, `${failed.length} of ${cases.length} cases\n${failed.join('\n')}`);
});
