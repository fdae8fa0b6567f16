// One image, two readers: what the page feeds a model and what `gossamer run` feeds it must be the same numbers
// (docs/specs/preprocessing.md). The model hands its input through, so the saved output is what it was fed.
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {node, value} from '../cli/models.mjs';
import {oriented, png} from './pictures.mjs';
import {testdata} from '../shared.mjs';

const root = path.resolve(import.meta.dirname, '../..');

const identity = (name, type, shape) => ({
  name,
  graph: {nodes: [node('Identity', ['x'], ['y'])], inputs: [value('x', type, shape)], outputs: [value('y', type, shape)]},
});

const models = [
  identity('rgb', 'f32', [1, 3, 64, 96]),
  identity('grey', 'f32', [1, 1, 28, 28]),
  identity('bytes', 'u8', [1, 31, 48, 3]),
  identity('alpha', 'f16', [1, 4, 16, 40]),
];
const open = identity('open', 'f32', ['n', 3, 'h', 'w']);

// Something with slopes, edges and every byte in it.
const wave = (limit) => (x, y, c) =>
  Math.floor(limit * (0.5 + 0.5 * Math.sin((x * (3 + c)) / 7 + y / (2 + c)))) ^ ((x >> 3) + (y >> 2) + c) % 7;
const byte = wave(248);

const alphaWave = (x, y, c) => (c === 3 || c === undefined ? (x * 37 + y * 11) & 255 : byte(x, y, c));
const palette = Array.from({length: 64}, (_, at) => [at * 4, 255 - at * 3, (at * 29) & 255]);
const pictures = [
  ['one pixel', png(1, 1, {}, byte)],
  ['as the model', png(96, 64, {}, byte)],
  ['small', png(7, 5, {}, byte)],
  ['tall', png(33, 301, {}, byte)],
  ['very wide', png(2000, 3, {}, byte)],
  ['a column', png(1, 700, {}, byte)],
  ['photograph size', png(640, 479, {}, byte)],
  ['grey', png(120, 90, {colour: 0}, byte)],
  ['grey with alpha', png(50, 61, {colour: 4}, (x, y, c) => (c === 1 ? alphaWave(x, y) : byte(x, y, c)))],
  ['alpha', png(97, 65, {colour: 6}, alphaWave)],
  ['a palette with alpha', png(60, 40, {colour: 3, palette, alphas: palette.map((_, at) => at * 4)}, (x, y) => (x + y) % 64)],
  ['16 bits', png(77, 52, {bits: 16}, wave(65528))],
  ['16 bits with alpha', png(40, 40, {bits: 16, colour: 6}, (x, y, c) => (alphaWave(x, y, c) * 257) & 65535)],
  ['gamma', png(40, 30, {gamma: 30000}, byte)],
  ['on its side', png(61, 43, {orientation: 6}, byte)],
];

// Decoders round JPEG's transforms differently: what is left between two of them, in steps of 255.
const jpegMost = 2;
const jpegMean = 0.2;

const control = 'input[accept="image/*"]';
const values = (file) => {
  const header = file.readUInt16LE(8);
  return {header: file.subarray(10, 10 + header).toString('latin1').trim(), data: file.subarray(10 + header)};
};

function differs(page, command) {
  const [ours, theirs] = [values(page), values(command)];
  if (ours.header !== theirs.header) return `${ours.header} in the page, ${theirs.header} on the command line`;
  let wrong = 0;
  for (let at = 0; at < theirs.data.length; ++at) wrong += ours.data[at] === theirs.data[at] ? 0 : 1;
  return wrong > 0 ? `${wrong} of ${theirs.data.length} bytes differ` : '';
}

/** Steps of 255 between two tensors of f32 on the scale 0..1. */
function steps(page, command) {
  const [ours, theirs] = [values(page), values(command)];
  if (ours.header !== theirs.header) return {most: Infinity, mean: Infinity};
  let [most, sum] = [0, 0];
  for (let at = 0; at < theirs.data.length; at += 4) {
    const difference = 255 * Math.abs(ours.data.readFloatLE(at) - theirs.data.readFloatLE(at));
    most = Math.max(most, difference);
    sum += difference;
  }
  return {most, mean: (4 * sum) / theirs.data.length};
}

/** The page's own way: choose the file, let it run, save the output. */
async function fedInPage(page, file) {
  await page.evaluate("document.documentElement.dataset.state = 'ready'");
  await page.choose(control, [file]);
  await page.waitFor("['done', 'refused'].includes(document.documentElement.dataset.state)");
  const problem = await page.evaluate("document.querySelector('.problem:not([hidden])')?.textContent");
  if (problem) throw new Error(problem);
  return Buffer.from((await page.save('#outputs button')).bytes);
}

