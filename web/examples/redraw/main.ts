/** A picture goes in, another comes out: three times as large, or in another style. */
import {acceptDrops} from '../../runtime/page/field.ts';
import {givenFiles} from '../page/given.ts';
import {byId, chosenDevice, fail, input, offerGpus, setState, show, showTrouble, takeAddress, TARGETS, tell, turn} from '../page/page.ts';
import {EFFECTS, Network} from './effects.ts';
import {canvasOf, type Pixels} from './pixels.ts';

const choice = byId('effect', HTMLSelectElement);
const device = byId('device', HTMLSelectElement);
const controls = [choice, device, input('file')];
const files = new Map<string, Promise<Readonly<Record<'model', Blob>>>>();
const networks = new Map<string, Promise<Network>>();
let given: Blob | undefined;
let busy = false;

/** The model of an effect, ready on the device; kept for the next picture. */
async function networkOf(name: string, path: string): Promise<Network> {
  const key = `${name} ${device.value}`;
  const file = files.get(name) ?? givenFiles({model: path});
  files.set(name, file);
  const {model} = await file;
  tell('status', `Compiling for ${TARGETS[chosenDevice()]} …`);
  const network = networks.get(key) ?? Network.open(model, TARGETS[chosenDevice()]);
  networks.set(key, network);
  network.catch(() => networks.delete(key));
  return network;
}

function draw(id: 'before' | 'after', picture: Pixels): void {
  const canvas = byId(id, HTMLCanvasElement);
  [canvas.width, canvas.height] = [picture.width, picture.height];
  canvas.getContext('2d')?.drawImage(canvasOf(picture), 0, 0);
}

async function redraw(file: Blob): Promise<void> {
  const effect = EFFECTS[choice.value];
  if (!effect) throw new Error(`there is no effect "${choice.value}"`);
  setState('busy');
  const picture = await createImageBitmap(file).catch((problem: unknown) => {
    throw new Error('This file is no picture that the browser can read.', {cause: problem});
  });
  const network = await networkOf(choice.value, effect.path);
  tell('status', 'Drawing …');
  const bar = byId('bar', HTMLProgressElement);
  bar.value = 0;
  show('bar');
  const start = performance.now();
  const {before, after} = await effect.redraw(picture, network, async (share) => {
    bar.value = share;
    await turn();
  });
  const took = performance.now() - start;
  draw('before', before);
  draw('after', after);
  tell('time', `${picture.width} x ${picture.height} became ${after.width} x ${after.height} in ${took.toFixed(0)} ms on ${network.adapter}`);
  tell('status', 'No picture leaves this page.');
  picture.close();
  const link = byId('download', HTMLAnchorElement);
  const saved = await new Promise<Blob | null>((resolve) => byId('after', HTMLCanvasElement).toBlob(resolve));
  URL.revokeObjectURL(link.href);
  if (saved) link.href = URL.createObjectURL(saved);
  show('result');
  setState('done');
}

/** Draws the picture that was given last, one at a time. */
function again(): void {
  if (!given || busy) return;
  busy = true;
  showTrouble();
  controls.forEach((control) => (control.disabled = true));
  redraw(given)
    .catch(fail)
    .finally(() => {
      busy = false;
      show('bar', false);
      controls.forEach((control) => (control.disabled = false));
    });
}

function take(list: FileList | null | undefined): void {
  const [file] = list ?? [];
  if (!file || busy) return;
  given = file;
  again();
}

await offerGpus();
takeAddress('effect');
input('file').addEventListener('change', () => take(input('file').files));
acceptDrops(byId('drop', HTMLElement), (data) => take(data.files));
for (const control of [choice, device]) control.addEventListener('change', again);
input('share').addEventListener('input', () => byId('compare', HTMLElement).style.setProperty('--share', `${input('share').value}%`));
setState('ready');
