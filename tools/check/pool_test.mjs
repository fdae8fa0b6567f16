import assert from 'node:assert/strict';
import {test} from 'node:test';
import {longestFirst, run, runAll} from './pool.mjs';

const names = (jobs) => jobs.map(({name}) => name).join('');

test('jobs of unknown time come first, then the longest', () => {
  const jobs = [{name: 'a'}, {name: 'b'}, {name: 'c'}, {name: 'd'}];
  assert.equal(names(longestFirst(jobs, {a: 1, b: 5})), 'cdba');
});

test('no more jobs run at a time than there are slots, and those that are alone run last', async () => {
  const jobs = [{name: 'z', alone: true}, ...'abcde'].map((job) => (typeof job === 'string' ? {name: job} : job));
  let running = 0;
  let most = 0;
  const ended = [];
  await runAll(jobs, {
    slots: 2,
    start: async ({name, alone}) => {
      most = Math.max(most, ++running);
      if (alone) assert.equal(running, 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      --running;
      return name;
    },
    done: (job, result, seconds) => {
      assert.equal(result, job.name);
      assert.ok(seconds > 0);
      ended.push(job);
    },
  });
  assert.equal(most, 2);
  assert.equal(ended.length, 6);
  assert.equal(ended.at(-1).name, 'z');
});

test('jobs that come later run before what is left', async () => {
  const ended = [];
  let release;
  await runAll([{name: 'a'}, {name: 'b'}, {name: 'z', alone: true}], {
    slots: 1,
    later: new Promise((resolve) => (release = resolve)),
    start: async () => new Promise((resolve) => setTimeout(resolve, 2)),
    done: ({name}) => {
      ended.push(name);
      if (name === 'a') release([{name: 'c'}, {name: 'd'}]);
    },
  });
  assert.equal(ended.join(''), 'acdbz');
  ended.length = 0;
  // The last slot waits for them.
  await runAll([{name: 'a'}], {
    slots: 2,
    later: new Promise((resolve) => (release = resolve)),
    start: async () => new Promise((resolve) => setTimeout(resolve, 2)),
    done: ({name}) => {
      ended.push(name);
      release([{name: 'b'}, {name: 'c'}]);
    },
  });
  assert.equal(ended.sort().join(''), 'abc');
});

test('a program that does not end is stopped with what it started', async () => {
  const result = await run({program: 'bash', args: ['-c', 'echo begun; sleep 100 & wait'], timeout: 0.3});
  assert.deepEqual([result.timedOut, result.output], [true, 'begun\n']);
});

test('exit codes and both streams are reported', async () => {
  const {code, output} = await run({program: 'bash', args: ['-c', 'echo $WORD; echo bad >&2; exit 3'], env: {WORD: 'good'}});
  assert.equal(code, 3);
  assert.ok(output.includes('good\n') && output.includes('bad\n'));
  assert.equal((await run({program: 'no-such-program', args: []})).code, 1);
});
