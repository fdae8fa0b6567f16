/** Drop a model, fix what is to be fixed, compile it for a target here in the page, run and keep what came out. */
import {compile, CompileError} from '../../compiler/src/index.ts';
import {byId, make} from '../../runtime/page/dom.ts';
import {acceptDrops, FieldProblem} from '../../runtime/page/field.ts';
import {labelsOf} from '../../runtime/page/labels.ts';
import {download} from '../../runtime/page/outputs.ts';
import {RunPanel, setState, showTrouble} from '../../runtime/page/run_panel.ts';
import {load} from '../../runtime/src/index.ts';
import {offerGpus} from '../page/page.ts';
import {beside, fromControl, fromDrop, type GivenFiles} from './given_files.ts';
import {readSignature, type Signature, withConstants} from './model_file.ts';
import {Settings} from './settings.ts';

type Target = 'webgpu' | 'webgl' | 'wasm';

const target = byId('target', HTMLSelectElement);
const which = byId('which', HTMLSelectElement);
const status = byId('status', HTMLElement);
const progress = byId('progress', HTMLProgressElement);
const cancel = byId('cancel', HTMLButtonElement);
const main = document.querySelector('main');
const panel = new RunPanel();

let given: GivenFiles = new Map();
let model: {path: string; bytes: Uint8Array; signature: Signature} | undefined;
let settings: Settings | undefined;
let kept: {zip: string; files: Map<string, Uint8Array>} | undefined;
let running: AbortController | undefined;

const isModel = (path: string): boolean => path.endsWith('.onnx');
const nameOf = (path: string): string => /([^/]*?)(\.onnx)?$/.exec(path)?.[1] ?? path;
const kilobytes = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KB`;

async function gzipSize(bytes: Uint8Array): Promise<number> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  const packed = new Response(stream.pipeThrough(new CompressionStream('gzip')));
  return (await packed.arrayBuffer()).byteLength;
}

/** A row a file, with its size as it is and as a server would send it. */
async function showPackage(all: ReadonlyMap<string, Uint8Array>): Promise<HTMLElement> {
  const row = (tag: 'th' | 'td', name: string, ...sizes: string[]): HTMLElement =>
    make(
      'tr',
      {},
      make(tag, {}, name),
      ...sizes.map((size) => make(tag, {className: 'number'}, size)),
    );
  const table = make('table', {}, row('th', 'File', 'Size', 'gzip'));
  for (const [name, bytes] of all) {
    table.append(row('td', name, kilobytes(bytes.length), kilobytes(await gzipSize(bytes))));
  }
  return table;
}

/** Which files of weights the model names, and which of them are here. */
function showWeights({path, signature}: NonNullable<typeof model>): void {
  const list = byId('weights', HTMLElement);
  list.hidden = signature.externalFiles.length === 0;
  list.replaceChildren(
    ...signature.externalFiles.map((location) => {
      const file = beside(given, path, location);
      const said = file ? kilobytes(file.size) : 'missing: drop it here too';
      return make('li', {className: file ? '' : 'problem'}, make('code', {}, location), ` ${said}`);
    }),
  );
}

/** The files of weights that are here, as the model names them. */
function weightsOf({path, signature}: NonNullable<typeof model>): Map<string, File> {
  const found = new Map<string, File>();
  for (const location of signature.externalFiles) {
    const file = beside(given, path, location);
    if (file) found.set(location, file);
  }
  return found;
}

function refuse(problem: unknown): void {
  status.textContent = 'Not compiled';
  if (!(problem instanceof FieldProblem)) showTrouble(problem);
  if (problem instanceof CompileError) settings?.complain(problem.diagnostic.where, problem);
  setState('failed');
}

async function build(): Promise<void> {
  if (!model) return;
  running?.abort(new Error('stopped'));
  const mine = new AbortController();
  running = mine;
  showTrouble();
  progress.hidden = cancel.hidden = false;
  progress.value = 0;
  const name = nameOf(model.path);
  const kind = target.value as Target;
  status.textContent = `Compiling ${name} for ${kind} …`;
  setState('busy');
  try {
    const chosen = settings?.read();
    const begin = performance.now();
    const pieces = withConstants(model.bytes, chosen?.constants ?? {});
    const made = await compile(new Blob(pieces as Uint8Array<ArrayBuffer>[]), {
      target: kind,
      externalData: weightsOf(model),
      ...chosen?.options,
      signal: mine.signal,
      onProgress({step, fraction}) {
        progress.value = fraction;
        status.textContent = `Compiling ${name}: ${step}`;
      },
    });
    const compiled = performance.now();
    const loaded = await load(made, {device: kind, signal: mine.signal});
    const end = performance.now();
    byId('package', HTMLElement).replaceChildren(await showPackage(made));
    kept = {zip: `${name}-${kind}.zip`, files: made};
    panel.show(loaded);
    status.textContent =
      `${name}: compiled in ${(compiled - begin).toFixed(0)} ms, ` +
      `loaded in ${(end - compiled).toFixed(0)} ms on ${loaded.report().adapter}`;
    if (main) main.hidden = false;
    setState('ready');
  } catch (problem) {
    if (running === mine) refuse(problem);
  }
  if (running === mine) progress.hidden = cancel.hidden = true;
}

/** Reads the chosen model and shows what can be fixed of it. */
async function open(path: string): Promise<void> {
  const bytes = new Uint8Array((await given.get(path)?.arrayBuffer()) ?? []);
  let signature: Signature = {inputs: [], externalFiles: []};
  try {
    signature = readSignature(bytes);
  } catch {
    // The compiler says what is wrong with the file.
  }
  model = {path, bytes, signature};
  settings = new Settings(signature.inputs, byId('settings', HTMLElement));
  byId('model', HTMLElement).hidden = signature.inputs.length === 0;
  // Sequences have a length that only the user knows.
  byId('fix', HTMLDetailsElement).open = signature.inputs.some(({sequence}) => sequence);
  showWeights(model);
  await build();
}

/** A model replaces what was there; files of weights and class names join it. */
async function take(more: GivenFiles): Promise<void> {
  const paths = [...more.keys()];
  if (paths.some(isModel)) setState('busy');
  const names = paths.find((path) => path.endsWith('.txt'));
  if (names) panel.setLabels(labelsOf((await more.get(names)?.text()) ?? ''));
  if (paths.every((path) => path.endsWith('.txt'))) return;
  const models = paths.filter(isModel);
  given = models.length > 0 && model ? more : new Map([...given, ...more]);
  if (models.length > 0) {
    which.replaceChildren(...models.map((path) => make('option', {value: path}, path)));
    byId('choice', HTMLElement).hidden = models.length < 2;
    await open(which.value);
  } else if (model) {
    showWeights(model);
    await build();
  } else {
    status.textContent = `${paths.join(', ')}: drop the .onnx file too`;
  }
}

for (const id of ['file', 'folder']) {
  const control = byId(id, HTMLInputElement);
  control.addEventListener('change', () => void take(fromControl(control.files ?? [])));
}
acceptDrops(byId('drop', HTMLElement), (data) => void fromDrop(data).then(take).catch(refuse));
which.addEventListener('change', () => void open(which.value));
target.addEventListener('change', () => void build());
byId('compile', HTMLButtonElement).addEventListener('click', () => void build());
cancel.addEventListener('click', () => running?.abort(new Error('stopped')));
byId('download', HTMLButtonElement).addEventListener('click', () => {
  const found = kept;
  if (!found) return;
  void import('./package_zip.ts').then(({zipPackage}) => download(found.zip, zipPackage(found.files)), refuse);
});
await offerGpus('target');
setState('idle');
