'use strict';

exports.parse = require('./parse').parse;
exports.stringify = require('./stringify').stringify;
