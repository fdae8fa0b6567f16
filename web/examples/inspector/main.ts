/** The inspector with a compiler and devices: drop a model, look into it, measure it here. */
import {compile} from '../../compiler/src/index.ts';
import {getModule} from '../../compiler/src/module.ts';
import {Inspector} from '../../inspector/src/app.ts';
import {parseView, type Profile} from '../../inspector/src/document.ts';
import type {Dims} from '../../inspector/src/expressions.ts';
import {withView} from '../../inspector/src/saved.ts';
import {acceptDrops, FieldProblem} from '../../runtime/page/field.ts';
import {download} from '../../runtime/page/outputs.ts';
import {load} from '../../runtime/src/index.ts';
import {beside, folderOf, fromControl, fromDrop, type GivenFiles} from '../compile/given_files.ts';
import {readSignature, type Signature, withConstants} from '../compile/model_file.ts';
import {type Chosen, Settings} from '../compile/settings.ts';
import {asked, button, byId, fail, input, make, setState, show as showElement, showTrouble, tell} from '../page/page.ts';
import type {Asked, Said} from './worker.ts';
import script from 'worker:./worker.ts';

const TARGETS = ['webgpu', 'webgl', 'wasm'] as const;
type Target = (typeof TARGETS)[number];

const progress = byId('progress', HTMLProgressElement);
const which = byId('which', HTMLSelectElement);
const root = byId('inspector', HTMLElement);

let given: GivenFiles = new Map();
let inspector: Inspector | undefined;
let working: Worker | undefined;
let settings: Settings | undefined;
let again: (() => Promise<void>) | undefined;

const isModel = (path: string): boolean => path.endsWith('.onnx');

/** A model as it is compiled, with what its user fixed. */
interface Fixed {
  readonly model: Uint8Array<ArrayBuffer>;
  readonly files: ReadonlyMap<string, Blob>;
  readonly options: Chosen['options'];
}

/** The document of a model. */
async function describe({model, files, options}: Fixed): Promise<string> {
  const module = await getModule(new URL('tuner.wasm', document.baseURI));
  working?.terminate();
  const worker = await script.start();
  working = worker;
  try {
    return await new Promise<string>((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = ({data}: MessageEvent<Said>) => {
        switch (data.kind) {
          case 'ready':
            worker.postMessage({module, model, files, options, targets: TARGETS} satisfies Asked);
            break;
          case 'progress':
            progress.value = data.fraction;
            break;
          case 'done':
            resolve(data.text);
            break;
          case 'failed':
            reject(new Error(typeof data.problem === 'string' ? data.problem : [data.problem.where, data.problem.message, data.problem.hint].filter((word) => word !== '').join(': ')));
            break;
        }
      };
    });
  } finally {
    worker.terminate();
  }
}

/** Runs the model with made-up feeds, and each of its launches alone. */
async function measure({model, files, options}: Fixed, target: string, dims: Dims): Promise<Profile> {
  const made = await compile(model, {target: target as Target, externalData: files, ...options});
  const loaded = await load(made, {device: target as Target, strict: true});
  try {
    const {device, adapter, runMs, kernelMs, launches} = await loaded.profile(undefined, {dims: Object.fromEntries(dims)});
    return {device, adapter, runMs, kernelMs, launches, dims: Object.fromEntries(dims)};
  } finally {
    loaded.dispose();
  }
}

/** The page as `gossamer inspect --html` writes it. */
async function save(text: string, name: string, profiles: readonly Profile[]): Promise<void> {
  const response = await fetch(new URL('inspector.template', document.baseURI));
  if (!response.ok) throw new Error(`inspector.template: the server answered ${response.status}`);
  download(`${name}.html`, withView(await response.text(), {...parseView(text), profiles}));
}

async function show(path: string, bytes: Uint8Array<ArrayBuffer>, signature: Signature): Promise<void> {
  showTrouble();
  setState('busy');
  showElement('progress');
  progress.value = 0;
  tell('status', `Compiling ${path} …`);
  try {
    const chosen = settings?.read();
    const pieces = withConstants(bytes, chosen?.constants ?? {}) as Uint8Array<ArrayBuffer>[];
    const model = pieces.length === 1 ? bytes : new Uint8Array(await new Blob(pieces).arrayBuffer());
    const files = new Map(signature.externalFiles.map((name) => [name, beside(given, path, name)] as const).filter((each): each is [string, File] => each[1] !== undefined));
    const fixed: Fixed = {model, files, options: chosen?.options ?? {}};
    const begin = performance.now();
    const text = await describe(fixed);
    const view = parseView(text);
    inspector?.dispose();
    inspector = new Inspector(root, view, {
      measure: (target, dims) => measure(fixed, target, dims),
      save: (profiles) => save(text, path.slice(folderOf(path).length).replace(/\.onnx$/, '') || 'model', profiles),
    });
    tell('status', `${path}: compiled for ${TARGETS.join(', ')} in ${((performance.now() - begin) / 1000).toFixed(1)} s. It stays in this page.`);
    setState('ready');
  } catch (problem) {
    inspector?.dispose();
    tell('status', `${path} cannot be shown`);
    if (problem instanceof FieldProblem) setState('failed');
    else fail(problem);
  }
  showElement('progress', false);
}

async function open(path: string, file: Blob): Promise<void> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let signature: Signature = {inputs: [], externalFiles: []};
  try {
    signature = readSignature(bytes);
  } catch {
    // The compiler says what is wrong with the file.
  }
  settings = new Settings(signature.inputs, byId('settings', HTMLElement));
  showElement('fix', signature.inputs.length > 0);
  // Sequences have a length that only the user knows.
  byId('fix', HTMLDetailsElement).open = signature.inputs.some(({sequence}) => sequence);
  again = () => show(path, bytes, signature);
  await again();
}

async function take(more: GivenFiles): Promise<void> {
  const models = [...more.keys()].filter(isModel);
  if (models.length === 0) {
    given = new Map([...given, ...more]);
    const model = given.get(which.value);
    if (model) return open(which.value, model);
    tell('status', `${[...more.keys()].join(', ')}: drop the .onnx file too`);
    return;
  }
  given = more;
  which.replaceChildren(...models.map((path) => make('option', {value: path}, path)));
  showElement('choice', models.length > 1);
  const file = given.get(which.value);
  if (file) await open(which.value, file);
}

async function fetchModel(address: string): Promise<void> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: the server answered ${response.status}`);
  const name = new URL(address, document.baseURI).pathname.split('/').at(-1) ?? 'model.onnx';
  await take(new Map([[isModel(name) ? name : `${name}.onnx`, new File([await response.blob()], name)]]));
}

for (const id of ['file', 'folder']) {
  const control = input(id);
  control.addEventListener('change', () => void take(fromControl(control.files ?? [])));
}
acceptDrops(byId('drop', HTMLElement), (data) => void fromDrop(data).then(take).catch(fail));
which.addEventListener('change', () => {
  const file = given.get(which.value);
  if (file) void open(which.value, file);
});
button('again').addEventListener('click', () => void again?.());
button('digits').addEventListener('click', () => {
  // The address says which model it is, so that a link opens it.
  history.replaceState(null, '', `?model=digits.onnx${location.hash}`);
  void fetchModel('digits.onnx').catch(fail);
});
const address = asked.get('model');
setState('idle');
if (address !== null) void fetchModel(address).catch(fail);
