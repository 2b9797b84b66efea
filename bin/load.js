// Loads built modules, as Node's `require` does, and keeps them as V8 has compiled them: most of a start is compiling.
'use strict';

const { createHash } = require('node:crypto');
const { closeSync, fsyncSync, mkdirSync, openSync, readFileSync } = require('node:fs');
const { renameSync, rmSync, statSync, writeSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, join } = require('node:path');
const { Script } = require('node:vm');

/** Below dist/, so that a new build begins without: for each command a file with the modules that it loads. */
const COMPILED = '.compiled';

/**
 * Loads `main`, a module in `dist`, with what an earlier start of `command` has compiled. `keep` writes what the next start
 * needs, where it may: see `writeCompiled`.
 * @returns {{ exports: object, keep: () => void }}
 */
function load(dist, main, command) {
  const place = placeOf(dist, main, command);
  const compiled = readCompiled(place);
  const modules = new Map();
  const ofPackages = createRequire(join(dist, main));
  let isNew = false;

  const requireModule = (name) => {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const path = join(dist, name);
    const { source = readFileSync(path, 'utf8'), code } = compiled.get(name) ?? {};
    const script = new Script(`(function(exports,require,module,__filename,__dirname){${source}\n})`, {
      filename: path,
      cachedData: code,
    });
    isNew ||= code === undefined || script.cachedDataRejected === true;
    const module = { exports: {}, source, script };
    modules.set(name, module);
    const own = (id) => (id.startsWith('.') ? requireModule(join(dirname(name), id)) : ofPackages(id));
    own.resolve = ofPackages.resolve;
    try {
      script.runInThisContext()(module.exports, own, module, path, dirname(path));
    } catch (error) {
      modules.delete(name);
      throw error;
    }
    return module.exports;
  };

  const exports = requireModule(main);
  const keep = () => {
    if (!isNew || place === undefined) return;
    const loaded = [...modules].map(([name, { source, script }]) => [
      name,
      { source, code: script.createCachedData() },
    ]);
    writeCompiled(place, new Map([...compiled, ...loaded]));
  };
  return { exports, keep };
}

/** `main` names every other module by its content, so its own content identifies the build. */
function placeOf(dist, main, command) {
  if (!/^\w[\w-]*$/.test(command)) return undefined;
  const build = createHash('sha1')
    .update(readFileSync(join(dist, main)))
    .digest('hex')
    .slice(0, 16);
  return join(dist, COMPILED, `${command}-${process.version}-${process.arch}-${build}`);
}

/**
 * Sources and what V8 has compiled of them, by names of modules; none if there is no such file, or an incomplete or damaged
 * one, with which V8 would crash or hang. V8 itself rejects what another version of it, or one with other options, has compiled.
 */
function readCompiled(place) {
  try {
    const bytes = readFileSync(place ?? '');
    const list = bytes.indexOf('\n') + 1;
    if (bytes.latin1Slice(0, list) !== `${digestOf(bytes.subarray(list))}\n`) return new Map();
    const start = bytes.indexOf('\n', list) + 1;
    const entries = JSON.parse(bytes.latin1Slice(list, start));
    return new Map(
      entries.map(([name, at, sourceBytes, isAscii, codeBytes]) => {
        const [from, to] = [start + at, start + at + sourceBytes];
        const source = isAscii ? bytes.latin1Slice(from, to) : bytes.utf8Slice(from, to);
        return [name, { source, code: bytes.subarray(to, to + codeBytes) }];
      }),
    );
  } catch {
    return new Map();
  }
}

/** Writes a file that is complete even after a power cut. Nothing happens where halo is installed by another user. */
function writeCompiled(place, modules) {
  let size = 0;
  const parts = [];
  const entries = [...modules].map(([name, { source, code }]) => {
    const bytes = Buffer.from(source);
    parts.push(bytes, code);
    const at = size;
    size += bytes.length + code.length;
    return [name, at, bytes.length, bytes.length === source.length, code.length];
  });
  const content = Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...parts]);
  const temporary = `${place}.${process.pid}`;
  const folder = dirname(place);
  try {
    // With sudo, its owner could not remove the files.
    if (statSync(dirname(folder)).uid !== process.geteuid()) return;
    // A user who can write these files decides what halo does.
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    const file = openSync(temporary, 'wx', 0o644);
    try {
      writeAll(file, Buffer.concat([Buffer.from(`${digestOf(content)}\n`), content]));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, place);
  } catch {
    remove(temporary);
  }
}

function digestOf(bytes) {
  return createHash('sha1').update(bytes).digest('hex');
}

function remove(path) {
  try {
    rmSync(path, { force: true });
  } catch {
    // Nothing was written.
  }
}

function writeAll(file, bytes) {
  for (let at = 0; at < bytes.length; at += writeSync(file, bytes, at));
}

module.exports = { load };
