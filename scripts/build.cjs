// Bundles src/ into dist/, unless it is of the same sources already. Any number of processes may do so concurrently.
'use strict';

const { createHash, randomBytes } = require('node:crypto');
const { existsSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync } = require('node:fs');
const { readlinkSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } = require('node:fs');
const { dirname, join, relative } = require('node:path');

/** A file of dist/: the signature of the sources, and below it the names of the files in chunks/ that were built from them. */
const STAMP = '.sources';
const CHUNKS = 'chunks';

/** The modules of dist/ that bin/ and scripts/ import, without suffix, and their sources. */
const ENTRIES = {
  'cli/main': 'src/cli/main.ts',
  'sandbox/image': 'src/sandbox/docker/image/image.ts',
};

/**
 * What `halo ls`, `status` and `logs` load. These modules and their static imports become one file: Node takes longer to
 * find and link a hundred small modules than to run the command.
 */
const LIGHT_MODULES = [
  'src/cli/main.ts',
  'src/cli/commands/ls.ts',
  'src/cli/commands/status.ts',
  'src/cli/commands/logs.ts',
  'src/api/local.ts',
  'src/api/submit/user-name.ts',
  'src/config/environment/host.ts',
  'src/lib/failpoint.ts',
  'src/worker/process-masker.ts',
];

/**
 * Packages that many commands need: Node takes longer to find and translate their hundreds of files than to run them. They
 * are bundled apart from the sources: esbuild would wrap each module that a CommonJS package imports, as it imports the
 * light modules, in a function, which Node compiles twice.
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
  'pino',
  'smol-toml',
  'zod',
];

/** Addons of bundled packages, which work without them. */
const ADDONS = ['msgpackr-extract'];

/** Packages that dockerode loads for BuildKit, of which halo uses nothing. */
const UNUSED = ['@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs'];

/** In place of ssh2, which dockerode loads at its start, although only a DOCKER_HOST with ssh:// needs it. */
const LAZY_SSH = `const { createRequire } = require('node:module');
const CHAIN = ['dockerode', 'docker-modem', 'ssh2'];
exports.Client = function (...given) {
  const { Client } = CHAIN.reduce((from, name, at) => (at === CHAIN.length - 1 ? from(name) : createRequire(from.resolve(name))), require);
  return new Client(...given);
};
`;

/** CommonJS packages in a bundle load Node's modules with it. */
const WITH_REQUIRE =
  "import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);";

const BUNDLE = {
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  mainFields: ['module', 'main'],
  target: 'node20.12',
  sourcemap: true,
  sourcesContent: false,
  // Node compiles less at each start. Names stay, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  write: false,
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
  const light = join(work, 'light-modules.mjs');
  const imports = LIGHT_MODULES.map((name) => `import ${JSON.stringify(join(root, name))};\n`);
  writeFileSync(light, imports.join(''));
  try {
    // The paths in source maps are relative to the final folder, so esbuild must not write to another one.
    const dist = join(root, 'dist');
    const { outputFiles } = buildSync({
      ...BUNDLE,
      absWorkingDir: root,
      entryPoints: entries,
      // Every module imports the light ones. esbuild puts modules that the same entry points need into one file.
      inject: [light],
      external: packagesOf(root),
      outdir: dist,
      // As deep as an entry: PACKAGE_ROOT in src/lib/version.ts depends on it.
      chunkNames: `${CHUNKS}/[name]-[hash]`,
    });
    const packages = compilePackages(root, work, outputFiles);
    const scripts = findScripts(join(root, 'src'));
    for (const { path, text } of [...outputFiles, ...packages.outputFiles]) {
      const place = join(outDir, relative(dist, path));
      mkdirSync(dirname(place), { recursive: true });
      const linked = path.endsWith('.js') ? packages.link(path, text) : text;
      writeFileSync(
        place,
        scripts.reduce((code, { name, built }) => code.replaceAll(`"./${name}"`, `"./${built}"`), linked),
      );
    }
    for (const { built, content } of scripts) writeFileSync(join(outDir, CHUNKS, built), content);
  } catch (error) {
    rmSync(outDir, { recursive: true, force: true });
    throw new Error(`src/ cannot be compiled: ${error.message}`);
  } finally {
    rmSync(light);
  }
}

