/** The part of a page that has a model: its inputs, the buttons that run it, what came out and where it ran. */
import type {Model, Output} from '../src/index.ts';
import {messageOf} from '../src/values/types.ts';
import {byId, make} from './dom.ts';
import {FieldProblem} from './field.ts';
import {type InputForm, makeForms, readForms} from './inputs.ts';
import {labelsOf} from './labels.ts';
import {showOutputs} from './outputs.ts';
import {showReport} from './report.ts';

type Results = Record<string, Output | readonly Output[] | undefined>;

/** <html data-state>: what the page does, for styles and tests. */
export function setState(state: string): void {
  document.documentElement.dataset['state'] = state;
}

/** What went wrong with the page as a whole; nothing takes it back. */
export function showTrouble(problem?: unknown): void {
  const trouble = byId('trouble', HTMLElement);
  trouble.textContent = problem === undefined ? '' : messageOf(problem);
  trouble.hidden = problem === undefined;
}

export class RunPanel {
  readonly #run = byId('run', HTMLButtonElement);
  readonly #bench = byId('bench', HTMLButtonElement);
  readonly #outputs = byId('outputs', HTMLElement);
  readonly #time = byId('time', HTMLElement);
  #model: Model | undefined;
  #forms: readonly InputForm[] = [];
  #signature = '';
  #labels: readonly string[] = [];
  #results: Results | undefined;

  constructor() {
    this.#run.addEventListener('click', () => void this.run(0));
    this.#bench.addEventListener('click', () => void this.run(10));
    byId('inputs', HTMLElement).addEventListener('ready', () => void this.run(0));
    const picker = byId('labels', HTMLInputElement);
    picker.addEventListener('change', () => {
      void picker.files?.[0]?.text().then((text) => this.setLabels(labelsOf(text)));
    });
  }

  /** Names the classes of scores, also of those that are shown. */
  setLabels(labels: readonly string[]): void {
    this.#labels = labels;
    if (this.#results) void this.#showOutputs(this.#results);
  }

  async #showOutputs(results: Results): Promise<void> {
    await showOutputs(this.#outputs, results, this.#labels);
    byId('labels-row', HTMLElement).hidden = !this.#outputs.querySelector('.bars');
  }

  /** Shows another model, or none; the old one is disposed. A form for the same inputs keeps what it holds. */
  show(model: Model | undefined): void {
    this.#model?.dispose();
    this.#model = model;
    if (!model) return;
    const signature = JSON.stringify([model.inputs, model.groups]);
    if (signature !== this.#signature) this.#forms = makeForms(model, byId('inputs', HTMLElement));
    this.#signature = signature;
    this.#results = undefined;
    this.#outputs.replaceChildren(make('p', {className: 'hint'}, 'Nothing yet.'));
    this.#time.textContent = '';
    byId('report', HTMLElement).replaceChildren(showReport(model.report()));
  }

  /** Runs once, and `times` times more to measure. */
  async run(times: number): Promise<void> {
    const model = this.#model;
    if (!model) return;
    showTrouble();
    this.#run.disabled = this.#bench.disabled = true;
    try {
      const feeds = readForms(this.#forms);
      const taken: number[] = [];
      let results = await model.run<Output | readonly Output[] | undefined>(feeds);
      for (let turn = 0; turn < times; ++turn) {
        const begin = performance.now();
        results = await model.run<Output | readonly Output[] | undefined>(feeds);
        taken.push(performance.now() - begin);
      }
      this.#results = results;
      await this.#showOutputs(results);
      const report = model.report();
      this.#time.textContent = timeText(taken, report.times.runMs ?? 0, where(report));
      byId('report', HTMLElement).replaceChildren(showReport(report));
      setState('done');
    } catch (problem) {
      if (!(problem instanceof FieldProblem)) showTrouble(problem);
      setState('refused');
    }
    this.#run.disabled = this.#bench.disabled = false;
  }
}

const where = ({device, threads}: ReturnType<Model['report']>): string =>
  device === 'wasm' ? `${device}, ${threads} thread${threads > 1 ? 's' : ''}` : device;

function timeText(taken: number[], once: number, place: string): string {
  if (taken.length === 0) return `${once.toFixed(1)} ms on ${place}`;
  taken.sort((a, b) => a - b);
  const [fastest = 0] = taken;
  const median = taken[taken.length >> 1] ?? 0;
  return `${median.toFixed(2)} ms on ${place} (median of ${taken.length}, fastest ${fastest.toFixed(2)})`;
}
