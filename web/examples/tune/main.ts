/** A model's kernels are tuned on the user's device; each is a bar that shrinks as it is learnt. */
import {compile} from '../../compiler/src/index.ts';
import {load, type Model, type Tuned, type TuneProgress} from '../../runtime/src/index.ts';
import {givenFiles} from '../page/given.ts';
import {button, byId, chosenDevice, fail, input, make, offerGpus, onPress, setState, show, showTrouble, TARGETS, takeAddress, tell, valueOf} from '../page/page.ts';

/** Bars of kernels that are drawn; the others take next to nothing. */
const MOST = 16;

let onnx: Blob | undefined;
let model: Model | undefined;
let stop = new AbortController();

const ms = (value: number): string => (value < 1 ? `${(1000 * value).toFixed(0)} µs` : `${value.toFixed(2)} ms`);
const times = (gain: number): string => `${gain.toFixed(2)} times as fast`;

function draw(kernels: TuneProgress['kernels']): void {
  const longest = Math.max(...kernels.map(({msBefore}) => msBefore));
  const bar = (kind: string, value: number): HTMLElement => {
    const made = make('span', {className: kind});
    made.style.width = `${(100 * value) / longest}%`;
    return made;
  };
  byId('kernels', HTMLElement).replaceChildren(
    ...kernels.slice(0, MOST).map(({name, origin, msBefore, ms: now}) =>
      make('li', {},
        make('span', {className: 'name', title: `${name}: ${origin}`}, `${name} `, make('small', {}, origin)),
        make('span', {className: 'track'}, bar('before', msBefore), bar('after', now)),
        make('span', {className: 'time'}, `${ms(msBefore)} → ${ms(now)}`)),
    ),
  );
}

/** Which stages lie otherwise in memory than the compiler's rule says. */
function list({layouts, layoutsGivenUp, layoutTrials}: Pick<Tuned, 'layouts' | 'layoutsGivenUp' | 'layoutTrials'>): void {
  const left = layoutsGivenUp ? ', left out: whole runs were slower' : '';
  tell('layouts-now', `${layoutTrials} layouts measured, ${layouts.length} changed${left}`);
  byId('layouts', HTMLElement).replaceChildren(
    ...layouts.map(({name, origin, before, after}) =>
      make('li', {},
        make('span', {className: 'name', title: `${name}: ${origin}`}, `${name} `, make('small', {}, origin)),
        make('span', {}, `${before} → ${after}`))),
  );
}

/** Compiled by what an earlier visit has found, where there is something. */
async function open(): Promise<void> {
  if (!onnx) return;
  setState('opening');
  tell('now', 'compiling …');
  model?.dispose();
  const target = TARGETS[chosenDevice()];
  model = await load(await compile(onnx, {target, tunable: true}), {device: target, strict: true});
  const {adapter} = model.report();
  tell('status', `${model.describe().inputs.join(', ')} on ${target}, ${adapter}`);
  byId('kernels', HTMLElement).replaceChildren();
  byId('layouts', HTMLElement).replaceChildren();
  tell('layouts-now', '');
  tell('now', `compiled and loaded in ${ms(model.report().times.loadMs)}`);
  button('start').disabled = false;
  setState('ready');
}

async function tune(): Promise<void> {
  if (!model) return;
  setState('tuning');
  stop = new AbortController();
  show('stop');
  tell('now', 'measuring the model as it is …');
  try {
    const seconds = valueOf('seconds');
    const found = await model.tune({
      seconds,
      layoutShare: valueOf('layout-share') / 100,
      signal: stop.signal,
      onProgress({trials, gain, kernels, layouts, layoutGain, seconds: passed}) {
        draw(kernels);
        tell('now', `${passed.toFixed(0)} of ${seconds} s, ${trials} points measured, kernels ${times(gain)}`);
        tell('layouts-now', `${layouts} layouts measured, whole runs ${times(layoutGain)}`);
      },
    });
    draw(found.kernels.map(({msAfter, ...rest}) => ({...rest, ms: msAfter})));
    list(found);
    const sum = (key: 'msBefore' | 'msAfter'): number => found.kernels.reduce((all, each) => all + each[key], 0);
    const gain = sum('msBefore') / sum('msAfter');
    tell('now', `kernels ${times(gain)}; a run took ${ms(found.runMsBefore)}, now ${ms(found.runMsAfter)}; ${found.trials} points measured`);
    const records = byId('records', HTMLAnchorElement);
    URL.revokeObjectURL(records.href);
    records.href = URL.createObjectURL(new Blob([found.records], {type: 'application/x-ndjson'}));
    show('records');
    model.dispose();
    model = await load(found.files, {device: TARGETS[chosenDevice()]});
    setState('done');
  } finally {
    show('stop', false);
  }
}

await offerGpus();
takeAddress('seconds');
takeAddress('layout-share');
button('stop').addEventListener('click', () => stop.abort());
onPress('start', tune);
const opened = (): void => {
  showTrouble();
  open().catch(fail);
};
byId('device', HTMLSelectElement).addEventListener('change', opened);
input('file').addEventListener('change', () => {
  const [file] = input('file').files ?? [];
  if (!file) return;
  onnx = file;
  opened();
});
void givenFiles({model: 'models/ultraface_rfb320/model.onnx'}, {model: 'digits.onnx'}).then(({model: file}) => {
  onnx = file;
  opened();
});
