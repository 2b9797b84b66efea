// Bundles src/ into dist/, unless it is of the same sources already. Any number of processes may do so concurrently.
'use strict';

const { createHash, randomBytes } = require('node:crypto');
const { existsSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync } = require('node:fs');
const { readlinkSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { basename, dirname, join, relative } = require('node:path');

/** A file of dist/: the signature of the sources, and below it the names of the files in chunks/ that were built from them. */
const STAMP = '.sources';
const CHUNKS = 'chunks';

/** The modules of dist/ that bin/ and scripts/ load, without suffix, and their sources. */
const ENTRIES = {
  'cli/main': 'src/cli/main.ts',
  'sandbox/image': 'src/sandbox/docker/image/image.ts',
};

/**
 * Packages that many commands need: Node takes longer to find and translate their hundreds of files than to run them. And
 * ECMAScript modules, which Node 20 cannot load from built ones.
 */
const BUNDLED = [
  'bullmq',
  'commander',
  'dockerode',
  'execa',
  'get-east-asian-width',
  'htmlparser2',
  'ioredis',
  'jsonc-parser',
  'markdown-it',
  'openid-client',
  'pino',
  'smol-toml',
  'zod',
];

/** Addons of bundled packages, which work without them. */
const ADDONS = ['msgpackr-extract'];

/** Packages of which halo uses nothing: dockerode loads them for BuildKit, BullMQ for jobs that a calendar repeats. */
const UNUSED = ['@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs', 'cron-parser'];

/** In place of ssh2, which dockerode loads at its start, although only a DOCKER_HOST with ssh:// needs it. */
const LAZY_SSH = `const { createRequire } = require('node:module');
const CHAIN = ['dockerode', 'docker-modem', 'ssh2'];
exports.Client = function (...given) {
  const { Client } = CHAIN.reduce((from, name, at) => (at === CHAIN.length - 1 ? from(name) : createRequire(from.resolve(name))), require);
  return new Client(...given);
};
`;

/** The address of a built module, which is `import.meta.url` in its source. */
const MODULE_URL = 'const MODULE_URL=require("node:url").pathToFileURL(__filename).href;';

const FORMAT = {
  platform: 'node',
  target: 'node20.12',
  sourcesContent: false,
  // Node compiles less at each start. Names stay, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'silent',
};

/**
 * Throws with the messages of esbuild when src/ cannot be compiled. Types are not checked here.
 * @param {{ only?: boolean }} options `only`: dist/ must have nothing of earlier builds, as in a package.
 */
function buildWhenStale(root, { only = false } = {}) {
  const dist = join(root, 'dist');
  const isCurrent = (signature) => readStamp(dist).signature === signature && !(only && oldChunks(dist).length > 0);
  if (isCurrent(signSources(root))) return;
  const work = join(root, '.halo-build');
  mkdirSync(work, { recursive: true });
  const unlock = lock(join(work, 'lock'));
  try {
    const signature = signSources(root);
    if (isCurrent(signature)) return;
    // Of builds that were interrupted: only the holder of the lock builds.
    for (const name of readdirSync(work).filter((name) => name !== 'lock'))
      rmSync(join(work, name), { recursive: true, force: true });
    if (process.stderr.isTTY) process.stderr.write('halo: building what changed in src/ …\n');
    const fresh = join(work, `dist-${process.pid}`);
    compile(root, work, { outDir: fresh });
    compileDashboard(root, join(fresh, 'web'));
    const built = readdirSync(join(fresh, CHUNKS));
    if (!only) keepChunks(dist, fresh);
    writeFileSync(join(fresh, STAMP), [signature, ...built].join('\n'));
    replace(dist, fresh, join(work, `old-${process.pid}`));
  } finally {
    unlock();
  }
}

/** Changes with the name, size and time of any source: reading them all would cost more than a start may. */
function signSources(root) {
  let text = '';
  const sign = (path) => {
    const { mtimeMs, size } = statSync(path);
    text += `${path.slice(root.length)} ${mtimeMs} ${size}\n`;
  };
  const visit = (dir) => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      // Much faster than join, and every start of a checkout waits for it.
      const path = `${dir}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      else sign(path);
    }
  };
  sign(join(root, 'tsconfig.json'));
  sign(join(root, 'scripts', 'build.cjs'));
  visit(join(root, 'src'));
  return createHash('sha1').update(text).digest('hex');
}

function readStamp(dist) {
  try {
    const [signature, ...names] = readFileSync(join(dist, STAMP), 'utf8').split('\n');
    return { signature, names };
  } catch {
    return { signature: undefined, names: [] };
  }
}

/**
 * Bundles entries of src/, by their names in `outDir`. `work` is a folder for temporary files.
 * @param {{ outDir: string, entries?: Record<string, string> }} options
 */
function compile(root, work, { outDir, entries = ENTRIES }) {
  const { buildSync } = require('esbuild');
  const folder = join(work, 'packages');
  mkdirSync(folder, { recursive: true });
  const fromRoot = createRequire(join(root, 'package.json'));
  const stand = (name, text) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  try {
    const unused = stand('unused.cjs', '');
    const { outputFiles } = buildSync({
      ...FORMAT,
      absWorkingDir: root,
      entryPoints: entries,
      bundle: true,
      splitting: true,
      format: 'esm',
      outExtension: { '.js': '.cjs' },
      mainFields: ['module', 'main'],
      alias: {
        ...Object.fromEntries(UNUSED.map((name) => [name, unused])),
        ssh2: stand('ssh.cjs', LAZY_SSH),
        // esbuild does not know the names that a CommonJS package exports, and `import()` needs them.
        pino: stand('pino.mjs', `export { pino } from ${JSON.stringify(fromRoot.resolve('pino'))};`),
        zod: stand('zod.mjs', zodExports(root, folder)),
      },
      define: { 'import.meta.url': 'MODULE_URL' },
      external: [...ADDONS, ...packagesOf(root).filter((name) => !BUNDLED.includes(name))],
      nodePaths: [join(root, 'node_modules')],
      // The paths in source maps are relative to the final folder, so esbuild must not write to another one.
      outdir: join(root, 'dist'),
      // As deep as an entry: PACKAGE_ROOT in src/lib/version.ts depends on it.
      chunkNames: `${CHUNKS}/[name]-[hash]`,
      sourcemap: 'inline',
      write: false,
    });
    const scripts = findScripts(join(root, 'src'));
    mkdirSync(join(outDir, CHUNKS), { recursive: true });
    for (const { path, text } of outputFiles)
      writeModule(join(outDir, relative(join(root, 'dist'), path)), text, scripts);
    const isRead = ({ name }) => outputFiles.some(({ text }) => text.includes(`"./${name}"`));
    for (const { built, content } of scripts.filter(isRead)) writeFileSync(join(outDir, CHUNKS, built), content);
  } catch (error) {
    rmSync(outDir, { recursive: true, force: true });
    throw new Error(`src/ cannot be compiled: ${error.message}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Writes a built module as CommonJS, which bin/load.js can keep as V8 has compiled it. */
function writeModule(place, text, scripts) {
  const { transformSync } = require('esbuild');
  const { code, map } = transformSync(text, {
    ...FORMAT,
    format: 'cjs',
    supported: { 'dynamic-import': false },
    sourcefile: 'module.mjs',
    sourcemap: 'external',
    banner: text.includes('MODULE_URL') ? MODULE_URL : '',
  });
  mkdirSync(dirname(place), { recursive: true });
  const named = scripts.reduce((code, { name, built }) => code.replaceAll(`"./${name}"`, `"./${built}"`), code);
  writeFileSync(place, `${named}//# sourceMappingURL=${basename(place)}.map\n`);
  writeFileSync(`${place}.map`, map);
}

/** All of zod but the translations of its messages, which are half of it. `folder` is for modules of its own. */
function zodExports(root, folder) {
  const without = (path) => {
    const place = join(root, 'node_modules', 'zod', 'v4', path);
    const all = readFileSync(place, 'utf8');
    const rest = all.replace(/^export \* as locales .*\n/m, '');
    if (rest === all) throw new Error(`${place} exports no translations`);
    return rest.replace(/ from "(\.[^"]*)"/g, (_, each) => ` from ${JSON.stringify(join(dirname(place), each))}`);
  };
  writeFileSync(join(folder, 'zod-core.mjs'), without('core/index.js'));
  const all = without('classic/external.js').replace(
    /^export \* as core .*$/m,
    "export * as core from './zod-core.mjs';",
  );
  return `import * as z from './zod.mjs';\nexport { z };\n${all}`;
}

function packagesOf(root) {
  return Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies);
}

