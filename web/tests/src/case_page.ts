/** Runs one case in the page: loads the package, runs it and posts the outputs' bytes to the server. */
import {decode, encode} from '../../runtime/src/storage.ts';
import {type Feed, load, type Model, type Output, type StringTensor, tensor, type Tensor} from '../../runtime/src/index.ts';
import {keepLimits} from './limits.ts';
import type {Bench, PageAnswer, PageCase} from './protocol.ts';

const PIECE = 16 * 2 ** 20; // bytes

async function fetchTensor({
  url,
  dtype,
  shape,
}: PageCase['inputs'][number]): Promise<Tensor | StringTensor> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  if (dtype === 'string') {
    return {data: (await response.json()) as string[], shape, dtype};
  }
  return tensor(decode(new Uint8Array(await response.arrayBuffer()), dtype), shape, dtype);
}

type Outputs = Record<string, Output | readonly Output[] | undefined>;

/** How long it takes, and no values but those that a run reads back. */
async function time(model: Model, feeds: Readonly<Record<string, Feed>>, runs: number, profile: boolean): Promise<Bench> {
  const {adapter} = model.report();
  if (profile) {
    const found = await model.profile(feeds, {runs});
    return {adapter, times: [], profile: found, table: found.table(), trace: found.trace()};
  }
  const times: number[] = [];
  for (let turn = -1; turn < runs; ++turn) {
    const begin = performance.now();
    const outputs = Object.values(await model.run<Outputs[string]>(feeds));
    await Promise.all(outputs.flatMap((value) => value ?? []).map((output) => output.data()));
    if (turn >= 0) times.push(performance.now() - begin);
  }
  return {adapter, times};
}

async function run(given: PageCase): Promise<PageAnswer> {
  let model: Model | undefined;
  try {
    const {device, threads, strict, runs = 1, bench} = given.options;
    model = await load(`${given.base}package/`, {device, threads, strict});
    const feeds: Record<string, Feed> = Object.fromEntries(
      await Promise.all(
        given.inputs.map(async (input) => [input.name, await fetchTensor(input)] as const),
      ),
    );
    // Cases give the elements of sequences one by one.
    for (const {name, kind, inputs} of model.groups) {
      if (!inputs || kind === 'optional') continue;
      const parts = model.inputs.slice(inputs[0], inputs[0] + inputs[1]).map((port) => port.name);
      feeds[name] = parts.map((part) => feeds[part] as Tensor | StringTensor);
      for (const part of parts) delete feeds[part];
    }
    if (bench) return {bench: await time(model, feeds, runs, bench === 'profile')};
    const runAll = (): Promise<Outputs> => (model as Model).run<Outputs[string]>(feeds);
    let out = await runAll();
    let ms = model.report().times.runMs ?? 0;
    for (let turn = 1; turn < runs; ++turn) {
      out = await runAll();
      ms = Math.min(ms, model.report().times.runMs ?? ms);
    }
    const outputs = await Promise.all(
      Object.values(out).flatMap((value) => value ?? []).map(async (output, at) => {
        const {name, dtype, shape} = output;
        const bytes =
          dtype === 'string'
            ? new TextEncoder().encode(JSON.stringify(await output.data<string[]>()))
            : (encode(await output.data(), dtype) as Uint8Array<ArrayBuffer>);
        // In pieces: browsers' protocols hand whole bodies to who drives them, as text.
        for (let start = 0; start === 0 || start < bytes.length; start += PIECE) {
          const body = bytes.slice(start, start + PIECE);
          const answer = await fetch(`${given.base}out/${at}`, {method: 'POST', body});
          if (!answer.ok) throw new Error(`output "${name}" could not be handed over`);
        }
        return {name, dtype, shape};
      }),
    );
    return {outputs, report: model.report(), ms};
  } catch (problem) {
    return {error: problem instanceof Error ? problem.message : String(problem)};
  } finally {
    model?.dispose();
  }
}

keepLimits(new URLSearchParams(location.search).get('limits'));
Object.assign(globalThis, {runCase: run});
