// Turns a workspace in which setup has run into a snapshot: only what the commit does not have stays, readable and
// writable for a group. halo runs this in a sandbox of its own image, after restore-tree.mjs and while nothing else uses
// the workspace.
//
//   node seal-snapshot.mjs <workspace> <commit> <group>
//   node seal-snapshot.mjs <snapshot>
//
// The second form changes nothing, and prints the digest of a volume that was made into a snapshot before.
// `.git` must be the one that restore-tree.mjs has made. What Python compiled is removed, because Python trusts it
// without a look at the source. Prints one line of JSON: {"digest": "…", "bytes": n, "files": n}, {"error": "…"} if the
// contents cannot be a snapshot, or {"fault": "…"} for what the machine is short of. The digest is the SHA-256 of a line
// for each path in order: type, whether it is a program, SHA-256 of the content or target, and path. State files of
// package managers that contain times do not count.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { at, isFault, look, remove, run } from './restore-files.mjs';

const NAME_LENGTH = 200;
const MAX_ENTRIES = 2_000_000;
const COMPILED = /^__pycache__$|\.py[co]$/;
const VOLATILE = /^(?:\.modules\.yaml|\.yarn-state\.yml|\.pnpm-workspace-state(?:-v\d+)?\.json)$/;
const CHUNK = 1024 * 1024;

const [workspace, commit, group] = process.argv.slice(2);
const isSealed = commit === undefined;
const gid = Number(group);
const uid = process.getuid();
const digest = createHash('sha256');
const totals = { bytes: 0, files: 0 };

/** The commit's paths; its folders, the deepest first. */
function removeTracked() {
  const list = run('git', [`--git-dir=${workspace}/.git`, 'ls-tree', '-r', '-t', '-z', '--full-tree', commit]);
  const entries = list.split('\0').filter((line) => line !== '');
  const [files, folders] = [[], []];
  for (const line of entries) {
    const path = line.slice(line.indexOf('\t') + 1);
    (/^(?:040000|160000) /.test(line) ? folders : files).push(path);
  }
  for (const path of files) if (look(path) !== undefined) fs.unlinkSync(at(path));
  remove('.git');
  for (const path of folders.reverse()) if (isEmpty(path)) fs.rmdirSync(at(path));
}

function isEmpty(path) {
  return look(path)?.isDirectory() === true && fs.readdirSync(at(path)).length === 0;
}

function shareFolder(path, found) {
  if (isSealed) return;
  const wanted = (found.mode & 0o707) | ((found.mode & 0o700) >> 3) | 0o2000;
  fs.chownSync(at(path), uid, gid);
  if ((found.mode & 0o7777) !== wanted) fs.chmodSync(at(path), wanted);
}

function shareFile(path, found) {
  if (isSealed) return;
  // A change of the owner takes set-user-id away; the mode is set afterwards, without it.
  fs.chownSync(at(path), uid, gid);
  fs.chmodSync(at(path), (found.mode & 0o707) | ((found.mode & 0o700) >> 3));
}

function hashFile(path) {
  const hash = createHash('sha256');
  const file = fs.openSync(at(path), fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  try {
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (let size; (size = fs.readSync(file, buffer, 0, CHUNK, null)) > 0;) hash.update(buffer.subarray(0, size));
  } finally {
    fs.closeSync(file);
  }
  return hash.digest('hex');
}

function note(kind, path, name, content) {
  if (!VOLATILE.test(name)) digest.update(`${kind} ${content} ${Buffer.from(path, 'latin1').toString('hex')}\n`);
}

/** Without recursion, because folders may be nested to any depth. */
function share() {
  const waiting = [''];
  while (waiting.length > 0) {
    const folder = waiting.pop();
    const names = fs.readdirSync(folder === '' ? workspace : at(folder), 'latin1').sort();
    const inner = [];
    for (const name of names) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (COMPILED.test(name)) {
        if (!isSealed) remove(path);
        continue;
      }
      const found = look(path);
      totals.bytes += found.blocks * 512;
      totals.files += 1;
      if (totals.files > MAX_ENTRIES) throw new Error(`setup leaves more than ${MAX_ENTRIES} files`);
      if (found.isSymbolicLink()) {
        if (!isSealed) fs.lchownSync(at(path), uid, gid);
        note(
          'link',
          path,
          name,
          createHash('sha256')
            .update(fs.readlinkSync(at(path), 'buffer'))
            .digest('hex'),
        );
      } else if (found.isDirectory()) {
        shareFolder(path, found);
        note('folder', path, name, '-');
        inner.push(path);
      } else if (found.isFile()) {
        if ((found.mode & 0o400) === 0) throw new Error(`setup leaves ${show(path)}, which it cannot read`);
        note((found.mode & 0o100) === 0 ? 'file' : 'program', path, name, hashFile(path));
        shareFile(path, found);
      } else throw new Error(`setup leaves ${show(path)}, which is a pipe or a socket`);
    }
    waiting.push(...inner.reverse());
  }
}

function show(path) {
  return Buffer.from(path, 'latin1').toString('utf8').slice(0, NAME_LENGTH);
}

try {
  if (!isSealed) removeTracked();
  share();
  if (!isSealed) run('sync', ['-f', workspace]);
  process.stdout.write(`${JSON.stringify({ digest: digest.digest('hex'), ...totals })}\n`);
} catch (error) {
  const kind = isFault(error) ? 'fault' : 'error';
  process.stdout.write(`${JSON.stringify({ [kind]: String(error.message ?? error).slice(0, NAME_LENGTH) })}\n`);
}
