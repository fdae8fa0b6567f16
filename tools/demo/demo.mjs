#!/usr/bin/env node
// Compiles the digit classifier for every target, runs it on this machine and in headless Chromium,
// prints what came out and leaves pages to open. Exit code 1 if a target fails or answers wrongly.
//
//   node tools/demo/demo.mjs [--build FOLDER]      in the repository's root, after make build
import {cpSync, existsSync, mkdirSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {startBrowser} from './browser.mjs';
import {tableText} from './command.mjs';
import {
  buildDigitsPage,
  clickSamples,
  compileDigits,
  runInChromium,
  runOnCpu,
  runs,
  webTargets,
} from './digits.mjs';
import {landingHtml} from './landing.mjs';
import {serve} from './serve.mjs';

const say = (text) => process.stdout.write(`${text}\n`);
const failures = [];

function digitRows(results) {
  const rows = results.map(({target, right, of, ms, bytes, where}) => [
    target,
    `${right} of ${of}`,
    ms === undefined ? '–' : ms.toFixed(ms < 10 ? 2 : 1),
    (bytes / 1000).toFixed(1),
    where,
  ]);
  return [['target', 'answers right', 'median ms', 'package KB', 'ran on'], ...rows];
}

async function showDigits(gossamer, out) {
  say('demo: compiling examples/digits/model.onnx for cpu, wasm, webgl and webgpu');
  const {cpu, web} = await compileDigits(gossamer, out);
  await buildDigitsPage(out);
  say('demo: reading the ten drawn digits on the cpu and in headless Chromium');
  const onCpu = await runOnCpu(gossamer, cpu);
  const {browser, rows} = await runInChromium(web, out);
  const results = [onCpu, ...rows];
  for (const {target, right, of, problem} of results) {
    if (problem) failures.push(`${target}: ${problem.split('\n')[0]}`);
    else if (right < of) failures.push(`${target}: ${of - right} of ${of} digits read wrongly`);
  }
  const notes = [
    `Times are the median over the digits of each one's fastest of ${runs} runs, in ${browser}.`,
    'Packages are kernels, manifest and weights, without the run time; 1 KB is 1000 bytes.',
  ];
  const section = {title: 'Ten drawn digits', rows: digitRows(results), note: notes.join(' ')};
  say(`\n${tableText(section.rows)}\n\n${notes.join('\n')}\n`);
  return section;
}

async function tryPage(browser, address) {
  const page = await browser.newPage();
  for (const device of webTargets) {
    try {
      const right = await clickSamples(page, address, device);
      say(`demo: the page reads ${right} of its 10 samples right on ${device}`);
      if (right < 10) failures.push(`the digit page on ${device}: ${10 - right} samples read wrongly`);
    } catch (problem) {
      failures.push(`the digit page on ${device}: ${problem.message.split('\n')[0]}`);
    }
  }
  await page.close();
}

/** The pages with the compiler in them, where they are built. */
function addExamples(out, links) {
  const built = 'web/examples/dist';
  if (!existsSync(path.join(built, 'index.html'))) return;
  cpSync(built, path.join(out, 'examples'), {recursive: true, dereference: true});
  links.push(
    {href: 'examples/compile.html', title: 'Compile a model here', about: 'Drop an .onnx file: the compiler itself runs in the page.'},
    {href: 'examples/tune.html', title: 'Tune a model', about: 'Kernels are tried out on your own device; bars shrink as it learns.'},
    {href: 'examples/', title: 'Learn and run', about: 'A network bends to a curve that you draw, reads digits, learns what you show it; and more.'},
  );
}

async function main(words) {
  const at = words.indexOf('--build');
  const build = at < 0 ? 'build' : words[at + 1];
  const gossamer = path.resolve(build ?? '', 'gossamer');
  if (!existsSync(gossamer)) throw new Error(`${path.dirname(gossamer)} holds no gossamer: run make native`);
  const out = path.join(build, 'demo');
  rmSync(out, {recursive: true, force: true});
  mkdirSync(out, {recursive: true});
  const links = [
    {href: 'digits/', title: 'Draw a digit', about: 'A small network reads it as you draw.'},
  ];
  const sections = [await showDigits(gossamer, out)];
  const {server, address} = await serve(out);
  const browser = await startBrowser();
  try {
    await tryPage(browser, address);
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
  addExamples(out, links);
  rmSync(path.join(out, 'cases'), {recursive: true});
  writeFileSync(path.join(out, 'index.html'), landingHtml(links, sections));
  for (const failure of failures) say(`demo: FAILED: ${failure}`);
  const folder = build === 'build' ? '' : ` ${out}`;
  say(`demo: the pages are in ${out}. To open them:`);
  say(`\n    node tools/demo/serve.mjs${folder}      # then http://localhost:8080/\n`);
  return failures.length > 0 ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (problem) {
  process.stderr.write(`demo: ${problem.message}\n`);
  process.exitCode = 1;
}
