import { HaloError } from '../../core/failure/errors.ts';
import { formatCodePoint, replaceHidden } from '../../core/text/hidden-characters.ts';

/** Makes text of unknown origin safe for a message: one line, hidden characters spelled out, at most `max` characters. */
export function printableText(text: string, max = 200): string {
  const spelled = replaceHidden(text.replace(/[\t\n\r]/g, formatCodePoint), formatCodePoint);
  return spelled.length <= max ? spelled : `${spelled.slice(0, max)}…`;
}

/** Errors that only follow from another one, which git prints before them. */
const CONSEQUENCES =
  /early EOF|invalid index-pack output|index-pack failed|unexpected disconnect|hung up unexpectedly|bad pack header|expected 'packfile'|aborting due to possible repository corruption|Could not read from remote repository/i;

/**
 * The last error line on git's stderr that names a cause, safe to print; passwords in addresses are removed.
 */
export function lastErrorLine(stderr: string): string | undefined {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('hint:'));
  const errors = lines.filter((text) => /^(?:remote: )?(?:fatal|error): /.test(text));
  const line = errors.findLast((text) => !CONSEQUENCES.test(text)) ?? errors.at(-1) ?? lines.at(-1);
  return line === undefined ? undefined : printableText(line.replace(/:\/\/[^@/\s]*@/g, '://'), 300);
}

/**
 * Why a git command failed, in git's own words, safe to print. Some commands, such as `git stash`, print that to stdout, which
 * is absent where it was streamed.
 */
export function reasonOf({ stdout, stderr }: { stdout?: Buffer; stderr: string }): string | undefined {
  return lastErrorLine(stderr) ?? (stdout === undefined ? undefined : lastErrorLine(stdout.toString('utf8')));
}

/** Splits what git prints with `-z`; empty parts are left out. */
export function splitNul(bytes: Buffer): string[] {
  return bytes
    .toString('utf8')
    .split('\0')
    .filter((part) => part !== '');
}

const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

/** Guards places where a revision or an option would be understood as well. Throws INTERNAL. */
export function assertObjectId(text: string, what: string): void {
  if (!isObjectId(text)) throw new HaloError('INTERNAL', `${what} is not an object id.`);
}

/** Whether it is the id that stands for no object. */
export function isZeroId(id: string): boolean {
  return /^0+$/.test(id);
}

/** Returns the all-zero id ("no object") of the same length as `id`. */
export function zeroId(id: string): string {
  return '0'.repeat(id.length);
}
