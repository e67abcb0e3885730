'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { Emitter } = require('../emitter');

test('listeners are called in order', () => {
  const e = new Emitter();
  const seen = [];
  e.on('x', (v) => seen.push(['a', v]));
  e.on('x', (v) => seen.push(['b', v]));
  assert.equal(e.emit('x', 1), 2);
  assert.deepEqual(seen, [['a', 1], ['b', 1]]);
});

test('off removes', () => {
  const e = new Emitter();
  const off = e.on('x', () => assert.fail('called'));
  off();
  assert.equal(e.emit('x'), 0);
});

test('once is called once', () => {
  const e = new Emitter();
  let n = 0;
  e.once('x', () => n++);
  e.emit('x');
  e.emit('x');
  assert.equal(n, 1);
});

test('star hears everything', () => {
  const e = new Emitter();
  const seen = [];
  e.on('*', (name, v) => seen.push([name, v]));
  e.emit('x', 1);
  assert.deepEqual(seen, [['x', 1]]);
});

test('a listener must be a function', () => {
  assert.throws(() => new Emitter().on('x', 3), TypeError);
});