/** An import of a bundled package, as esbuild prints it: what is imported, and the name of the package. */
const IMPORT = new RegExp(
  `(\\{[^{}]*\\}from|\\* ?as \\w+ from|import \\w+ from|import\\()"(${BUNDLED.join('|')})"`,
  'g',
);

/** Bundles what built sources import of packages. `link` replaces the names of packages in such a source by their files. */
function compilePackages(root, work, sources) {
  const { buildSync } = require('esbuild');
  const imported = new Map();
  for (const { path, text } of sources)
    if (path.endsWith('.js'))
      for (const [, what, name] of text.matchAll(IMPORT)) imported.set(name, [...(imported.get(name) ?? []), what]);
  const folder = join(work, 'packages');
  mkdirSync(folder, { recursive: true });
  const stand = (name, text) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const unused = stand('unused.cjs', '');
  const alias = { ...Object.fromEntries(UNUSED.map((name) => [name, unused])), ssh2: stand('ssh.cjs', LAZY_SSH) };
  const entries = [...imported].map(([name, uses]) => {
    const place = join(folder, `${name}.mjs`);
    writeFileSync(place, name === 'zod' ? zodExports(root, folder) : exportsOf(name, uses));
    return [name, place];
  });
  try {
    const { outputFiles, metafile } = buildSync({
      ...BUNDLE,
      absWorkingDir: root,
      entryPoints: Object.fromEntries(entries),
      alias,
      external: [...ADDONS, ...packagesOf(root).filter((name) => !BUNDLED.includes(name))],
      nodePaths: [join(root, 'node_modules')],
      banner: { js: WITH_REQUIRE },
      outdir: join(root, 'dist'),
      entryNames: `${CHUNKS}/[name]-[hash]`,
      chunkNames: `${CHUNKS}/[name]-[hash]`,
      metafile: true,
    });
    const files = new Map(
      Object.entries(metafile.outputs).flatMap(([path, { entryPoint }]) => {
        const own = entries.find(([, place]) => entryPoint !== undefined && join(root, entryPoint) === place);
        return own === undefined ? [] : [[own[0], join(root, path)]];
      }),
    );
    const link = (from, text) =>
      text.replace(IMPORT, (_, what, name) => `${what}"./${relative(dirname(from), files.get(name))}"`);
    return { outputFiles, link };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A module with the exports of a package that are imported in these ways. */
function exportsOf(name, uses) {
  const from = `from ${JSON.stringify(name)};\n`;
  const names = uses.flatMap((use) => /^\{(.*)\}/.exec(use)?.[1].split(',') ?? []);
  const own = new Set(names.map((each) => each.trim().split(/\s+as\s+/)[0]));
  if (uses.some((use) => /^import \w/.test(use))) own.add('default');
  const all = uses.some((use) => !use.startsWith('{') && !use.startsWith('import '));
  return `${all ? `export * ${from}` : ''}export { ${[...own].join(', ')} } ${from}`;
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

/** Files that are not compiled: Lua scripts for Redis, and programs of their own. Built names have a hash, so that a chunk of an earlier build reads the script that it knows. */
function findScripts(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry;
    const path = join(folder, name);
    if (entry.isDirectory()) return findScripts(path);
    if (!/\.(?:lua|mjs)$/.test(name)) return [];
    const content = readFileSync(path);
    const digest = createHash('sha1').update(content).digest('hex').slice(0, 8);
    return [{ name, built: name.replace(/(?=\.\w+$)/, `-${digest}`), content }];
  });
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

module.exports = { buildWhenStale, compile, lock, ENTRIES, LIGHT_MODULES };

if (require.main === module) buildWhenStale(join(__dirname, '..'), { only: true });
