'use strict';

/** The opposite of parse(): nested objects and lists become bracketed names. */
function stringify(value, prefix) {
  const pairs = [];
  for (const [key, child] of Object.entries(value)) {
    const name = prefix ? `${prefix}[${encodeURIComponent(key)}]` : encodeURIComponent(key);
    if (Array.isArray(child)) {
      for (const item of child) pairs.push(`${name}[]=${encodeURIComponent(item)}`);
    } else if (child !== null && typeof child === 'object') {
      pairs.push(stringify(child, name));
    } else {
      pairs.push(`${name}=${encodeURIComponent(child)}`);
    }
  }
  return pairs.filter(Boolean).join('&');
}

exports.stringify = stringify;
