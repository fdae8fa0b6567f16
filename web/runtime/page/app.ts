/** The page around a package: choose a device, feed the inputs, run, look at the outputs. */
import {type DeviceKind, load, type LoadOptions, type Model, type Progress} from '../src/index.ts';
import {byId} from './dom.ts';
import {type InputForm, makeForms} from './inputs.ts';
import {showOutput, showReport} from './outputs.ts';

const status = byId('status', HTMLElement);
const progress = byId('progress', HTMLProgressElement);
const trouble = byId('trouble', HTMLElement);
const chooser = byId('device', HTMLSelectElement);
const runButton = byId('run', HTMLButtonElement);
const benchButton = byId('bench', HTMLButtonElement);
const main = document.querySelector('main');
const {model: address = '', labels: labelsAddress = ''} = document.documentElement.dataset;

let model: Model | undefined;
let forms: InputForm[] = [];
let labels: string[] = [];

function complain(problem: unknown): void {
  trouble.textContent = problem instanceof Error ? problem.message : String(problem);
  trouble.hidden = false;
}

/** Files inlined as <script type="application/octet-stream" data-file="NAME">base64</script>. */
function inlinedFiles(): Map<string, Uint8Array> | undefined {
  const scripts = document.querySelectorAll<HTMLScriptElement>('script[data-file]');
  if (scripts.length === 0) return undefined;
  return new Map(
    Array.from(scripts, (script) => {
      const letters = atob(script.textContent.trim());
      const bytes = new Uint8Array(letters.length);
      for (let at = 0; at < bytes.length; ++at) bytes[at] = letters.charCodeAt(at);
      return [script.dataset['file'] ?? '', bytes] as const;
    }),
  );
}

const inlined = inlinedFiles();

async function readLabels(): Promise<string[]> {
  const inPage = inlined?.get('labels.txt');
  if (inPage) return new TextDecoder().decode(inPage).trim().split(/\r?\n/);
  if (labelsAddress === '' || labelsAddress.startsWith('{{')) return [];
  const response = await fetch(labelsAddress);
  return response.ok ? (await response.text()).trim().split(/\r?\n/) : [];
}

function showProgress({stage, done, total}: Progress): void {
  const words = {download: 'Downloading', compile: 'Compiling kernels', upload: 'Uploading weights'};
  progress.max = Math.max(1, total);
  progress.value = done;
  const amount =
    stage === 'download'
      ? `${(done / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`
      : `${done} of ${total}`;
  status.textContent = `${words[stage]}: ${amount}`;
}

async function start(): Promise<void> {
  trouble.hidden = true;
  progress.hidden = false;
  chooser.disabled = true;
  model?.dispose();
  model = undefined;
  const device = chooser.value as 'auto' | DeviceKind;
  try {
    const options: LoadOptions = {device, onProgress: showProgress};
    model = await load(inlined ?? (address || './'), options);
    labels = await readLabels();
    const report = model.report();
    const why = report.fallbacks.map(({what, reason}) => `${what}: ${reason}`).join('; ');
    status.textContent = `Ready on ${report.device} (${report.adapter})${why && `; ${why}`}`;
    if (forms.length === 0) forms = makeForms(model, byId('inputs', HTMLElement));
    if (main) main.hidden = false;
    byId('report', HTMLElement).replaceChildren(showReport(report));
    document.documentElement.dataset['state'] = 'ready';
  } catch (problem) {
    status.textContent = 'Not loaded';
    document.documentElement.dataset['state'] = 'failed';
    complain(problem);
  }
  progress.hidden = true;
  chooser.disabled = false;
}

async function run(times: number): Promise<void> {
  const current = model;
  if (!current) return;
  trouble.hidden = true;
  runButton.disabled = benchButton.disabled = true;
  try {
    const feeds = Object.fromEntries(forms.map((form) => [form.name, form.read()]));
    const taken: number[] = [];
    let out = await current.run(feeds);
    for (let turn = 0; turn < times; ++turn) {
      const begin = performance.now();
      out = await current.run(feeds);
      taken.push(performance.now() - begin);
    }
    const begin = performance.now();
    if (times === 0) taken.push(current.report().times.runMs ?? 0);
    const shown = await Promise.all(Object.values(out).map((each) => showOutput(each, labels)));
    byId('outputs', HTMLElement).replaceChildren(...shown);
    taken.sort((a, b) => a - b);
    const middle = taken[taken.length >> 1] ?? performance.now() - begin;
    const {device, threads} = current.report();
    const where = device === 'wasm' ? `${device}, ${threads} thread${threads > 1 ? 's' : ''}` : device;
    byId('time', HTMLElement).textContent =
      times === 0
        ? `${middle.toFixed(1)} ms on ${where}`
        : `${middle.toFixed(2)} ms on ${where} (median of ${times}, fastest ${(taken[0] ?? 0).toFixed(2)})`;
    byId('report', HTMLElement).replaceChildren(showReport(current.report()));
    document.documentElement.dataset['state'] = 'done';
  } catch (problem) {
    complain(problem);
  }
  runButton.disabled = benchButton.disabled = false;
}

const wanted = new URLSearchParams(location.search).get('device');
if (['webgpu', 'webgl', 'wasm'].includes(wanted ?? '')) chooser.value = wanted ?? 'auto';
chooser.addEventListener('change', () => void start());
runButton.addEventListener('click', () => void run(0));
benchButton.addEventListener('click', () => void run(10));
byId('inputs', HTMLElement).addEventListener('ready', () => void run(0));
void start();
