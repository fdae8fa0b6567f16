import assert from 'node:assert/strict';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {request} from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {test} from 'node:test';
import {deflateSync} from 'node:zlib';
import {median, tableText} from './command.mjs';
import {landingHtml} from './landing.mjs';
import {readGreyPng} from './png.mjs';
import {serve} from './serve.mjs';

async function inFolder(use) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'demo-'));
  try {
    await use(folder);
  } finally {
    rmSync(folder, {recursive: true});
  }
}

function chunk(type, body) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, Buffer.from(type), body, Buffer.alloc(4)]);
}

function png(width, height, depth, lines) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = depth;
  const parts = [chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.from(lines))), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.alloc(8), ...parts]);
}

test('grey pictures are read with each of the five filters', () =>
  inFolder((folder) => {
    const file = path.join(folder, 'a.png');
    const lines = [0, 10, 20, 30, 1, 1, 1, 1, 2, 1, 1, 1, 3, 1, 1, 1, 4, 1, 1, 255];
    writeFileSync(file, png(3, 5, 8, lines));
    const {width, height, values} = readGreyPng(file);
    assert.deepEqual([width, height], [3, 5]);
    assert.deepEqual([...values], [10, 20, 30, 1, 2, 3, 2, 3, 4, 2, 3, 4, 3, 4, 3]);
    writeFileSync(file, png(3, 1, 16, [0]));
    assert.throws(() => readGreyPng(file), /not a plain PNG/);
  }));

test('the median of an even number of values lies between the middle two', () => {
  assert.equal(median([4, 1, 9]), 4);
  assert.equal(median([4, 1, 9, 5]), 4.5);
});

test('columns of numbers are right-aligned', () => {
  const text = tableText([['what', 'ms'], ['a', '10.5'], ['bcdef', '–']]);
  assert.equal(text, 'what      ms\n-----   ----\na       10.5\nbcdef      –');
});

test('the landing page explains how to start a server when it is opened as a file', () => {
  assert.match(landingHtml([], []), /<script>.*"file:".*python3 -m http\.server/s);
});

test('names are text in the page, not markup', () => {
  const html = landingHtml([{href: 'a/', title: '<b>', about: '&'}], [{title: 't', rows: [['"'], ['<i>']], note: ''}]);
  assert.match(html, /&lt;b&gt;/);
  assert.doesNotMatch(html, /<i>|<b>/);
});

function get(address, target) {
  const {port} = new URL(address);
  return new Promise((resolve, reject) => {
    request({port, host: '127.0.0.1', path: target}, (response) => {
      let text = '';
      response.on('data', (data) => (text += data));
      response.on('end', () => resolve({status: response.statusCode, headers: response.headers, text}));
    })
      .on('error', reject)
      .end();
  });
}

test('the server gives what is in the folder, isolated, and nothing else', () =>
  inFolder(async (folder) => {
    mkdirSync(path.join(folder, 'site/digits'), {recursive: true});
    writeFileSync(path.join(folder, 'secret.txt'), 'secret');
    writeFileSync(path.join(folder, 'site/digits/index.html'), 'page');
    const {server, address} = await serve(path.join(folder, 'site'));
    try {
      const page = await get(address, '/digits/?device=wasm');
      assert.equal(page.text, 'page');
      assert.equal(page.headers['cross-origin-opener-policy'], 'same-origin');
      assert.equal(page.headers['cross-origin-embedder-policy'], 'require-corp');
      const moved = await get(address, '/digits?device=wasm');
      assert.deepEqual([moved.status, moved.headers.location], [302, 'digits/?device=wasm']);
      for (const target of ['/', '/../secret.txt', '/%2e%2e/secret.txt', '/%00', '/%', '//']) {
        assert.equal((await get(address, target)).status, 404, target);
      }
    } finally {
      server.close();
    }
  }));
