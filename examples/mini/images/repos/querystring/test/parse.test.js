'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { parse, stringify } = require('..');

test('parse reads pairs', () => {
  assert.deepEqual({ ...parse('?a=1&b=2') }, { a: '1', b: '2' });
});

test('parse decodes', () => {
  assert.equal(parse('q=a+b%26c').q, 'a b&c');
});

test('parse makes a list of a repeated name', () => {
  assert.deepEqual(parse('a=1&a=2').a, ['1', '2']);
});

test('parse reads brackets', () => {
  const got = parse('a[]=1&b[c]=2');
  assert.deepEqual(got.a, ['1']);
  assert.equal(got.b.c, '2');
});

test('parse takes a name without a value', () => {
  assert.equal(parse('a').a, '');
});

test('stringify is the opposite', () => {
  assert.equal(stringify({ a: 1, b: { c: 'x y' }, d: [1, 2] }), 'a=1&b[c]=x%20y&d[]=1&d[]=2');
});
