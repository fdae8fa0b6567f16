/** The part of the page that finds a model, says what it takes, and loads it. */
import {type LanguageModel, load, type LoadProgress} from '@gossamer/llm';

import {button, byId, fail, input, make, setState, show, showTrouble, tell} from '../page/page.ts';
import {type Device, deviceHere, needsOf} from './findings.ts';
import {byPath, modelAddress, lookAt, type ModelFiles, type Weights} from './model_files.ts';
import {droppedFiles} from './dropped.ts';
import {keepSettings, loading} from './settings.ts';
import {bytesText} from './units.ts';

/** Next to the page, where `make chat-model` was run. */
const OWN = 'chat-model';

const STAGES: Readonly<Record<LoadProgress['stage'], string>> = {
  files: 'Reading the tokenizer',
  download: 'Downloading',
  compile: 'Compiling',
  kernels: 'Preparing kernels',
  upload: 'Copying weights to the device',
};

const chooser = byId('weights', HTMLSelectElement);
let files: ModelFiles | undefined;
let device: Device | undefined;
let abort: AbortController | undefined;

const chosenWeights = (): Weights | undefined => files?.weights[chooser.selectedIndex];

/** What the model needs, with the settings of now. */
function showNeeds(): void {
  if (!files || !device) return;
  const {target, download, cache, findings} = needsOf(files, {weights: chosenWeights(), ...loading()}, device);
  const verb = typeof files.from === 'string' ? 'Download' : 'Read';
  tell('download', download === undefined ? 'size not known' : `${bytesText(download)}${typeof files.from === 'string' ? ', once' : ' from this computer'}`);
  tell('memory-needed', download === undefined ? 'not known' : cache === undefined ? `more than ${bytesText(download)}` : `about ${bytesText(download + cache)}, ${bytesText(cache)} of it for the conversation`);
  tell('runs-on', target === 'webgpu' && typeof device.gpu !== 'string' ? `webgpu, ${device.gpu.name}` : target);
  byId('findings', HTMLElement).replaceChildren(...findings.map(({kind, text}) => make('li', {className: kind}, text)));
  const loadButton = button('load');
  loadButton.textContent = download === undefined ? 'Load' : `${verb} ${bytesText(download)} and load`;
  loadButton.disabled = findings.some(({kind}) => kind === 'stop');
}

function weightsText({dtype, file, bytes}: Weights): string {
  return `${dtype ?? file}${bytes === undefined ? '' : `, ${bytesText(bytes)}`}`;
}

async function look(from: string | ReadonlyMap<string, File>, name?: string): Promise<void> {
  if (abort) return;
  const before = byId('status', HTMLElement).textContent;
  showTrouble();
  show('found', false);
  tell('status', 'Looking at the files …');
  setState('looking');
  try {
    [files, device] = await Promise.all([lookAt(from), deviceHere()]);
  } catch (problem) {
    tell('status', before);
    throw typeof from === 'string' && problem instanceof TypeError ? new Error(`${from} cannot be read. Check the address, and that its server allows other pages to read it (CORS).`, {cause: problem}) : problem;
  }
  tell('found-name', name ?? files.name);
  chooser.replaceChildren(...files.weights.map((each) => make('option', {}, weightsText(each))));
  show('weights-row', files.weights.length > 1);
  showNeeds();
  show('found');
  tell('status', 'Read what it takes, then load it.');
  setState('found');
}

function showProgress({stage, done, total}: LoadProgress): void {
  const part = total > 0 ? done / total : 0;
  // Counts of bytes are worth reading.
  const counts = stage === 'download' && total > 1e4 ? `${bytesText(done)} of ${bytesText(total)}` : `${Math.floor(100 * part)} %`;
  tell('stage', `${STAGES[stage]}: ${counts}`);
  byId('progress', HTMLProgressElement).value = part;
}

/** Loads what was looked at. Undefined: the user cancelled it. */
async function open(): Promise<LanguageModel | undefined> {
  if (!files) return undefined;
  const {context, target, threads} = loading();
  const weights = chosenWeights();
  const name = byId('found-name', HTMLElement).textContent;
  const stages = new Set<string>();
  abort = new AbortController();
  const {signal} = abort;
  showTrouble();
  setState('loading');
  tell('status', `Loading ${name} …`);
  show('loading');
  button('load').disabled = true;
  try {
    const llm = await load(files.from, {
      name,
      signal,
      ...(target !== '' && {target: target as 'webgpu' | 'wasm'}),
      ...(weights?.dtype && {dtype: weights.dtype}),
      ...(context !== undefined && {contextLength: context}),
      ...(threads !== undefined && {threads}),
      onProgress: (progress) => {
        stages.add(progress.stage);
        showProgress(progress);
      },
    });
    const {device: target_, adapter, threads: count} = await llm.report();
    const place = target_ === 'wasm' ? `wasm, ${count} thread${count > 1 ? 's' : ''}` : `${target_}, ${adapter}`;
    tell('status', `${name} runs on ${place}.${stages.has('compile') || files.compiled ? '' : ' It was kept from the last visit: nothing was downloaded or compiled.'}`);
    byId('sources', HTMLDetailsElement).open = false;
    show('found', false);
    return llm;
  } catch (problem) {
    tell('status', `${name} is not loaded.`);
    showNeeds();
    if (signal.aborted) return undefined;
    throw problem;
  } finally {
    show('loading', false);
    abort = undefined;
  }
}

/** Offers the model of `make chat-model`, if it is there. */
async function offerOwn(): Promise<void> {
  const response = await fetch(`${OWN}/config.json`, {method: 'HEAD'}).catch(() => undefined);
  if (!response?.ok) return;
  show('own-row');
  button('own').addEventListener('click', () => void look(new URL(`${OWN}/`, location.href).href, 'Small model of this project').catch(fail));
}

/** `changed` is told of each model that is loaded, and of none before another is loaded. */
export function startModelPanel(changed: (llm: LanguageModel | undefined) => void): void {
  const byAddress = (): void => {
    keepSettings();
    Promise.resolve()
      .then(() => look(modelAddress(input('address').value, location.href)))
      .catch(fail);
  };
  byId('by-address', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    byAddress();
  });
  const byFiles = (found: readonly (readonly [string, File])[]): void => {
    const [first] = found;
    // A single file is named by what it is.
    if (first) look(byPath(found), first[0].includes('/') ? first[0].split('/')[0] : found.length > 1 ? 'your files' : undefined).catch(fail);
  };
  for (const chosen of [input('folder'), input('file')]) {
    chosen.addEventListener('change', () => byFiles(Array.from(chosen.files ?? [], (file) => [file.webkitRelativePath || file.name, file] as const)));
  }
  const drop = byId('drop', HTMLElement);
  document.addEventListener('dragover', (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
  document.addEventListener('dragleave', () => drop.classList.remove('over'));
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    if (event.dataTransfer) droppedFiles(event.dataTransfer).then(byFiles, fail);
  });
  chooser.addEventListener('change', showNeeds);
  byId('settings-form', HTMLFormElement).addEventListener('change', (event) => {
    showNeeds();
    // A loaded model has to be loaded again for these.
    if (files && (event.target as HTMLElement).closest('fieldset')) show('found');
  });
  button('load').addEventListener('click', () => {
    changed(undefined);
    open().then((llm) => {
      if (llm) changed(llm);
      else setState('found');
    }, fail);
  });
  button('cancel').addEventListener('click', () => abort?.abort());
  void offerOwn();
  if (new URLSearchParams(location.search).has('model')) {
    input('address').value = new URLSearchParams(location.search).get('model') ?? '';
    byAddress();
  }
}
