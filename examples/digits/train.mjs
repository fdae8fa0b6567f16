#!/usr/bin/env node
// Trains the digit classifier in the page of web/examples/train, in headless Chromium, and keeps the model that the page gives away.
//
//   node examples/digits/train.mjs --data FOLDER [--seed N] [--epochs N] [--out FILE]      in the root, after make web
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {startBrowser, waitLong} from '../../tools/demo/browser.mjs';
import {folderHandler, serve} from '../../tools/demo/serve.mjs';

const here = import.meta.dirname;
const {values} = parseArgs({
  options: {
    // The folder of MNIST's four idx files, train10k-* and t10k-*.
    data: {type: 'string', default: '.'},
    seed: {type: 'string', default: '1'},
    epochs: {type: 'string', default: '8'},
    out: {type: 'string', default: path.join(here, 'model.onnx')},
  },
});
const {data, seed, epochs, out} = values;
if (!existsSync(path.join(data, 'train10k-images-idx3-ubyte.gz'))) {
  process.stderr.write(`train: ${data} has no train10k-images-idx3-ubyte.gz: name the folder of MNIST's files with --data\n`);
  process.exit(1);
}

const pages = mkdtempSync(path.join(os.tmpdir(), 'digits-'));
const browser = await startBrowser();
let server;
try {
  execFileSync(process.execPath, [path.join(here, '../../web/examples/build.mjs'), pages, 'train'], {stdio: 'inherit'});
  const served = await serve(pages, 0, {'/mnist/': folderHandler(data)});
  server = served.server;
  const page = await browser.newPage();
  const state = 'document.documentElement.dataset.state';
  const reached = async (name) => {
    await waitLong(page, `['${name}', 'failed'].includes(${state})`, 1800);
    const trouble = await page.evaluate("document.querySelector('#trouble').innerText");
    if ((await page.evaluate(state)) === 'failed') throw new Error(trouble);
  };
  await page.goto(`${served.address}train.html?data=mnist&train=train10k&seed=${seed}&epochs=${epochs}`);
  await reached('ready');
  await page.evaluate("document.querySelector('#start').click()");
  await reached('done');
  console.log(await page.evaluate("document.querySelector('#accuracy').innerText"));
  const {bytes} = await page.save('#download');
  writeFileSync(out, bytes);
  console.log(`${out}: ${bytes.length} bytes`);
} finally {
  await browser.close();
  server?.closeAllConnections();
  server?.close();
  rmSync(pages, {recursive: true});
}
