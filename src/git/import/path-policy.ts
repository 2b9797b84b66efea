import { posix } from 'node:path';
import { hasHidden } from '../../core/text/hidden-characters.ts';
import { policyViolation } from './policy-violation.ts';

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
const MAX_DEPTH = 64;
const MAX_LINK_BYTES = 1024;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** Names that some file system treats as `.git`: other case, Windows short names, trailing dots and spaces. */
const GIT_NAME = /^(?:\.git|git~\d+)[ .]*$/i;
const MODULES_NAME = /^(?:\.gitmodules|gitmod~\d+|gi7eba~\d+|gi7d29~\d+)[ .]*$/i;
/** A Windows short name of a longer one: a file with such a name could be an alias of `.github`. */
const SHORT_NAME = /^[^.~]{1,6}~\d+(?:\.[^.]{0,3})?$/;
const RESERVED_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$) *(?:\..*)?$/;

/** Checks the rules for every changed path. Throws POLICY_VIOLATION. */
export function assertChangedPathAllowed(path: string): void {
  if (INVISIBLE.test(path) || hasHidden(path))
    throw policyViolation(path, 'the path contains control or invisible characters');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw policyViolation(path, `the path is longer than ${MAX_PATH_BYTES} bytes`);
  for (const name of path.split('/')) {
    if (name === '' || name === '.' || name === '..') throw policyViolation(path, 'the path leaves its folder');
    const folded = foldName(name);
    if (GIT_NAME.test(folded)) throw policyViolation(path, 'a path may not lead into .git');
    if (MODULES_NAME.test(folded)) throw policyViolation(path, 'submodules may not be changed');
  }
}

/** Checks the additional rules for new paths; existing names are exempt. Throws POLICY_VIOLATION. */
export function assertNewPathAllowed(path: string): void {
  if (path.normalize('NFC') !== path) throw policyViolation(path, 'the path is not in Unicode normal form C');
  if (/[\\:]/.test(path)) throw policyViolation(path, 'the path contains a backslash or a colon');
  const names = path.split('/');
  if (names.length > MAX_DEPTH) throw policyViolation(path, `the path is more than ${MAX_DEPTH} names deep`);
  for (const name of names) {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES)
      throw policyViolation(path, `a name is longer than ${MAX_NAME_BYTES} bytes`);
    if (/[ .]$/.test(name)) throw policyViolation(path, 'a name ends with a space or a dot');
    if (SHORT_NAME.test(name)) throw policyViolation(path, 'the name has the form of a Windows short name');
    if (RESERVED_NAME.test(foldName(name))) throw policyViolation(path, 'the name is reserved on Windows');
  }
}

/** Checks that a symbolic link is relative and stays in the tree, whatever other links exist. Throws POLICY_VIOLATION. */
export function assertLinkAllowed(path: string, target: Buffer): void {
  const text = target.toString('utf8');
  if (posix.basename(path).toLowerCase().startsWith('.git'))
    throw policyViolation(path, 'git files may not be symbolic links');
  if (
    text === '' ||
    target.length > MAX_LINK_BYTES ||
    !Buffer.from(text).equals(target) ||
    INVISIBLE.test(text) ||
    hasHidden(text)
  ) {
    throw policyViolation(path, 'the symbolic link has no plain target');
  }
  if (text.startsWith('/') || /[\\:]/.test(text)) throw policyViolation(path, 'the symbolic link is not relative');
  const names = text.split('/').filter((name) => name !== '' && name !== '.');
  const down = names.findIndex((name) => name !== '..');
  const up = down === -1 ? names.length : down;
  // `x/..` may lead elsewhere because x may be a link itself, so `..` is allowed at the start only.
  if (up > path.split('/').length - 1 || names.slice(up).includes('..')) {
    throw policyViolation(path, 'the symbolic link leads out of the tree');
  }
  if (names.some((name) => GIT_NAME.test(foldName(name))))
    throw policyViolation(path, 'the symbolic link leads into .git');
}

/** Folds case and Unicode form: names that a case-insensitive file system cannot distinguish get the same result. */
export function foldName(name: string): string {
  return name.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD');
}
