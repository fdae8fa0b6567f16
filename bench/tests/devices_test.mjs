// One model on several devices as a table and as bars.
import assert from 'node:assert/strict';
import test from 'node:test';
import {bars, devicesMarkdown} from '../lib/devices_report.mjs';

const result = {
  machine: {kind: 'test', date: 'today', text: 'a machine'},
  title: 'ResNet-18',
  rows: [
    {name: 'cpu', title: 'CPU', adapter: 'cpu, 2 threads', median: 40, low: 38, high: 44, ratio: 1, error: 0},
    {name: 'opengl', title: 'OpenGL', adapter: 'llvmpipe', median: 100, low: 90, high: 120, ratio: 0.4, error: 0.0123},
    {name: 'opencl', title: 'OpenCL', problem: 'no driver | <none>'},
  ],
};

test('each device has a row, also one that is not there', () => {
  const lines = devicesMarkdown(result).split('\n').filter((line) => /^\| (CPU|Open)/.test(line));
  assert.equal(lines.length, 3);
  assert.equal(lines[1], '| OpenGL | llvmpipe | 100 | 90.0 to 120 | 0.40 | 0.012 |  |');
  assert.match(lines[2], /not measured: no driver \\\| <none> \|$/);
});

test('bars are as long as runs, and what was not measured has none', () => {
  const svg = bars(result);
  const widths = [...svg.matchAll(/<rect x="[^"]*" y="[^"]*" width="([\d.]+)"/g)].map(([, width]) => Number(width));
  assert.equal(widths.length, 2);
  assert.ok(Math.abs(widths[0] / widths[1] - 0.4) < 0.01);
  assert.match(svg, /100 ms, 0\.40×/);
  assert.match(svg, /no driver \| &lt;none>/);
  assert.ok(!/NaN|undefined/.test(svg));
});

test('without any time there is still a picture', () => {
  assert.ok(!/NaN|undefined|Infinity/.test(bars({...result, rows: [result.rows[2]]})));
});
