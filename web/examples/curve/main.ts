/** A multilayer perceptron learns a function of one number, and is drawn while it does. */
import {manualSeed, nn, noGrad, optim, Tensor} from '../../tensor/src/index.ts';

import {LossChart} from '../page/loss_chart.ts';
import {button, byId, chosenDevice, fail, input, offerDevices, onPress, setState, show, showTrouble, takeAddress, tell, turn, valueOf} from '../page/page.ts';
import {plot} from '../page/plot.ts';
import {Drawing, GRID, type Points, sampled} from './functions.ts';

const POINTS = 96;
/** Steps between two looks at the network. */
const BETWEEN = 10;

const choice = byId('function', HTMLSelectElement);
const fit = plot(byId('fit', HTMLElement), {
  x: 'x',
  y: 'y',
  range: {x: [-1.05, 1.05], y: [-1.2, 1.2]},
  series: [
    {label: 'points', color: '#d97706', points: true},
    {label: 'network', color: '--accent', width: 3},
  ],
});

let points: Points = {x: [], y: []};
let drawing = new Drawing();
let stopped = false;

/** The points, and the curve where there is one. */
function draw(curve?: ArrayLike<number>): void {
  // Both on one axis: places of points are no places of the grid.
  const places = [...new Set([...points.x, ...GRID])].sort((a, b) => a - b);
  const on = (x: readonly number[], y: ArrayLike<number>): (number | undefined)[] => {
    const known = new Map(x.map((each, at) => [each, y[at]]));
    return places.map((place) => known.get(place));
  };
  fit.setData([places, on(points.x, points.y), on(GRID, curve ?? [])]);
}

function choose(): void {
  points = choice.value === 'drawn' ? drawing.points : sampled(choice.value, POINTS, valueOf('noise'), valueOf('seed'));
  draw();
  tell('now', `${points.x.length} points`);
}

const column = (values: readonly number[], device: ReturnType<typeof chosenDevice>): Tensor =>
  new Tensor(Float32Array.from(values), {shape: [values.length, 1], device});

async function learn(): Promise<void> {
  if (points.x.length < 2) throw new Error('There is nothing to learn yet: draw a curve on the upper chart.');
  const device = chosenDevice();
  const [hidden, steps] = [valueOf('hidden'), valueOf('steps')];
  if (!(hidden >= 1 && hidden <= 256)) throw new Error(`${hidden} hidden units: 1 to 256 are possible.`);
  setState('training');
  stopped = false;
  show('stop');
  manualSeed(valueOf('seed'));
  const net = new nn.Sequential(
    new nn.Linear(1, hidden), new nn.Tanh(),
    new nn.Linear(hidden, hidden), new nn.Tanh(),
    new nn.Linear(hidden, 1),
  );
  net.to(device);
  const optimizer = new optim.Adam(net.parameters(), {lr: valueOf('rate')});
  const chart = new LossChart(byId('chart', HTMLElement), 10);
  using x = column(points.x, device);
  using y = column(points.y, device);
  using grid = column(GRID, device);
  tell('now', 'compiling …');
  const start = performance.now();
  for (let step = 1; step <= steps && !stopped; ++step) {
    using loss = nn.functional.mseLoss(net.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    if (step % BETWEEN > 0 && step < steps) continue;
    // Read together, both are one program.
    using curve = noGrad(() => net.forward(grid));
    const [value, values] = await Promise.all([loss.item(), curve.data<Float32Array>()]);
    chart.add(step, value);
    draw(values);
    const rate = (1000 * step) / (performance.now() - start);
    tell('now', `step ${step} of ${steps}, mean squared error ${value.toFixed(5)}, ${rate.toFixed(0)} steps a second`);
    await turn();
  }
  chart.draw();
  net.dispose();
  setState('done');
}

/** A pen's way over the chart. */
function takeStrokes(over: HTMLElement): void {
  const add = ({offsetX, offsetY}: PointerEvent): void => {
    drawing.add(fit.posToVal(offsetX, 'x'), fit.posToVal(offsetY, 'y'));
    choose();
  };
  over.addEventListener('pointerdown', (event) => {
    if (button('start').disabled) return;
    if (choice.value !== 'drawn') {
      drawing = new Drawing();
      choice.value = 'drawn';
    }
    over.setPointerCapture(event.pointerId);
    add(event);
  });
  over.addEventListener('pointermove', (event) => {
    if (over.hasPointerCapture(event.pointerId)) add(event);
  });
}

offerDevices();
takeAddress('function', 'hidden', 'rate', 'noise', 'steps', 'seed');
takeStrokes(fit.over);
for (const control of [choice, input('noise'), input('seed')]) {
  control.addEventListener('change', () => {
    showTrouble();
    try {
      choose();
    } catch (problem) {
      fail(problem);
    }
  });
}
choose();
onPress('start', () => learn().finally(() => show('stop', false)));
button('stop').addEventListener('click', () => (stopped = true));
setState('ready');