/** Bundles the dashboard, which runs in browsers. */
function compileDashboard(root, outDir) {
  const { buildSync } = require('esbuild');
  try {
    buildSync({
      absWorkingDir: root,
      entryPoints: ['main.tsx', 'main.css'].map((name) => join(root, 'src', 'web', name)),
      alias: { 'node:crypto': join(root, 'src', 'web', 'page', 'browser-crypto.ts') },
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      outdir: outDir,
      logLevel: 'silent',
    });
  } catch (error) {
    throw new Error(`src/web cannot be compiled: ${error.message}`);
  }
}

/** Files that built modules read: Lua scripts for Redis, and programs of their own. Built names have a hash, so that a chunk of an earlier build reads the script that it knows. */
function findScripts(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry;
    const path = join(folder, name);
    if (entry.isDirectory()) return findScripts(path);
    if (!/\.(?:lua|mjs)$/.test(name)) return [];
    const content = name.endsWith('.lua') ? readFileSync(path) : compileProgram(path);
    const digest = createHash('sha1').update(content).digest('hex').slice(0, 8);
    return [{ name, built: name.replace(/(?=\.\w+$)/, `-${digest}`), content }];
  });
}

/** A program and the modules that it imports, as one file. */
function compileProgram(path) {
  const { buildSync } = require('esbuild');
  const { outputFiles } = buildSync({ ...FORMAT, entryPoints: [path], bundle: true, format: 'esm', write: false });
  return outputFiles[0].contents;
}

