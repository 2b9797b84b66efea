import { replaceHidden, formatCodePoint } from '../../core/text/hidden-characters.ts';

/** Makes text of unknown origin safe for a message: one line, hidden characters spelled out, at most `max` characters. */
export function printableText(text: string, max = 200): string {
  const spelled = replaceHidden(text.replace(/[\t\n\r]/g, formatCodePoint), formatCodePoint);
  return spelled.length <= max ? spelled : `${spelled.slice(0, max)}…`;
}

/** The last error line on git's stderr, safe to print; passwords in addresses are removed. */
export function lastErrorLine(stderr: string): string | undefined {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('hint:'));
  const line = lines.findLast((text) => /^(fatal|error|remote: error): /.test(text)) ?? lines.at(-1);
  return line === undefined ? undefined : printableText(line.replace(/:\/\/[^@/\s]*@/g, '://'), 300);
}

/** Splits what git prints with `-z`; empty parts are left out. */
export function splitNul(bytes: Buffer): string[] {
  return bytes
    .toString('utf8')
    .split('\0')
    .filter((part) => part !== '');
}
