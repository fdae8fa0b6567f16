/** Runs one case in the page: loads the package, runs it and posts the outputs' bytes to the server. */
import {decode, encode} from '../../runtime/src/values/encoding.ts';
import {runJob} from '../../rpc/src/job.ts';
import {type Feed, load, type Model, type StringTensor, tensor, type Tensor} from '../../runtime/src/index.ts';
import {keepLimits} from './limits.ts';
import type {PageAnswer, PageCase} from './protocol.ts';

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

async function run(given: PageCase): Promise<PageAnswer> {
  let model: Model | undefined;
  try {
    const {device, threads, strict, runs, bench} = given.options;
    model = await load(`${given.base}package/`, {device, threads, strict});
    const feeds: Record<string, Feed> = Object.fromEntries(
      await Promise.all(
        given.inputs.map(async (input) => [input.name, await fetchTensor(input)] as const),
      ),
    );
    const {outputs: made, ...rest} = await runJob(model, feeds, {runs, bench});
    const outputs = await Promise.all(
      made.map(async (output, at) => {
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
    return {outputs, ...rest};
  } catch (problem) {
    return {error: problem instanceof Error ? problem.message : String(problem)};
  } finally {
    model?.dispose();
  }
}

keepLimits(new URLSearchParams(location.search).get('limits'));
Object.assign(globalThis, {runCase: run});
