/** Compilations in an instance of compiler.wasm, on the calling thread. */
import type {CallResult, Instance, NamedFile, NativeOptions} from './call.ts';

const encoder = new TextEncoder();

/** One compilation. `trapped`: the instance is of no more use. */
export async function compileIn(
  instance: Instance,
  model: Uint8Array,
  options: NativeOptions,
  external: readonly NamedFile[],
  progress: (step: string, fraction: number) => void,
): Promise<CallResult & {readonly trapped?: boolean}> {
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
    const answer = instance.exports.gs_compile(put(model), model.length, put(json), json.length, list, external.length);
    const made = instance.take(answer);
    for (const address of mine) instance.exports.gs_free(address);
    return 'files' in made ? {files: made.files.map(([name, bytes]) => [name, bytes])} : made;
  } catch (problem) {
    return {error: instance.stopped(problem), trapped: true};
  }
}
