import assert from 'node:assert/strict';
import {test} from 'node:test';
import {versionProblems} from './version.mjs';

const json = JSON.stringify;
const right = {
  'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.25)\nproject(gossamer VERSION 1.2.3 LANGUAGES C CXX)\n',
  LICENSE: 'Apache License\n   Version 2.0, January 2004\n',
  'CHANGELOG.md': '# Changelog\n\n## [Unreleased]\n\n- More.\n\n## [1.2.3] - 2026-01-01\n\n## [1.2.2]\n',
  'web/runtime/package.json': json({name: '@gossamer/runtime', version: '1.2.3', license: 'Apache-2.0'}),
  'web/package.json': json({name: 'gossamer-web', license: 'Apache-2.0'}),
  'web/package-lock.json': json({
    packages: {
      '': {name: 'gossamer-web', license: 'Apache-2.0'},
      runtime: {name: '@gossamer/runtime', version: '1.2.3', license: 'Apache-2.0'},
      'node_modules/other': {version: '9.9.9', license: 'MIT'},
    },
  }),
};
const problems = (changes) => versionProblems(new Map(Object.entries({...right, ...changes})));

test('what agrees has no problems', () => {
  assert.deepEqual(problems({}), []);
  assert.deepEqual(problems({'CHANGELOG.md': '## [Unreleased]\n\nWhat 1.2.3 will be.\n'}), []);
});

test('every place that says another version is found', () => {
  assert.match(problems({'web/runtime/package.json': json({version: '1.2.4', license: 'Apache-2.0'})})[0],
    /^web\/runtime\/package.json: version: is 1.2.4, not 1.2.3$/);
  assert.match(problems({'web/package-lock.json': right['web/package-lock.json'].replace('1.2.3', '1.0.0')})[0],
    /version of "runtime": is 1.0.0/);
  assert.match(problems({'CHANGELOG.md': '## [Unreleased]\n\n## [1.2.2]\n\n## [1.2.3]\n'})[0], /no section for 1.2.3/);
  assert.match(problems({'CMakeLists.txt': 'project(gossamer LANGUAGES C)\n'})[0], /no VERSION/);
  assert.equal(problems({'CMakeLists.txt': 'project(gossamer VERSION 2.0.0)\n'}).length, 3);
  assert.match(versionProblems(new Map(Object.entries(right)), 'gossamer 1.2.2\n')[0], /--version: is gossamer 1.2.2/);
});

test('so is every place of another licence', () => {
  assert.match(problems({'bench/package.json': json({license: 'MIT'})})[0], /license: is MIT, not Apache-2.0/);
  assert.match(problems({'bench/package.json': json({})})[0], /license: is missing/);
  assert.match(problems({LICENSE: 'MIT License'})[0], /LICENSE: is not/);
});