/** A JPEG of the page's own encoder, of large soft blocks and a corner that shows which way is up. */
const jpegOf = (page, width, height) =>
  page.evaluate(`(async () => {
    const canvas = Object.assign(document.createElement('canvas'), {width: ${width}, height: ${height}});
    const context = canvas.getContext('2d');
    const gradient = context.createLinearGradient(0, 0, ${width}, ${height});
    gradient.addColorStop(0, '#c33'); gradient.addColorStop(1, '#26c');
    context.fillStyle = gradient; context.fillRect(0, 0, ${width}, ${height});
    context.fillStyle = '#fff'; context.fillRect(0, 0, ${width} / 4, ${height} / 5);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.95));
    return [...new Uint8Array(await blob.arrayBuffer())];
  })()`).then((bytes) => Buffer.from(bytes));

/** `site(model)` compiles a page and gives its address; `run(args)` is the command line. */
export async function preprocessing(tally, {browser, site, run, work}) {
  let page = await browser.newPage();
  const fedByCommand = (model, file, flags = []) => {
    const saved = path.join(work, 'saved');
    const {status, stderr} = run(['run', model, '--target', 'interp', '--input', `x=${file}`, '--save', saved, ...flags]);
    if (status !== 0) throw new Error(stderr);
    return readFileSync(path.join(saved, 'y.npy'));
  };
  const attempt = async (name, act) => {
    try {
      tally.record(name, await act());
    } catch (problem) {
      tally.record(name, String(problem));
    }
  };
  const visit = async (model) => {
    const {address, file} = await site(model);
    await page.goto(`${address}?device=wasm`);
    await page.waitFor("document.documentElement.dataset.state === 'ready'");
    return file;
  };
  const put = (name, bytes) => {
    const file = path.join(work, name);
    writeFileSync(file, bytes);
    return file;
  };

  for (const model of [...models, open]) {
    const file = await visit(model);
    for (const [at, [name, bytes]] of pictures.entries()) {
      // Chromium asks a person whether one tab may save more than ten files.
      if (at % 8 === 7) {
        await page.close();
        page = await browser.newPage();
        await visit(model);
      }
      await attempt(`${name} for ${model.name}`, async () => {
        const fed = await fedInPage(page, {name: 'picture.png', bytes, type: 'image/png'});
        return differs(fed, fedByCommand(file, put('picture.png', bytes)));
      });
    }
  }

  const file = await visit(models[0]);
  const type = async (name, text) =>
    page.evaluate(`{
      const label = [...document.querySelectorAll('.named label')].find((each) => each.textContent === '${name}');
      const box = label.querySelector('input');
      box.value = '${text}';
      box.dispatchEvent(new Event('input', {bubbles: true}));
    }`);
  const settings = [
    [['scale', '1'], ['mean', '0'], ['std', '1'], ['--scale', '1']],
    [['scale', '1/127.5'], ['mean', '1'], ['std', '1'], ['--scale', String(1 / 127.5), '--mean', '1']],
    [['scale', '0.01'], ['mean', '0.1, 0.2, 0.3'], ['std', '2, 3, 0.7'], ['--scale', '0.01', '--mean', '0.1,0.2,0.3', '--std', '2,3,0.7']],
  ];
  const [, picture] = pictures[6];
  for (const setting of settings) {
    const flags = setting.at(-1);
    await attempt(flags.join(' '), async () => {
      for (const [name, text] of setting.slice(0, -1)) await type(name, text);
      const fed = await fedInPage(page, {name: 'picture.png', bytes: picture, type: 'image/png'});
      return differs(fed, fedByCommand(file, put('picture.png', picture), flags));
    });
  }

  for (const [name, text] of settings[0].slice(0, -1)) await type(name, text);
  await type('scale', '1/255');
  const jpegs = [];
  const drawn = await jpegOf(page, 210, 130);
  for (let orientation = 1; orientation <= 8; ++orientation)
    jpegs.push([`a JPEG of orientation ${orientation}`, oriented(drawn, orientation)]);
  const photographs = testdata(root, 'data/images');
  if (existsSync(photographs))
    for (const name of ['pelican.jpeg', 'dog_samoyed.jpg']) jpegs.push([name, readFileSync(path.join(photographs, name))]);
  for (const [name, bytes] of jpegs) {
    await attempt(name, async () => {
      const fed = await fedInPage(page, {name: 'picture.jpg', bytes, type: 'image/jpeg'});
      const {most, mean} = steps(fed, fedByCommand(file, put('picture.jpg', bytes), ['--mean', '0', '--std', '1']));
      if (process.env.GOSSAMER_VERBOSE) console.log(`${name}: ${most.toFixed(2)} steps at most, ${mean.toFixed(3)} on average`);
      return most > jpegMost || mean > jpegMean ? `${most.toFixed(1)} steps at most, ${mean.toFixed(2)} on average` : '';
    });
  }
  await page.close();
}
