// The page on which a network learns a function of one number: on each device, one that is drawn, and what it refuses.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {skip, withExample} from './src/example.ts';

const errorOf = (text: string): number => Number(/mean squared error ([\d.]+)/.exec(text)?.[1]);

test('a page learns a function while it draws it', {skip}, () =>
  withExample('curve', async ({open}) => {
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      const example = await open(`device=${device}&function=sine&noise=0&steps=400&rate=0.02`);
      await example.reach('ready');
      await example.press('#start');
      await example.reach('done');
      const said = await example.text('#now');
      // A straight line is 0.3 off.
      assert.ok(errorOf(said) < 0.01, `${device}: ${said}`);
      await example.screenshot(`curve-${device}`);
      await example.page.close();
    }
  }));

test('points may be drawn', {skip}, () =>
  withExample('curve', async ({open}) => {
    const example = await open('steps=400&rate=0.02&hidden=16');
    await example.reach('ready');
    await example.enter('#function', 'drawn');
    assert.equal(await example.text('#now'), '0 points');
    await example.press('#start');
    await example.reach('failed');
    assert.match(await example.text('#trouble'), /nothing to learn yet: draw a curve/);
    // A pen goes from the lower left to the upper right.
    await example.page.evaluate(`{
      const over = document.querySelector('#fit .u-over');
      over.setPointerCapture = () => {};
      over.hasPointerCapture = () => true;
      const {width, height, left, top} = over.getBoundingClientRect();
      for (let at = 0; at <= 40; ++at) {
        const where = {clientX: left + width * (0.1 + 0.02 * at), clientY: top + height * (0.8 - 0.015 * at), bubbles: true, pointerId: 1};
        over.dispatchEvent(new PointerEvent(at === 0 ? 'pointerdown' : 'pointermove', where));
      }
    }`);
    assert.match(await example.text('#now'), /^4\d points$/);
    await example.press('#start');
    await example.reach('done');
    const said = await example.text('#now');
    assert.ok(errorOf(said) < 0.005, said);
    assert.equal(await example.page.evaluate("document.querySelector('#trouble').hidden"), true);
    await example.screenshot('curve-drawn');
  }));
