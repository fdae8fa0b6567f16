/** The network of a model folder: a compiled package, or ONNX or safetensors files that are compiled. */
import {weightFiles} from '../../ort/src/signature.ts';
import {type Bytes, bytesOf, type Folder} from './folder.ts';
import type {Network, NetworkOptions, Told, WeightType} from './network.ts';

/** How file names end. */
const SUFFIXES: Readonly<Record<WeightType, string>> = {q4f16: '_q4f16', q4: '_q4', q8: '_quantized', int8: '_int8', uint8: '_uint8', fp16: '_fp16', fp32: ''};

/** Whether the folder has a compiled package. */
export async function isCompiled({names, read}: Folder): Promise<boolean> {
  if (names) return names.includes('index.json') || names.includes('manifest.json');
  for (const name of ['index.json', 'manifest.json']) if (await read(name)) return true;
  return false;
}

/** Paths that the ONNX file may have: small weights first. */
function candidates(dtype: WeightType | undefined, named: string | undefined): string[] {
  const kinds = dtype ? [dtype] : (Object.keys(SUFFIXES) as WeightType[]);
  const paths = kinds.flatMap((kind) => ['onnx/', ''].map((folder) => `${folder}model${SUFFIXES[kind]}.onnx`));
  return [...(named && !dtype ? [named] : []), ...paths];
}

/** Where there is no ONNX file: of the first file of weights, or of the list of several. */
const SAFETENSORS = ['model.safetensors.index.json', 'model.safetensors'];

async function readSafetensors(folder: Folder, options: NetworkOptions, told: Told | undefined): Promise<Network | undefined> {
  const there = async (name: string): Promise<unknown> => (folder.names ? folder.names.includes(name) : folder.part(name, 0, 1));
  if (!(await there(SAFETENSORS[0] as string)) && !(await there(SAFETENSORS[1] as string))) return undefined;
  return (await import('./safetensors_folder.ts')).safetensorsNetwork(folder, options, told);
}

/** Throws where there is none. `told` is called with bytes that arrive, of all files together. */
export async function readNetwork(
  folder: Folder, options: NetworkOptions, genaiFile: string | undefined, told?: Told,
): Promise<Network> {
  const {file, dtype} = options;
  const arrived = new Map<string, readonly [done: number, total: number]>();
  const sum = (which: 0 | 1): number => [...arrived.values()].reduce((all, each) => all + each[which], 0);
  const read = (path: string): Promise<Bytes | undefined> => folder.read(path, told && ((...each) => {
    arrived.set(path, each);
    told(sum(0), sum(1));
  }));
  const paths = file === undefined ? candidates(dtype, genaiFile) : [file];
  // Requests for what a list says is not there would fail one by one.
  const likely = folder.names ? paths.filter((path) => folder.names?.includes(path)) : paths;
  for (const path of likely) {
    const found = await read(path);
    if (!found) continue;
    const model = await bytesOf(found);
    const place = (name: string): string => path.replace(/[^/]*$/, '') + name.replace(/^\.\//, '');
    const names = weightFiles(model);
    const weights = names.map(async (name) => {
      const bytes = await read(place(name));
      if (bytes) return [name, bytes] as const;
      throw new Error(`load(): ${path} of ${folder.where} keeps weights in ${place(name)}, which is missing`);
    });
    return {sources: [path, ...names.map(place)], model, externalData: new Map(await Promise.all(weights))};
  }
  if (file === undefined) {
    const found = await readSafetensors(folder, options, told);
    if (found) return found;
  }
  const has = folder.names?.filter((name) => name.endsWith('.onnx')) ?? [];
  throw new Error(`load(): ${folder.where} has none of ${paths.join(', ')}${has.length > 0 ? `; it has ${has.join(', ')}: name one in \`file\`` : ''}`);
}
