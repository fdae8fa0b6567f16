/** The page around a package: choose a device, feed the inputs, run, look at the outputs. */
import {type DeviceKind, load, type LoadOptions, type Progress} from '../src/index.ts';
import {byId} from './dom.ts';
import {labelsOf} from './labels.ts';
import {RunPanel, setState, showTrouble} from './run_panel.ts';

const status = byId('status', HTMLElement);
const progress = byId('progress', HTMLProgressElement);
const chooser = byId('device', HTMLSelectElement);
const main = document.querySelector('main');
const {model: address = '', labels: labelsAddress = ''} = document.documentElement.dataset;

const panel = new RunPanel();

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
  if (inPage) return labelsOf(new TextDecoder().decode(inPage));
  if (labelsAddress === '' || labelsAddress.startsWith('{{')) return [];
  const response = await fetch(labelsAddress);
  return response.ok ? labelsOf(await response.text()) : [];
}

/** Whether everything is here: before, the rest happens beside the download. */
let downloaded = false;

function showProgress({stage, done, total}: Progress): void {
  if (stage === 'download') downloaded = done === total;
  else if (!downloaded) return;
  const words = {download: 'Downloading', compile: 'Compiling kernels', upload: 'Uploading weights'};
  progress.max = Math.max(1, total);
  progress.value = done;
  const amount =
    stage !== 'compile'
      ? `${(done / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`
      : `${done} of ${total}`;
  status.textContent = `${words[stage]}: ${amount}`;
}

async function start(): Promise<void> {
  showTrouble();
  progress.hidden = false;
  chooser.disabled = true;
  panel.show(undefined);
  const device = chooser.value as 'auto' | DeviceKind;
  try {
    const options: LoadOptions = {device, onProgress: showProgress};
    const model = await load(inlined ?? (address || './'), options);
    panel.show(model);
    await named;
    const {device: kind, adapter, fallbacks} = model.report();
    const why = fallbacks.map(({what, reason}) => `${what}: ${reason}`).join('; ');
    status.textContent = `Ready on ${kind} (${adapter})${why && `; ${why}`}`;
    if (main) main.hidden = false;
    setState('ready');
  } catch (problem) {
    status.textContent = 'Not loaded';
    setState('failed');
    showTrouble(problem);
  }
  progress.hidden = true;
  chooser.disabled = false;
}

const wanted = new URLSearchParams(location.search).get('device');
if (['webgpu', 'webgl', 'wasm'].includes(wanted ?? '')) chooser.value = wanted ?? 'auto';
chooser.addEventListener('change', () => void start());
const named = readLabels().then((labels) => panel.setLabels(labels), showTrouble);
void start();
