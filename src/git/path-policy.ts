import { posix } from 'node:path';
import { hasHidden } from '../core/text/hidden-characters.ts';
import { violation } from './violation.ts';

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
const MAX_DEPTH = 64;
const MAX_LINK_BYTES = 1024;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** What some file system takes for `.git`: case, Windows short names, trailing dots and blanks. */
const GIT_NAME = /^(?:\.git|git~\d+)[ .]*$/i;
const MODULES_NAME = /^(?:\.gitmodules|gitmod~\d+|gi7eba~\d+|gi7d29~\d+)[ .]*$/i;
/** What Windows gives to a longer name besides its own: a file so called may stand for `.github`. */
const SHORT_NAME = /^[^.~]{1,6}~\d+(?:\.[^.]{0,3})?$/;
const RESERVED_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$) *(?:\..*)?$/;

/** Rules for every changed path. Throws POLICY_VIOLATION. */
export function checkChangedPath(path: string): void {
  if (INVISIBLE.test(path) || hasHidden(path)) throw violation(path, 'the path holds control or invisible characters');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw violation(path, `the path is longer than ${MAX_PATH_BYTES} bytes`);
  for (const name of path.split('/')) {
    if (name === '' || name === '.' || name === '..') throw violation(path, 'the path leaves its folder');
    const folded = foldName(name);
    if (GIT_NAME.test(folded)) throw violation(path, 'a path may not lead into .git');
    if (MODULES_NAME.test(folded)) throw violation(path, 'submodules may not be changed');
  }
}

/** Rules for paths that are new; a name that the repository has already is its own business. Throws POLICY_VIOLATION. */
export function checkNewPath(path: string): void {
  if (path.normalize('NFC') !== path) throw violation(path, 'the path is not in Unicode normal form C');
  if (/[\\:]/.test(path)) throw violation(path, 'the path holds a backslash or a colon');
  const names = path.split('/');
  if (names.length > MAX_DEPTH) throw violation(path, `the path is more than ${MAX_DEPTH} names deep`);
  for (const name of names) {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES)
      throw violation(path, `a name is longer than ${MAX_NAME_BYTES} bytes`);
    if (/[ .]$/.test(name)) throw violation(path, 'a name ends with a blank or a dot');
    if (SHORT_NAME.test(name)) throw violation(path, 'Windows gives such a name to others');
    if (RESERVED_NAME.test(foldName(name))) throw violation(path, 'the name is reserved on Windows');
  }
}

/** A symbolic link must be relative and stay in the tree whatever other links exist. Throws POLICY_VIOLATION. */
export function checkLink(path: string, target: Buffer): void {
  const text = target.toString('utf8');
  if (posix.basename(path).toLowerCase().startsWith('.git'))
    throw violation(path, 'git files may not be symbolic links');
  if (
    text === '' ||
    target.length > MAX_LINK_BYTES ||
    !Buffer.from(text).equals(target) ||
    INVISIBLE.test(text) ||
    hasHidden(text)
  ) {
    throw violation(path, 'the symbolic link has no plain target');
  }
  if (text.startsWith('/') || /[\\:]/.test(text)) throw violation(path, 'the symbolic link is not relative');
  const names = text.split('/').filter((name) => name !== '' && name !== '.');
  const down = names.findIndex((name) => name !== '..');
  const up = down === -1 ? names.length : down;
  // `x/..` is not always here: x may be a link itself. So steps up are allowed at the start only.
  if (up > path.split('/').length - 1 || names.slice(up).includes('..')) {
    throw violation(path, 'the symbolic link leads out of the tree');
  }
  if (names.some((name) => GIT_NAME.test(foldName(name)))) throw violation(path, 'the symbolic link leads into .git');
}

/** Names that a file system without case or normal forms cannot tell apart have the same fold. */
export function foldName(name: string): string {
  return name.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD');
}
