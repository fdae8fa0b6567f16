/** Compilations and searches in an instance of compiler.wasm or tuner.wasm, on the calling thread. */
import type {CallResult, Exports, Instance, MadeFile, NamedFile, NativeOptions, Progress} from './call.ts';

type Given = [model: number, size: number, options: number, optionsSize: number, files: number, count: number, records: number, recordsSize: number];

/** What tuner.wasm exports besides (web/compiler/tuner/tune_entry.cc). */
interface TunerExports extends Exports {
  gs_compile_recorded(...given: Given): number;
  gs_tune(...given: [...Given, seconds: number, trials: number, seed: number, layoutShare: number]): number;
  gs_tune_answer(json: number, size: number): number;
}

/** How a search begins. */
export interface Beginning {
  /** 0: no end by it. */
  readonly seconds: number;
  readonly trials: number;
  readonly seed: number;
  readonly layoutShare: number;
}

const encoder = new TextEncoder();

/** What is compiled; `records` are for tuner.wasm alone. */
export interface Call {
  readonly model: Uint8Array;
  readonly options: NativeOptions;
  readonly external: readonly NamedFile[];
  readonly records?: string | undefined;
}

/** `trapped`: the instance is of no more use. */
export type MadeResult = CallResult & {readonly trapped?: boolean};

/** One compilation, or the begin of a search, whose answer is its first request. */
export async function compileIn(instance: Instance, call: Call, progress: Progress, search?: Beginning): Promise<MadeResult> {
  const {model, options, external, records} = call;
  const mine: number[] = [];
  const put = (bytes: Uint8Array): number => {
    const address = instance.put(bytes);
    mine.push(address);
    return address;
  };
  try {
    instance.progress = progress;
    const given: number[] = [];
    for (const [name, file] of external) {
      const path = encoder.encode(name);
      const bytes = file instanceof Uint8Array ? file : new Uint8Array(await file.arrayBuffer());
      given.push(put(path), path.length, put(bytes), bytes.length);
    }
    const list = put(new Uint8Array(Uint32Array.from(given).buffer));
    const json = encoder.encode(JSON.stringify(options));
    const {exports} = instance;
    const words = [put(model), model.length, put(json), json.length, list, external.length] as const;
    if (records === undefined && !search) return ended(instance, exports.gs_compile(...words), mine);
    const lines = encoder.encode(records ?? '');
    const recorded = [...words, put(lines), lines.length] as const;
    const tuner = exports as TunerExports;
    if (!search) return ended(instance, tuner.gs_compile_recorded(...recorded), mine);
    // Its memory is the search's, until its instance goes.
    return ended(instance, tuner.gs_tune(...recorded, search.seconds, search.trials, search.seed, search.layoutShare), []);
  } catch (problem) {
    return {error: instance.stopped(problem), trapped: true};
  }
}

/** The next request of the search in an instance. */
export function answerIn(instance: Instance, answer: string): MadeResult {
  try {
    const [json, size] = instance.putText(answer);
    return ended(instance, (instance.exports as TunerExports).gs_tune_answer(json, size), [json]);
  } catch (problem) {
    return {error: instance.stopped(problem), trapped: true};
  }
}

function ended(instance: Instance, answer: number, mine: readonly number[]): CallResult {
  const made = instance.take(answer);
  for (const address of mine) instance.exports.gs_free(address);
  if (!('files' in made)) return made;
  const files: MadeFile[] = [];
  for (const [name, bytes] of made.files) {
    const last = files.at(-1);
    if (name === '@parts' && last) files[files.length - 1] = {...last, parts: JSON.parse(new TextDecoder().decode(bytes)) as NonNullable<MadeFile['parts']>};
    else files.push({name, bytes});
  }
  return {files};
}
