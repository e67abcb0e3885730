'use strict';

/**
 * Parses "a=1&b[c]=2&d[]=3" into { a: '1', b: { c: '2' }, d: ['3'] }.
 * A leading "?" is ignored. A name given twice becomes a list.
 */
function parse(query) {
  const result = {};
  for (const pair of query.replace(/^\?/, '').split('&')) {
    if (pair === '') continue;
    const [name, value] = pair.split('=');
    set(result, path(decode(name)), decode(value || ''));
  }
  return result;
}

function decode(text) {
  return decodeURIComponent(text.replace(/\+/g, ' '));
}

/** Turns "a[b][]" into ['a', 'b', '']. */
function path(name) {
  const open = name.indexOf('[');
  if (open < 1 || !name.endsWith(']')) return [name];
  return [name.slice(0, open), ...name.slice(open + 1, -1).split('][')];
}

function set(target, keys, value) {
  const [key, ...rest] = keys;
  if (rest.length === 0) {
    if (key in target) target[key] = [].concat(target[key], value);
    else target[key] = value;
  } else if (rest.length === 1 && rest[0] === '') {
    target[key] = [].concat(key in target ? target[key] : [], value);
  } else {
    if (!(key in target)) target[key] = {};
    set(target[key], rest, value);
  }
}

exports.parse = parse;
