/** The loss on a logarithmic scale, and its mean over the latest values. */
import type Plot from 'uplot';

import {plot} from './plot.ts';

export class LossChart {
  readonly #plot: Plot;
  readonly #over: number;
  readonly #steps: number[] = [];
  readonly #losses: number[] = [];
  readonly #means: number[] = [];
  #drawn = 0;

  /** The mean is that of `over` values. */
  constructor(place: HTMLElement, over = 100) {
    this.#over = over;
    this.#plot = plot(place, {
      x: 'step',
      y: 'loss',
      logarithmic: true,
      series: [
        {label: 'loss', color: '#9aa8bd', width: 1},
        {label: `mean of ${over}`, color: '--accent'},
      ],
    });
  }

  /** Draws at most ten times a second. */
  add(step: number, loss: number): void {
    this.#steps.push(step);
    this.#losses.push(loss);
    const last = this.#losses.slice(-this.#over);
    this.#means.push(last.reduce((sum, each) => sum + each, 0) / last.length);
    if (performance.now() - this.#drawn > 100) this.draw();
  }

  draw(): void {
    this.#plot.setData([this.#steps, this.#losses, this.#means]);
    this.#drawn = performance.now();
  }
}
