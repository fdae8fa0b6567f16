// The generated form: sequences, optionals, strings, values from files and by hand, class names, files to keep.
import {readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {node, npyOf, value} from '../cli/models.mjs';

const lists = {
  name: 'lists',
  graph: {
    nodes: [
      node('SequenceAt', ['boxes', 'place'], ['box']),
      node('Identity', ['names'], ['said']),
      node('SequenceConstruct', ['counts', 'counts'], ['pair']),
      node('OptionalHasElement', ['mask'], ['has']),
      node('Identity', ['has'], ['masked']),
    ],
    inputs: [
      value('boxes', 'f32', [2, 2], {sequence: true}),
      value('names', 'string', [2]),
      value('place', 'i64', []),
      value('counts', 'i64', ['k']),
      value('mask', 'f32', [2], {optional: true}),
    ],
    outputs: [
      value('box', 'f32', [2, 2]),
      value('said', 'string', [2]),
      value('pair', 'i64', ['k'], {sequence: true}),
      value('masked', 'bool', []),
    ],
  },
};

const scores = {
  name: 'scores',
  graph: {nodes: [node('Identity', ['x'], ['y'])], inputs: [value('x', 'f32', [1, 6])], outputs: [value('y', 'f32', [1, 6])]},
};

const bytes = {
  name: 'bytes8',
  graph: {nodes: [node('Identity', ['x'], ['y'])], inputs: [value('x', 'u8', ['rows', 3])], outputs: [value('y', 'u8', ['rows', 3])]},
};

// Marks the form of an input, so that selectors find it.
const mark = `window.mark = (name) => {
  document.querySelectorAll('[data-marked]').forEach((each) => each.removeAttribute('data-marked'));
  const all = [...document.querySelectorAll('fieldset')];
  const field = all.find((each) => each.querySelector('legend').textContent === name);
  if (!field) throw new Error('no field ' + name + ' among ' + all.map((each) => each.querySelector('legend').textContent));
  field.setAttribute('data-marked', '');
  return field;
}`;

/** A page and the hands that use it. */
class User {
  constructor(page) {
    this.page = page;
  }
  async visit(address) {
    await this.page.goto(`${address}?device=wasm`);
    await this.page.waitFor("['ready', 'failed'].includes(document.documentElement.dataset.state)");
    await this.page.evaluate(mark);
  }
  from = (name, source) =>
    this.page.evaluate(`{
      const select = mark('${name}').querySelector('select');
      select.value = '${source}';
      select.dispatchEvent(new Event('change', {bubbles: true}));
    }`);
  async type(name, text) {
    await this.from(name, 'typed');
    await this.page.evaluate(`mark('${name}').querySelector('textarea').value = ${JSON.stringify(text)}`);
  }
  async give(name, files) {
    await this.page.evaluate(`void mark('${name}')`);
    const single = "[data-marked] input[type=file]:not([accept='image/*'])";
    await this.page.choose(single, [files].flat());
    // Files are read in a task of their own.
    await this.page.evaluate("new Promise((resolve) => setTimeout(resolve, 100))");
  }
  /** Runs; resolves to the state after it. */
  async run() {
    await this.page.evaluate("document.documentElement.dataset.state = 'ready'; document.querySelector('#run').click()");
    await this.page.waitFor("['done', 'refused'].includes(document.documentElement.dataset.state)");
    return this.page.evaluate('document.documentElement.dataset.state');
  }
  problem = (name) =>
    this.page.evaluate(`mark('${name}').querySelector(':scope > .problem:not([hidden])')?.textContent ?? ''`);
  trouble = () => this.page.evaluate("document.querySelector('#trouble').textContent");
  shown = () => this.page.evaluate("document.querySelector('#outputs').innerText");
  async save(file) {
    const script = `{
      document.querySelectorAll('[data-saves]').forEach((each) => each.removeAttribute('data-saves'));
      const buttons = [...document.querySelectorAll('#outputs button')];
      buttons.find((each) => each.textContent.endsWith(' ${file}')).setAttribute('data-saves', '');
    }`;
    await this.page.evaluate(script);
    const {name, bytes} = await this.page.save('[data-saves]');
    return name === file ? Buffer.from(bytes) : Buffer.from(`saved as ${name}`);
  }
}

const same = (name, ours, theirs) => (ours.equals(theirs) ? [] : [`${name} differs from the command line's`]);

async function sequences(user, {site, run, work}) {
  const problems = [];
  const {address, file} = site(lists, ['--sequence', 'boxes=2', '--sequence', 'mask=none']);
  await user.visit(address);
  const elements = [1, 5].map((first, at) => {
    const name = `box${at}.npy`;
    const bytes = npyOf('<f4', [2, 2], Buffer.from(Float32Array.of(first, first + 1, first + 2, first + 3).buffer));
    writeFileSync(path.join(work, name), bytes);
    return {name, bytes};
  });
  const count = await user.page.evaluate("mark('boxes').querySelector('output').textContent");
  if (count !== '2') problems.push(`the list shows ${count} elements`);
  await user.give('boxes', elements);
  await user.type('names', 'ä b\nc');
  await user.type('place', '1');
  await user.type('counts', '-4, 9007199254740993 7');
  const state = await user.run();
  if (state !== 'done') return [...problems, `${state}: ${await user.trouble()}`];
  writeFileSync(path.join(work, 'names.json'), JSON.stringify(['ä b', 'c']));
  writeFileSync(path.join(work, 'place.npy'), npyOf('<i8', [], Buffer.from(BigInt64Array.of(1n).buffer)));
  const counts = BigInt64Array.of(-4n, 9007199254740993n, 7n);
  writeFileSync(path.join(work, 'counts.npy'), npyOf('<i8', [3], Buffer.from(counts.buffer)));
  const saved = path.join(work, 'lists');
  const inputs = ['boxes=box0.npy', 'boxes=box1.npy', 'names=names.json', 'place=place.npy', 'counts=counts.npy'];
  const {status, stderr} = run(['run', file, '--target', 'interp', '--save', saved, ...inputs.flatMap((each) => ['--input', each])]);
  if (status !== 0) return [...problems, stderr];
  for (const name of ['box.npy', 'pair.0.npy', 'pair.1.npy', 'masked.npy'])
    problems.push(...same(name, await user.save(name), readFileSync(path.join(saved, name))));
  const said = (await user.save('said.json')).toString();
  if (said !== '["ä b","c"]') problems.push(`said ${said}`);
  // One file too few says so by the list; the other way, each element by hand.
  await user.give('boxes', elements.slice(1));
  if (!/1 files for 2 elements/.test(await user.problem('boxes'))) problems.push(await user.problem('boxes'));
  await user.type('boxes.1', '[[1, 2], [3, 4]]');
  await user.run();
  const first = (await user.save('box.npy')).subarray(-16).readFloatLE(0);
  if (first !== 1) problems.push(`the typed element begins with ${first}`);
  return problems;
}

async function optionals(user, {site}) {
  const problems = [];
  await user.visit(site({...lists, name: 'left_out'}, ['--sequence', 'boxes=1', '--sequence', 'mask=none']).address);
  if (!/--sequence mask=none/.test(await user.page.evaluate("mark('mask').innerText"))) problems.push('it is not said why mask is not given');
  await user.run();
  const masked = await user.save('masked.npy');
  if (masked.at(-1) !== 0) problems.push('an optional that is left out has an element');
  await user.visit(site({...lists, name: 'given'}, ['--sequence', 'boxes=1']).address);
  await user.type('mask', '1 2');
  if ((await user.run()) !== 'done') problems.push(await user.trouble());
  if ((await user.save('masked.npy')).at(-1) !== 1) problems.push('an optional that is given has no element');
  return problems;
}

/** What is typed or chosen wrongly, and what the field says. */
async function wrongValues(user, {site}) {
  const problems = [];
  const {address} = site(bytes);
  await user.visit(address);
  const typed = [
    ['1, two, 3', /"two" is no number/],
    ['1 2', /\[1, 3\] takes 3 values, there are 2/],
    ['1 2 300', /300 does not fit u8 \(0 to 255\)/],
    ['1 2 2.5', /"2\.5" is no whole number/],
    ['[[1, 2], [3]]', /lists of one level have 2 and 1 elements/],
    ['[[1, 2], [3, 4]]', /what is typed has shape \[2, 2\], the input takes \[rows, 3\]/],
    ['[[1, 2, 3]', /a \] is missing/],
  ];
  for (const [text, words] of typed) {
    await user.type('x', text);
    const state = await user.run();
    const said = await user.problem('x');
    if (state !== 'refused' || !words.test(said)) problems.push(`"${text}" is ${state}: ${said}`);
    const focus = await user.page.evaluate('document.activeElement.tagName');
    if (focus !== 'TEXTAREA') problems.push(`"${text}" leaves the focus on ${focus}`);
  }
  const floats = Buffer.from(Float32Array.of(1, 2, 3).buffer);
  const files = [
    ['a.npy', npyOf('<f4', [1, 3], floats), /a\.npy has f32 \[1, 3\], the input takes u8/],
    ['b.npy', npyOf('|u1', [3, 1], Buffer.from([1, 2, 3])), /b\.npy has shape \[3, 1\], the input takes \[rows, 3\]/],
    ['c.npy', npyOf('|u1', [1, 3], Buffer.from([1, 2])), /shape \[1, 3\] of u8 does not fit 2 bytes/],
    ['d.npy', Buffer.from('text'), /d\.npy: not an \.npy file/],
    ['e.raw', Buffer.from([1, 2]), /e\.raw has 2 bytes, u8 \[1, 3\] needs 3/],
    ['f.pb', Buffer.from([8, 1]), /f\.pb: its element type/],
  ];
  for (const [name, content, words] of files) {
    await user.give('x', {name, bytes: content});
    const said = await user.problem('x');
    if (!words.test(said)) problems.push(`${name}: ${said}`);
  }
  // The field takes a good value after all that, and learns the open dimension from it.
  await user.type('x', '[[1, 2, 3], [4, 5, 6]]');
  if ((await user.run()) !== 'done') problems.push(await user.problem('x'));
  if ((await user.problem('x')) !== '') problems.push('the problem is still shown');
  const saved = await user.save('y.npy');
  if (!saved.includes("'shape': (2, 3)") || saved.at(-1) !== 6) problems.push('[[1, 2, 3], [4, 5, 6]] came out otherwise');
  return problems;
}