/** Files of chunks/ are kept for this time after the first build without them. */
const KEEP_MS = 24 * 60 * 60 * 1000;

/** Links the files that running processes may still import: they started from an earlier build. */
function keepChunks(dist, fresh) {
  if (!existsSync(join(dist, CHUNKS))) return;
  const now = new Date();
  const current = new Set(readStamp(dist).names);
  for (const name of readdirSync(join(dist, CHUNKS)).filter((name) => !name.endsWith('.map'))) {
    const [old, kept] = [join(dist, CHUNKS, name), join(fresh, CHUNKS, name)];
    if (existsSync(kept)) continue;
    // The time of the file is the time of the first build without it.
    if (current.has(name)) utimesSync(old, now, now);
    if (now - statSync(old).mtime < KEEP_MS) linkSync(old, kept);
  }
}

/** Names of files in chunks/ that only processes of earlier builds import. */
function oldChunks(dist) {
  const current = new Set(readStamp(dist).names);
  return readdirSync(join(dist, CHUNKS)).filter((name) => !current.has(name));
}

function replace(dist, fresh, old) {
  rmSync(old, { recursive: true, force: true });
  try {
    renameSync(dist, old);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  renameSync(fresh, dist);
  rmSync(old, { recursive: true, force: true });
}

/** No build takes longer: a lock older than that is of a process whose id was given to another. */
const LOCK_MS = 120_000;

/**
 * Waits for a lock and returns a function that releases it. The lock is a symbolic link whose target names its owner:
 * a process id and a random part.
 */
function lock(path) {
  const me = `${process.pid}:${randomBytes(6).toString('hex')}`;
  while (!tryLink(me, path)) {
    const owner = ownerOf(path);
    if (owner === undefined) continue;
    if (!isDead(path, owner)) pause();
    else removeDeadLock(path, { owner, me });
  }
  return () => removeLock(path, me);
}

/**
 * Removes the lock of a dead owner. A lock with the name of that owner has to be held for it; otherwise a process that
 * saw the dead owner could remove the lock of its successor.
 */
function removeDeadLock(path, { owner, me }) {
  const claim = `${path}.${owner.replace(/^.*:/, '')}`;
  if (tryLink(me, claim)) {
    removeLock(path, owner);
    removeLock(claim, me);
    return;
  }
  const claimant = ownerOf(claim);
  if (claimant !== undefined && isDead(claim, claimant)) removeDeadLock(claim, { owner: claimant, me });
  else pause();
}

function removeLock(path, owner) {
  if (ownerOf(path) === owner) rmSync(path, { force: true });
}

function tryLink(owner, path) {
  try {
    symlinkSync(owner, path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function ownerOf(path) {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function isDead(path, owner) {
  try {
    process.kill(Number.parseInt(owner, 10), 0);
    return Date.now() - lstatSync(path).mtimeMs >= LOCK_MS;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

function pause() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20 + Math.random() * 30);
}

module.exports = { buildWhenStale, compile, lock, ENTRIES };

if (require.main === module) buildWhenStale(join(__dirname, '..'), { only: true });
