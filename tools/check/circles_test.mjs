import assert from 'node:assert/strict';
import {test} from 'node:test';
import {circles, namedBy, sources} from './circles.mjs';

const found = (texts) => circles(namedBy(new Map(Object.entries(texts))));

test('the sources have no circle, and their imports are seen', () => {
  const edges = namedBy(sources());
  assert.deepEqual(circles(edges), []);
  assert.ok(edges.get('web/runtime/src/session/model.ts').includes('web/runtime/src/session/feeds.ts'));
  assert.ok(edges.get('src/stages/program.h').includes('src/stages/stage.h'));
});

test('imports of types close circles too', () => {
  const texts = {
    'web/a/src/x.ts': "import {\n  one,\n  type Two,\n} from './y.ts';\n",
    'web/a/src/y.ts': "export type {Z} from './deep/z.ts';\n",
    'web/a/src/deep/z.ts': "import type {X} from '../x.ts';\n",
  };
  assert.deepEqual(found(texts), ['web/a/src/x.ts -> web/a/src/y.ts -> web/a/src/deep/z.ts -> web/a/src/x.ts']);
  assert.deepEqual(found({...texts, 'web/a/src/deep/z.ts': "// from '../x.ts'\n"}), []);
});

test('headers', () => {
  const texts = {'src/a/a.h': '#include "b/b.h"\n', 'src/b/b.h': '#include <vector>\n#include "a/a.h"\n'};
  assert.deepEqual(found(texts), ['src/a/a.h -> src/b/b.h -> src/a/a.h']);
});
