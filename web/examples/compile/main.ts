/** Drop a model, compile it for a target here in the page, run what came out. */
import {compile} from '../../compiler/src/index.ts';
import {byId, make} from '../../runtime/page/dom.ts';
import {type InputForm, makeForms} from '../../runtime/page/inputs.ts';
import {showOutput, showReport} from '../../runtime/page/outputs.ts';
import {load, type Model} from '../../runtime/src/index.ts';

type Target = 'webgpu' | 'webgl' | 'wasm';

const target = byId('target', HTMLSelectElement);
const file = byId('file', HTMLInputElement);
const drop = byId('drop', HTMLElement);
const status = byId('status', HTMLElement);
const progress = byId('progress', HTMLProgressElement);
const trouble = byId('trouble', HTMLElement);
const cancel = byId('cancel', HTMLButtonElement);
const runButton = byId('run', HTMLButtonElement);
const main = document.querySelector('main');

let given: {name: string; bytes: Blob} | undefined;
let model: Model | undefined;
let forms: InputForm[] = [];
let running: AbortController | undefined;

function complain(problem: unknown): void {
  trouble.textContent = problem instanceof Error ? problem.message : String(problem);
  trouble.hidden = false;
  document.documentElement.dataset['state'] = 'failed';
}

const kilobytes = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KB`;

async function gzipSize(bytes: Uint8Array): Promise<number> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  const packed = new Response(stream.pipeThrough(new CompressionStream('gzip')));
  return (await packed.arrayBuffer()).byteLength;
}

/** A row a file, with its size as it is and as a server would send it. */
async function showPackage(files: ReadonlyMap<string, Uint8Array>): Promise<HTMLElement> {
  const row = (tag: 'th' | 'td', name: string, ...sizes: string[]): HTMLElement =>
    make(
      'tr',
      {},
      make(tag, {}, name),
      ...sizes.map((size) => make(tag, {className: 'number'}, size)),
    );
  const table = make('table', {}, row('th', 'File', 'Size', 'gzip'));
  for (const [name, bytes] of files) {
    table.append(row('td', name, kilobytes(bytes.length), kilobytes(await gzipSize(bytes))));
  }
  return table;
}

async function build(): Promise<void> {
  if (!given) return;
  running?.abort(new Error('stopped'));
  const mine = new AbortController();
  running = mine;
  trouble.hidden = true;
  progress.hidden = cancel.hidden = false;
  progress.value = 0;
  status.textContent = `Compiling ${given.name} for ${target.value} …`;
  document.documentElement.dataset['state'] = 'busy';
  try {
    const begin = performance.now();
    const files = await compile(given.bytes, {
      target: target.value as Target,
      signal: mine.signal,
      onProgress({step, fraction}) {
        progress.value = fraction;
        status.textContent = `Compiling ${given?.name ?? ''}: ${step}`;
      },
    });
    const compiled = performance.now();
    model?.dispose();
    model = undefined;
    model = await load(files, {device: target.value as Target, signal: mine.signal});
    const loaded = performance.now();
    status.textContent =
      `${given.name}: compiled in ${(compiled - begin).toFixed(0)} ms, ` +
      `loaded in ${(loaded - compiled).toFixed(0)} ms on ${model.report().adapter}`;
    byId('package', HTMLElement).replaceChildren(await showPackage(files));
    byId('report', HTMLElement).replaceChildren(showReport(model.report()));
    byId('outputs', HTMLElement).replaceChildren();
    byId('time', HTMLElement).textContent = '';
    forms = makeForms(model, byId('inputs', HTMLElement));
    if (main) main.hidden = false;
    document.documentElement.dataset['state'] = 'ready';
  } catch (problem) {
    if (running === mine) {
      status.textContent = 'Not compiled';
      complain(problem);
    }
  }
  if (running === mine) progress.hidden = cancel.hidden = true;
}

async function run(): Promise<void> {
  if (!model) return;
  trouble.hidden = true;
  runButton.disabled = true;
  try {
    const out = await model.run(Object.fromEntries(forms.map((form) => [form.name, form.read()])));
    const shown = await Promise.all(Object.values(out).map((each) => showOutput(each, [])));
    byId('outputs', HTMLElement).replaceChildren(...shown);
    const {device, times} = model.report();
    byId('time', HTMLElement).textContent = `${(times.runMs ?? 0).toFixed(1)} ms on ${device}`;
    document.documentElement.dataset['state'] = 'done';
  } catch (problem) {
    complain(problem);
  }
  runButton.disabled = false;
}

function take(chosen: File | undefined): void {
  if (!chosen) return;
  given = {name: chosen.name, bytes: chosen};
  void build();
}

file.addEventListener('change', () => take(file.files?.[0]));
drop.addEventListener('dragover', (event) => {
  event.preventDefault();
  drop.classList.add('over');
});
drop.addEventListener('dragleave', () => drop.classList.remove('over'));
drop.addEventListener('drop', (event) => {
  event.preventDefault();
  drop.classList.remove('over');
  take(event.dataTransfer?.files[0]);
});
target.addEventListener('change', () => void build());
cancel.addEventListener('click', () => running?.abort(new Error('stopped')));
runButton.addEventListener('click', () => void run());
byId('inputs', HTMLElement).addEventListener('ready', () => void run());
const wanted = new URLSearchParams(location.search).get('target') ?? '';
if (['webgpu', 'webgl', 'wasm'].includes(wanted)) target.value = wanted;
else if (!('gpu' in navigator)) target.value = 'webgl';
document.documentElement.dataset['state'] = 'idle';
