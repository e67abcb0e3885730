'use strict';

/** Calls listeners by the name of an event; "*" listens to all of them. */
class Emitter {
  constructor() {
    this.listeners = new Map();
  }

  /** Adds a listener and returns a function that takes it away again. */
  on(name, listener) {
    if (typeof listener !== 'function') {
      throw new TypeError('listener must be a function');
    }
    if (!this.listeners.has(name)) this.listeners.set(name, []);
    this.listeners.get(name).push(listener);
    return () => this.off(name, listener);
  }

  /** Adds a listener for the next event only. */
  once(name, listener) {
    const wrapper = (...args) => {
      this.off(name, wrapper);
      listener(...args);
    };
    return this.on(name, wrapper);
  }

  /** Removes one listener, or all of an event. */
  off(name, listener) {
    const list = this.listeners.get(name);
    if (!list) return;
    if (listener === undefined) {
      this.listeners.delete(name);
      return;
    }
    const i = list.indexOf(listener);
    if (i >= 0) list.splice(i, 1);
  }

  /** Calls the listeners in the order in which they came; returns how many there were. */
  emit(name, ...args) {
    let called = 0;
    for (const listener of this.listeners.get(name) || []) {
      listener(...args);
      called++;
    }
    for (const listener of this.listeners.get('*') || []) {
      listener(name, ...args);
      called++;
    }
    return called;
  }

  /** Counts the listeners of an event. */
  count(name) {
    return (this.listeners.get(name) || []).length;
  }
}

module.exports = { Emitter };
