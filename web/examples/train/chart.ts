/** The loss, step by step, on a logarithmic scale; and its mean over a hundred steps. */
import Plot from 'uplot';

const OVER = 100;

export class LossChart {
  readonly #plot: Plot;
  readonly #steps: number[] = [];
  readonly #losses: number[] = [];
  readonly #means: number[] = [];
  #drawn = 0;

  constructor(place: HTMLElement) {
    place.replaceChildren();
    const size = {width: place.clientWidth || 640, height: 320};
    this.#plot = new Plot(
      {
        ...size,
        scales: {x: {time: false}, y: {distr: 3}},
        axes: [{label: 'step'}, {label: 'loss'}],
        series: [
          {label: 'step'},
          {label: 'loss', stroke: '#b8c4d6', width: 1, points: {show: false}},
          {label: `mean of ${OVER}`, stroke: '#1f6feb', width: 2, points: {show: false}},
        ],
      },
      [[], [], []],
      place,
    );
  }

  /** Draws at most ten times a second. */
  add(step: number, loss: number): void {
    this.#steps.push(step);
    this.#losses.push(loss);
    const last = this.#losses.slice(-OVER);
    this.#means.push(last.reduce((sum, each) => sum + each, 0) / last.length);
    if (performance.now() - this.#drawn > 100) this.draw();
  }

  draw(): void {
    this.#plot.setData([this.#steps, this.#losses, this.#means]);
    this.#drawn = performance.now();
  }
}