/** One tensor in each form of file comes out as it went in. */
async function files(user, {site}) {
  const problems = [];
  await user.visit(site(bytes).address);
  const content = Buffer.from([9, 8, 7, 6, 5, 4]);
  const proto = Buffer.concat([Buffer.from([8, 2, 8, 3, 16, 2, 0x4a, 6]), content]); // dims 2, 3; u8; raw_data
  const integers = Buffer.concat([Buffer.from([0x0a, 2, 2, 3, 16, 2, 0x2a, 6]), content]); // packed; int32_data
  for (const [name, file] of [
    ['a.npy', npyOf('|u1', [2, 3], content)],
    ['b.npy', npyOf('|u1', [2, 3], Buffer.from([9, 6, 8, 5, 7, 4]), {fortran: true})],
    ['c.pb', proto],
    ['d.pb', integers],
    ['e.raw', content], // after the dimension that the others set
  ]) {
    await user.give('x', {name, bytes: file});
    const state = await user.run();
    const saved = state === 'done' ? await user.save('y.npy') : Buffer.from(await user.problem('x'));
    if (!saved.subarray(-6).equals(content)) problems.push(`${name}: ${state} ${saved.toString('latin1')}`);
  }
  return problems;
}

async function classes(user, {site}) {
  const problems = [];
  await user.visit(site(scores).address);
  await user.type('x', '1 2 8 4 5 3');
  await user.run();
  if (!/class 2/.test(await user.shown())) problems.push('no classes are shown');
  const names = Buffer.from('ant\r\nbee\r\ncow\r\ndog\r\nemu\r\nfox\r\n');
  await user.page.choose('#labels', [{name: 'names.txt', bytes: names}]);
  await user.page.waitFor("document.querySelector('.bars .label')?.textContent === 'cow'");
  const order = await user.page.evaluate("[...document.querySelectorAll('.bars .label')].map((each) => each.textContent).join()");
  if (order !== 'cow,emu,dog,fox,bee') problems.push(`the best five are ${order}`);
  return problems;
}

export async function forms(tally, place) {
  const page = await place.browser.newPage();
  const user = new User(page);
  for (const [name, act] of Object.entries({sequences, optionals, wrongValues, files, classes})) {
    try {
      tally.record(name, await act(user, place));
    } catch (problem) {
      tally.record(name, problem.stack.split('\n').slice(0, 3).join(' '));
    }
  }
  const log = page.takeLog();
  tally.record('nothing is written to the console', log);
  await page.close();
}
