// Builds dist/ from src/, unless it is of the same sources already. Any number of processes may do so at once.
'use strict';

const { createHash } = require('node:crypto');
const { spawnSync } = require('node:child_process');
const { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync } = require('node:fs');
const { rmSync, statSync, symlinkSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const STAMP = '.sources';

/** Throws with the compiler's output when src/ cannot be compiled. Types are not checked here. */
function buildWhenStale(root) {
  if (stampOf(join(root, 'dist')) === signSources(root)) return;
  const work = join(root, '.halo-build');
  mkdirSync(work, { recursive: true });
  const unlock = lock(join(work, 'lock'));
  try {
    const signature = signSources(root);
    if (stampOf(join(root, 'dist')) === signature) return;
    // Of builds that were interrupted: whoever has the lock builds alone.
    for (const name of readdirSync(work).filter((name) => name !== 'lock'))
      rmSync(join(work, name), { recursive: true });
    if (process.stderr.isTTY) process.stderr.write('halo: building what changed in src/ …\n');
    const fresh = join(work, `dist-${process.pid}`);
    compile(root, fresh);
    writeFileSync(join(fresh, STAMP), signature);
    replace(join(root, 'dist'), fresh, join(work, `old-${process.pid}`));
  } finally {
    unlock();
  }
}

/** Changes with the name, size and time of any source: reading them all would cost more than a start may. */
function signSources(root) {
  const hash = createHash('sha1');
  const sign = (path) => {
    const { mtimeMs, size } = statSync(path);
    hash.update(`${path.slice(root.length)} ${mtimeMs} ${size}\n`);
  };
  const visit = (dir) => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) visit(path);
      else sign(path);
    }
  };
  for (const name of ['tsconfig.json', 'tsconfig.build.json']) sign(join(root, name));
  visit(join(root, 'src'));
  return hash.digest('hex');
}

function stampOf(dist) {
  try {
    return readFileSync(join(dist, STAMP), 'utf8');
  } catch {
    return undefined;
  }
}

function compile(root, outDir) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', outDir];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status === 0) return;
  rmSync(outDir, { recursive: true, force: true });
  throw new Error(`src/ cannot be compiled:\n${stdout}${stderr}`);
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

/** The lock is a link to its owner's process id; that of a dead process counts for nothing. */
function lock(path) {
  for (;;) {
    try {
      symlinkSync(String(process.pid), path);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isOwned(path)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    else rmSync(path, { force: true });
  }
}

function isOwned(path) {
  try {
    process.kill(Number(readlinkSync(path)), 0);
    return Date.now() - lstatSync(path).mtimeMs < LOCK_MS;
  } catch (error) {
    return error.code === 'EPERM' || error.code === 'ENOENT';
  }
}

module.exports = { buildWhenStale };

if (require.main === module) buildWhenStale(join(__dirname, '..'));
