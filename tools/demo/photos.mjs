// MobileNetV2 names photographs, where the test data lies beside the repository.
import {cpSync, existsSync, mkdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {waitLong} from './browser.mjs';
import {output} from './command.mjs';
import {webTargets} from './digits.mjs';

const data = '../shared/testdata';
const model = `${data}/models/mobilenetv2_int8_ort/model.onnx`;
const labels = `${data}/data/labels/imagenet_classes.txt`;
const answers = `${data}/data/images_top5_ort.json`;
const photos = ['bald_eagle.jpeg', 'dog_samoyed.jpg', 'pelican.jpeg', 'orange.png', 'kitten_224.png'];
const source = (photo) => `${data}/data/images/${photo}`;

export const havePhotos = () =>
  [model, labels, answers, ...photos.map(source)].every((file) => existsSync(file));

/** The classes that onnxruntime names, by photograph. */
function expected() {
  const all = JSON.parse(readFileSync(answers, 'utf8'));
  return photos.map((photo) => all[path.parse(photo).name].mobilenetv2_int8_ort[0][1]);
}

/** Compiles for every target; the web targets share a page in photos/. */
export async function compilePhotos(gossamer, out) {
  const cpu = path.join(out, 'packages/mobilenet');
  const web = path.join(out, 'photos');
  await output(gossamer, ['compile', model, '--target', 'cpu', '--output', cpu]);
  await output(gossamer, [
    'compile', model, '--target', webTargets.join(','), '--labels', labels,
    '--name', 'MobileNetV2', '--output', web,
  ]);
  mkdirSync(path.join(web, 'photographs'), {recursive: true});
  for (const photo of photos) cpSync(source(photo), path.join(web, 'photographs', photo));
  return {cpu, web};
}

async function nameOnCpu(gossamer, folder, photo) {
  const {classes} = JSON.parse(
    await output(gossamer, ['run', folder, '--input', `image=${source(photo)}`, '--labels', labels, '--top', '1', '--json']),
  );
  return classes[0].label;
}

/** Drops a photograph onto the page and reads the class on top. */
async function nameInPage(page, photo) {
  await page.evaluate(`(async () => {
    const root = document.documentElement;
    const photograph = await (await fetch('photographs/${photo}')).blob();
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([photograph], '${photo}', {type: photograph.type}));
    root.dataset.state = 'ready';
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer, bubbles: true}));
  })()`);
  await waitLong(
    page,
    "document.documentElement.dataset.state === 'done' || !document.querySelector('#trouble').hidden",
  );
  const trouble = await page.evaluate("document.querySelector('#trouble').textContent");
  if (trouble) throw new Error(String(trouble));
  return page.evaluate("document.querySelector('.bars .label').textContent");
}

async function nameAllInPage(browser, address, device) {
  const page = await browser.newPage();
  try {
    await page.goto(`${address}photos/?device=${device}`);
    await waitLong(page, "['ready', 'failed'].includes(document.documentElement.dataset.state)");
    const trouble = await page.evaluate("document.querySelector('#trouble').textContent");
    if (trouble) throw new Error(String(trouble));
    const names = [];
    for (const photo of photos) names.push(await nameInPage(page, photo));
    return names;
  } finally {
    await page.close();
  }
}

/** [{photo, expected, cpu, wasm, ...}]: what each target calls each photograph, and problems. */
export async function namePhotos(gossamer, cpu, browser, address) {
  const names = {cpu: []};
  const problems = [];
  for (const photo of photos) names.cpu.push(await nameOnCpu(gossamer, cpu, photo));
  for (const device of webTargets) {
    try {
      names[device] = await nameAllInPage(browser, address, device);
    } catch (problem) {
      problems.push(`${device}: ${problem.message.split('\n')[0]}`);
      names[device] = photos.map(() => 'failed');
    }
  }
  const wanted = expected();
  return {
    problems,
    rows: photos.map((photo, at) => ({
      photo,
      expected: wanted[at],
      names: Object.fromEntries(Object.entries(names).map(([target, each]) => [target, each[at]])),
    })),
  };
}
