// The page: makes comparisons one after the other, each in a frame, and shows them. With a job.json beside it
// (lib/drive.mjs serves one) it does that job and tells the server; else whoever reads it chooses.
import {modelOf, models} from '../models/table.mjs';
import {partiesFor} from '../parties.mjs';
import {markdown} from '../lib/report.mjs';
import {describePage} from './machine.mjs';
import {at} from './places.mjs';
import {showRow} from './show.mjs';

// Parts of the table that are chosen as a whole.
const GROUPS = {training: 'steps of training', decoding: 'text, a token after another', kernels: 'kernels of networks', growth: 'sorting, scans and others, at growing sizes'};
const DEVICES = {webgpu: 'WebGPU', webgl: 'WebGL', wasm: 'WebAssembly'};
const settings = {rounds: 15, leastRounds: 3, warmup: 3, budgetMs: 15_000, openMs: 120_000, firstMs: 120_000, limitMs: 30_000, growthMs: 2000};
const $ = (id) => document.getElementById(id);
const rows = [];

async function available(folder) {
  try {
    return (await fetch(at(folder), {method: 'HEAD'})).ok;
  } catch {
    return false;
  }
}

/** To the server that gave the job. */
async function post(path, body = null) {
  const answer = await (await fetch(path, {method: 'POST', body: JSON.stringify(body)})).json();
  if (answer?.error) throw new Error(answer.error);
  return answer;
}

/** A frame with the arena, in place of the last one. */
function openArena() {
  const old = $('arena');
  const frame = document.createElement('iframe');
  Object.assign(frame, {id: 'arena', hidden: true, src: 'arena.html'});
  const ready = new Promise((resolve) => addEventListener('arena', () => resolve(frame), {once: true}));
  old.replaceWith(frame);
  return ready;
}

async function runOne(comparison, given, tell) {
  const frame = await openArena();
  const cpuTime = given.cpu ? async () => (await fetch('/cpu')).json() : undefined;
  const prepare = given.packages ? (wanted) => post('/prepare', wanted) : undefined;
  const row = await frame.contentWindow.compare(comparison, {...given, cpuTime, prepare, post: given.packages ? post : undefined}, tell);
  rows.push(row);
  $('results').append(showRow(row));
  return row;
}

async function doJob({settings: given}) {
  $('choice').hidden = true;
  const machine = await describePage();
  const tell = (step) => {
    $('status').textContent = step.text;
    void post('/progress', step);
  };
  for (;;) {
    const comparison = await post('/next');
    if (!comparison) break;
    await post('/row', await runOne(comparison, {...given, software: machine.software}, tell));
  }
  $('status').textContent = 'Done.';
  await post('/done', machine);
}

function chip(into, name, title, checked) {
  const label = document.createElement('label');
  const box = Object.assign(document.createElement('input'), {type: 'checkbox', name, checked});
  label.append(box, title);
  into.append(label);
  return box;
}

async function offer() {
  const phone = matchMedia('(pointer: coarse)').matches;
  const before = await available('before/runtime/runtime.js');
  const boxes = {};
  for (const [device, title] of Object.entries(DEVICES)) {
    boxes[device] = chip($('devices'), device, title, device === 'webgpu');
    if (device === 'webgpu') boxes[device].disabled = !navigator.gpu;
  }
  const groups = Object.fromEntries(Object.entries(GROUPS).map(([part, title]) => [part, chip($('more'), part, title, false)]));
  for (const model of models.filter(({here}) => !here)) {
    const {name, title, part, large} = model;
    boxes[name] = groups[part] ?? chip($(part), name, title, part === 'models' && !(phone && large));
  }
  $('choice').addEventListener('submit', async (event) => {
    event.preventDefault();
    $('start').disabled = true;
    const {software} = await describePage();
    for (const device of Object.keys(DEVICES).filter((each) => boxes[each].checked)) {
      for (const model of models.filter(({name}) => boxes[name]?.checked)) {
        const parties = partiesFor(model, device).filter(({name}) => before || name !== 'before');
        const comparison = {model: model.name, device, threads: 1, parties: parties.map(({name}) => name)};
        await runOne(comparison, {...settings, software}, ({text}) => {
          $('status').textContent = `${DEVICES[device]}, ${text}`;
        });
      }
    }
    $('status').textContent = 'Done.';
    $('start').disabled = false;
    const machine = await describePage();
    $('machine').textContent = machine.text;
    $('after').hidden = false;
  });
  $('copy').addEventListener('click', async () => {
    await navigator.clipboard.writeText(markdown({machine: await describePage(), rows, modelOf}));
    $('copy').textContent = 'Copied';
  });
}

let job;
try {
  const answer = await fetch('/job.json');
  job = answer.ok ? await answer.json() : undefined;
} catch {
  job = undefined; // a page that somebody opened
}
await (job ? doJob(job) : offer());
