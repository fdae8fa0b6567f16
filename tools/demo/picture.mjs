#!/usr/bin/env node
// Draws a digit on the demo's page by pen and keeps the picture for README.md.
//
//   node tools/demo/picture.mjs [--build FOLDER]      in the repository's root, after make demo
import {createRequire} from 'node:module';
import path from 'node:path';
import {serve} from './serve.mjs';

const {chromium} = createRequire(path.resolve('web/package.json'))('playwright-core');

// A three, as places on the paper from 0 to 1: two bows, sampled from arcs (centre, radii, angles).
function arc([x, y], [wide, high], from, to) {
  return Array.from({length: 25}, (_, at) => {
    const angle = ((from + ((to - from) * at) / 24) * Math.PI) / 180;
    return [x + wide * Math.cos(angle), y + high * Math.sin(angle)];
  });
}
const three = [...arc([0.47, 0.31], [0.2, 0.17], 205, 435), ...arc([0.48, 0.66], [0.24, 0.2], 290, 515)];

const at = process.argv.indexOf('--build');
const {server, address} = await serve(path.join(at < 0 ? 'build' : process.argv[at + 1], 'demo'));
const browser = await chromium.launch({
  executablePath: process.env.GOSSAMER_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--enable-unsafe-webgpu'],
  ignoreDefaultArgs: ['--disable-gpu', '--disable-software-rasterizer'],
});
try {
  const page = await browser.newPage({viewport: {width: 900, height: 700}, colorScheme: 'light'});
  await page.goto(`${address}digits/?device=webgpu`);
  await page.waitForFunction(() => document.documentElement.dataset.state === 'ready');
  const paper = await page.locator('#paper').boundingBox();
  const place = ([x, y]) => [paper.x + paper.width * x, paper.y + paper.height * y];
  await page.mouse.move(...place(three[0]));
  await page.mouse.down();
  for (const point of three) await page.mouse.move(...place(point));
  await page.mouse.up();
  await page.waitForFunction(() => document.querySelector('#digit').textContent === '3');
  await page.waitForTimeout(1000); // the bars move for a moment
  await page.screenshot({path: 'docs/pictures/digits.png', fullPage: true});
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
