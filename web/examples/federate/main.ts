/** One of several pages that learn together: some epochs on digits of its own, then the average of all, again and again. */
import {givenFiles} from '../page/given.ts';
import {asked, button, byId, chosenDevice, fail, offerDevices, onPress, setState, show, showTrouble, takeAddress, tell, turn, valueOf} from '../page/page.ts';
import {plot} from '../page/plot.ts';
import {type Digits, digitsOf, firstOf, readIdx} from '../train/idx.ts';
import {accuracy, seeded, train} from '../train/training.ts';
import {Federation, Refused} from './client.ts';
import type {State} from './server.ts';

/** Milliseconds between two questions to the server. */
const EVERY = 400;
/** Test digits that are read after each round; all of them at the end. */
const GLANCE = 1000;

let all: Digits;
let tested: Digits;
let stopped = false;

/** The part of the digits that this page has for itself. */
function ownDigits(): Digits {
  const [part, parts] = [valueOf('part'), valueOf('parts')];
  if (!(part >= 1 && part <= parts)) throw new Error(`There is no part ${part} of ${parts}.`);
  const each = Math.floor(all.count / parts);
  return firstOf(all, Math.min(each, valueOf('most')), (part - 1) * each);
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, EVERY));

function tellOthers({present, counted, refusals}: State): void {
  const last = counted.at(-1);
  const updates = last === undefined ? '' : ` The last round had ${last} updates.`;
  tell('others', `${present} pages take part.${updates}${refusals > 0 ? ` ${refusals} updates were refused.` : ''}`);
}

async function takePart(): Promise<void> {
  const digits = ownDigits();
  const device = chosenDevice();
  const epochs = valueOf('epochs');
  const server = new Federation(asked.get('server') ?? 'federation');
  await server.join();
  stopped = false;
  show('course');
  show('stop');
  setState('training');
  const chart = plot(byId('chart', HTMLElement), {x: 'rounds', y: 'share of test digits read right', series: [{label: 'right', color: '--accent'}]});
  const course: [number[], number[]] = [[], []];
  // Learning takes a while, and the server waits for pages that it hears of.
  const alive = setInterval(() => void server.state().then(tellOthers, () => undefined), 1000);
  const net = seeded(0, device);
  const look = async (round: number): Promise<void> => {
    course[0].push(round);
    course[1].push(await accuracy(net, firstOf(tested, GLANCE), device));
    chart.setData(course);
  };
  try {
    for (let learnt = 0; !stopped; ) {
      const now = await server.state();
      tellOthers(now);
      if (now.over) {
        await net.load(await server.weights(now.round));
        await look(now.round - 1);
        break;
      }
      if (now.round === learnt) {
        tell('now', `round ${now.round} of ${now.rounds}: waiting for the others`);
        await pause();
        continue;
      }
      learnt = now.round;
      try {
        await net.load(await server.weights(now.round));
        await look(now.round - 1);
        for await (const {step, steps, loss} of train(net, digits, {epochs, seed: 1000 * now.round + valueOf('part'), device})) {
          byId('bar', HTMLProgressElement).value = (step + 1) / steps;
          tell('now', `round ${now.round} of ${now.rounds}: ${digits.count} digits, loss ${loss.toFixed(3)}`);
          if (stopped) return;
          await turn();
        }
        await server.update(now.round, digits.count, await net.save());
      } catch (problem) {
        // 409: the others did not wait; the next round is as good.
        if (!(problem instanceof Refused)) throw problem;
        if (problem.status !== 409) showTrouble(problem);
        if (problem.status === 403) throw problem;
      }
    }
    if (stopped) return;
    const right = await accuracy(net, tested, device);
    tell('accuracy', `${(100 * right).toFixed(2)} % of ${tested.count} test digits right`);
    tell('now', 'The rounds are over.');
    setState('done');
  } finally {
    clearInterval(alive);
    net.dispose();
    if (stopped) setState('ready');
  }
}

async function start(): Promise<void> {
  offerDevices();
  takeAddress('part', 'parts', 'most', 'epochs');
  const folder = 'data/mnist'; // of what is served
  const files = await givenFiles({
    images: `${folder}/train10k-images-idx3-ubyte.gz`,
    labels: `${folder}/train10k-labels-idx1-ubyte.gz`,
    testImages: `${folder}/t10k-images-idx3-ubyte.gz`,
    testLabels: `${folder}/t10k-labels-idx1-ubyte.gz`,
  });
  const pair = async (images: Blob, labels: Blob): Promise<Digits> => digitsOf(await readIdx(images, 'the pictures'), await readIdx(labels, 'the labels'));
  all = await pair(files.images, files.labels);
  tested = await pair(files.testImages, files.testLabels);
  tell('found', `${all.count} digits in all, ${tested.count} to be tested on`);
  button('start').disabled = false;
  setState('ready');
}

onPress('start', () => takePart().finally(() => show('stop', false)));
button('stop').addEventListener('click', () => (stopped = true));
start().catch(fail);
