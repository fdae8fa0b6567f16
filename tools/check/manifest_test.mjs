import assert from 'node:assert/strict';
import test from 'node:test';
import {checkManifest, manifestTable, pageOf, scriptOf} from './manifest.mjs';
import {read} from './repository.mjs';

const text = `
// Words in comments(are not, rows)
GS_RECORD(Texture, F(count(1, 65536), width, when(texture), "texels"))
GS_RECORD(Slot, F(number, bytes, when(linear), "a size, in (bytes)")
                F(flat(Texture), texture, when(texture), "")
                R(index(devices), device, device_number, unless(0), "")
                M(std::string, source, {}))
GS_STEP(launch, launch, P(span(slots), launch, first, last, always, ""))
GS_MANIFEST(X(text, format, always, "")
            F(records(Slot), slots, some, "memory")
            F(steps, steps, some, ""))
#undef GS_RECORD
`;

test('rows have a key, a type, a presence and a meaning', () => {
  const {records, steps, manifest} = manifestTable(text);
  assert.deepEqual([...records.keys()], ['Texture', 'Slot']);
  assert.deepEqual(records.get('Slot').map(({key}) => key), ['bytes', 'texture', 'device']);
  assert.deepEqual(records.get('Slot')[0], {key: 'bytes', type: {name: 'number', args: []}, presence: {name: 'when', args: ['linear']}, doc: 'a size, in (bytes)'});
  assert.deepEqual(records.get('Texture')[0].type, {name: 'count', args: ['1', '65536']});
  assert.deepEqual(steps.get('launch').map(({key}) => key), ['launch']);
  assert.deepEqual(manifest.map(({key}) => key), ['format', 'slots', 'steps']);
});

test('a row becomes a member, what reads it, and a line of the page', () => {
  const script = scriptOf(manifestTable(text));
  assert.match(script, /export interface SlotEntry \{\n {2}\/\*\* A size, in \(bytes\)\. \*\/\n {2}readonly bytes\?: Num;\n {2}\/\*\* Texels\. \*\/\n {2}readonly width/);
  assert.match(script, /const SLOT: Rows<SlotEntry> = \{\n {2}bytes: when\(false, number\),\n {2}width: when\(true, count\(1, 65536\)\),\n {2}device: or\(index\('devices'\), 0\),\n\};/);
  assert.match(script, /const LAUNCH_STEP: Rows<LaunchStep> = \{\n {2}launch: pair\('slots', 1\),/);
  assert.match(script, /slots: records\(SLOT\),\n {2}steps: or\(steps, \[\]\),/);
  assert.match(pageOf(manifestTable(text)), /^\| `slots\[\]\.width` \| 1 to 65,536 \| linear memory \| texels \|$/m);
});

test('what is written from the table is compared', () => {
  assert.deepEqual(checkManifest(), []);
  const changed = read('src/package/manifest.def').replace('count(1, 65536), width', 'count(1, 65537), width');
  assert.deepEqual(checkManifest(manifestTable(changed)).map((problem) => problem.split(' ')[0]), ['web/runtime/src/package/manifest_table.ts', 'docs/specs/package.md']);
});
