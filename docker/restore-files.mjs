// The files of the workspace that restore-tree.mjs is for, by paths relative to it, and the programs that it starts.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';

const [, , workspace] = process.argv;

/** What the machine is short of, whatever is in the workspace. */
const FAULTS = ['ENOSPC', 'EDQUOT', 'ENOMEM', 'EAGAIN', 'EMFILE', 'ENFILE', 'EIO', 'EROFS', 'ESTALE'];
const FAULT_WORDS =
  /No space left|quota exceeded|[Oo]ut of memory|annot allocate memory|Too many open files|Input\/output error|Read-only file system|temporarily unavailable|terminated by signal/;

/** Modes as git makes them. */
const mask = process.umask();
export const [FILE, PROGRAM, FOLDER] = [0o666, 0o777, 0o777].map((mode) => mode & ~mask);

const environment = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
};

/** A path is a string with one character a byte, relative to the workspace: names need not be text. */
export function at(path, root = workspace) {
  return Buffer.from(`${root}/${path}`, 'latin1');
}

export function run(program, args, { input = '', cwd = '/', ok = [0] } = {}) {
  const bytes = Buffer.from(input, 'latin1');
  const options = { input: bytes, cwd, env: environment, maxBuffer: 2 ** 30 };
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, options);
  if (error !== undefined) throw error;
  if (ok.includes(status)) return stdout.toString('latin1');
  const complaint = stderr.toString().trim();
  const why = `${program} failed: ${complaint.split('\n').at(-1) || (signal ?? `exit ${status}`)}`;
  throw Object.assign(new Error(why), { isFault: signal !== null || FAULT_WORDS.test(complaint) });
}

export function look(path, root = workspace) {
  try {
    return fs.lstatSync(at(path, root));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(error.code)) return undefined;
    throw error;
  }
}

/** Removes whatever is there, of any depth and mode; follows no link. */
export function remove(path) {
  const found = look(path);
  if (found === undefined) return;
  if (!found.isDirectory()) return fs.unlinkSync(at(path));
  try {
    return fs.rmSync(at(path), { recursive: true });
  } catch {
    // A closed or very deep folder.
  }
  const input = `${at(path).toString('latin1')}\0`;
  run('xargs', ['-0', 'chmod', '-R', 'u+rwx', '--'], { input, ok: [0, 123] });
  run('xargs', ['-0', 'rm', '-rf', '--'], { input });
}

export function makeFolder(path) {
  if (look(path)?.isDirectory()) return setMode(path, FOLDER);
  remove(path);
  fs.mkdirSync(at(path), FOLDER);
}

/** Answers whether it was another one. */
export function setMode(path, mode) {
  if ((look(path).mode & 0o7777) === mode) return false;
  fs.chmodSync(at(path), mode);
  return true;
}

export function isSame(path, fresh) {
  const [wanted, found] = [look(path, fresh), look(path)];
  if (found === undefined || wanted.mode !== found.mode) return false;
  if (wanted.isSymbolicLink()) return readLink(path, fresh) === readLink(path);
  return wanted.size === found.size && isSameContent(at(path, fresh), at(path));
}

function readLink(path, root) {
  return fs.readlinkSync(at(path, root), 'latin1');
}

export function isSameContent(...paths) {
  const size = 1024 * 1024;
  const files = paths.map((path) => fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW));
  try {
    for (;;) {
      const [one, other] = files.map((file) => {
        const buffer = Buffer.alloc(size);
        return buffer.subarray(0, fs.readSync(file, buffer, 0, size, null));
      });
      if (!one.equals(other)) return false;
      if (one.length === 0) return true;
    }
  } finally {
    for (const file of files) fs.closeSync(file);
  }
}

/** Whether an error is of the machine, and not of what is in the workspace. */
export function isFault({ isFault: known, code }) {
  return known === true || FAULTS.includes(code);
}
