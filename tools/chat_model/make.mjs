// Trains the small chat model, writes it as a folder, and asks it the held-out questions:
//
//   node tools/chat_model/make.mjs [FOLDER] [--steps N] [--seed N] [--threads N]     default: build/chat-model
//
// Does nothing where the folder has a model that the same scripts and arguments made. Needs the packages: node web/build.mjs tensor llm.
import {createHash} from 'node:crypto';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {evaluate} from './evaluate.mjs';
import {writeFolder} from './folder.mjs';
import {train} from './train.mjs';

const here = import.meta.dirname;
const words = process.argv.slice(2);

function take(option, otherwise) {
  const at = words.indexOf(option);
  const given = at < 0 ? otherwise : Number(words.splice(at, 2)[1]);
  if (Number.isInteger(given) && given > 0) return given;
  throw new Error(`${option}: a positive integer is expected`);
}

/** Of the scripts and the arguments. */
function keyOf(settings) {
  const hash = createHash('sha256').update(JSON.stringify(settings));
  for (const name of readdirSync(here).sort()) hash.update(readFileSync(path.join(here, name)));
  return hash.digest('hex').slice(0, 16);
}

const settings = {steps: take('--steps', 2200), seed: take('--seed', 1)};
const threads = take('--threads', 2);
const folder = path.resolve(words[0] ?? path.join(here, '../../build/chat-model'));
const key = keyOf(settings);
const record = path.join(folder, 'training.json');
if (existsSync(record) && JSON.parse(readFileSync(record, 'utf8')).key === key) {
  console.log(`${folder} is up to date`);
} else {
  let shown = 0;
  const begin = performance.now();
  const secondsSoFar = () => (performance.now() - begin) / 1000;
  const told = ({step, loss}) => {
    const seconds = secondsSoFar();
    if (seconds - shown < 10 && step > 0) return;
    shown = seconds;
    console.log(`${step + 1} of ${settings.steps} steps in ${seconds.toFixed(0)} s, loss ${loss.toFixed(3)}`);
  };
  const trained = await train({...settings, threads, told});
  const weights = [...trained.weights.values()].reduce((sum, {data}) => sum + data.length, 0);
  const {user, system} = process.cpuUsage();
  const made = {...settings, weights, seconds: Math.round(secondsSoFar()), cpuSeconds: Math.round((user + system) / 1e6)};
  writeFolder(folder, trained, made);
  console.log(`${folder}: ${weights} weights, trained in ${made.seconds} s (${made.cpuSeconds} s of CPU time)`);
  const {questions, right, wrong} = await evaluate(folder);
  writeFolder(folder, trained, {...made, heldOut: {questions, right}, key});
  for (const {question, answer, said} of wrong.slice(0, 5)) console.log(`wrong: ${question}\n  ${said}\n  not: ${answer}`);
  console.log(`${right} of ${questions} held-out questions are answered right`);
}
// Threads of the tensors' device do not end by themselves.
process.exit(0);
