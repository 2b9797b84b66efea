import { FILES_PLACEHOLDER } from '../../core/review/tests-first.ts';
import { parseSize, parseDuration } from '../../lib/units.ts';
import { allowedRules, parseAllowed } from '../../lib/secrets/allowed-rules.ts';
import { compilePattern } from '../../lib/secrets/search.ts';
import { isReportPath } from '../../core/test-report/test-report.ts';
import { REGISTRIES } from '../../core/journal/egress-events.ts';
import { didYouMean } from '../../core/text/did-you-mean.ts';
import { z } from 'zod';
import { isIP } from 'node:net';
import { withFacts, type Quantity } from './units.ts';

/** A string that is not blank. */
export const Text = z
  .string({ error: 'must be a string' })
  .refine((text) => text.trim() !== '', 'must not be empty')
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character');

/** A path on this machine; a relative one is resolved against the folder of the source that sets it. */
export const HostPath = withFacts(Text.clone(), { isPath: true });

/** A regular expression that matches secrets. */
export const SecretPattern = Text.superRefine((source, context) => {
  try {
    compilePattern(source);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    context.addIssue({ code: 'custom', message: `is not a valid regular expression: ${why}` });
  }
});

/** A rule that finds possible secrets, with or without a glob. */
export const AllowedSecret = Text.superRefine((text, context) => {
  const { rule, glob } = parseAllowed(text);
  const rules = allowedRules();
  const unknown = `names ${JSON.stringify(rule)}, which is not a rule`;
  const meant = didYouMean(rule, rules) || '; halo names the rule of each possible secret';
  if (glob === '')
    context.addIssue({ code: 'custom', message: `must have a glob after the colon of ${JSON.stringify(text)}` });
  else if (!rules.includes(rule)) context.addIssue({ code: 'custom', message: `${unknown}${meant}` });
});

/** Shell commands, in order. */
export const Commands = z.array(Text, { error: 'must be a list of commands, like ["npm test"]' });

const MAX_GLOBS = 100;
const MAX_GLOB_LENGTH = 200;
const MAX_GLOBS_LENGTH = 4000;

/** Paths with `*`, `**`, `?` and `{a,b}`, relative to the repository root; a leading `!` excludes. */
export const GlobList = z
  .array(
    Text.refine(
      (glob) => !/^!?\//.test(glob),
      'must not begin with a slash: paths are relative to the repository root',
    ).max(MAX_GLOB_LENGTH, `must be at most ${MAX_GLOB_LENGTH} characters long`),
    { error: 'must be a list of globs, like ["migrations/**"]' },
  )
  .max(MAX_GLOBS, `must be at most ${MAX_GLOBS} globs`)
  .refine(
    (globs) => globs.join('').length <= MAX_GLOBS_LENGTH,
    `must be at most ${MAX_GLOBS_LENGTH} characters together`,
  );

const MAX_PATH_LENGTH = 500;
const MAX_FILES = 20;

/** A file of the repository by its path from the top, with an optional `#heading`. */
export const RepositoryFile = Text.max(MAX_PATH_LENGTH, `must be at most ${MAX_PATH_LENGTH} characters long`).refine(
  (name) => isPlainPath(name.split('#')[0] ?? ''),
  'must be a plain path relative to the repository root, like "docs/standards.md"',
);

export const RepositoryFiles = z
  .array(RepositoryFile, { error: 'must be a list of paths, like ["docs/standards.md"]' })
  .max(MAX_FILES, `must be at most ${MAX_FILES} paths`);

function isPlainPath(path: string): boolean {
  return !/[\\\p{Cc}]/u.test(path) && path.split('/').every((part) => !['', '.', '..', '.git'].includes(part));
}

/** A command that runs the test files in place of `{files}`. */
export const TestCommand = Text.refine(
  (command) => command.includes(FILES_PLACEHOLDER),
  `must contain ${FILES_PLACEHOLDER}, such as "pytest -v {files}"`,
);

/** Paths of files in the workspace, which a shell script in a sandbox uses. */
export const ReportPaths = z
  .array(Text.refine(isReportPath, 'must be a plain path relative to the repository root'), {
    error: 'must be a list of paths, like ["reports/junit.xml"]',
  })
  .max(20, 'must be at most 20 paths');

/** `45m`, in ms. */
export const Duration = withFacts(
  parsed('a duration above 0, like "45m", "30s" or "1h30m"', (text) => {
    const ms = parseDuration(text);
    return ms === 0 ? undefined : (ms as Quantity<'Ms'> | undefined);
  }),
  { unit: 'Ms' },
);

/** `4g`, in bytes. */
export const Size = sizeThat('a size, like "512m" or "4g"', (bytes) => bytes > 0);

/** A size of at least this much, such as `64m`. */
export function sizeOfAtLeast(least: string) {
  const bytes = parseSize(least) ?? 0;
  return sizeThat(`a size of at least "${least}"`, (given) => given >= bytes);
}

/** `host:port`, the host in lower case. */
export const HostPort = parsed('exactly host:port, like "packages.example.com:443", without wildcards', parseHostPort);

/** The URL of git repositories: everything below it. Without encryption only on this machine. */
export const GitUrl = z
  .string({ error: 'must be a string' })
  .regex(
    /^(?:https:\/\/[\w.-]+|http:\/\/(?:localhost|127(?:\.\d+){3}))(?::\d{1,5})?(?:\/[\w.~@+-]+)*\/$/,
    'must be a URL that ends with a slash, like "https://git.example.com/team/"',
  );

/** Names of package registries. */
export const RegistryList = z.array(oneOf(...REGISTRIES), { error: 'must be a list like ["npm", "pypi"]' });

/** `Name <email>`. */
export const Author = parsed('of the form "Name <email>"', (text) => {
  const match = /^([^<>\p{Cc}]+) <([^<>\s\p{Cc}]+)>$/u.exec(text.trim());
  return match === null ? undefined : { name: (match[1] ?? '').trim(), email: match[2] ?? '' };
});

const PLACEHOLDERS = ['id', 'title', 'title_lower', 'type', 'scope', 'run'];

/** The template of a commit message. */
export const Message = Text.refine((text) => {
  return [...text.matchAll(/\{(\w*)\}/g)].every(([, name]) => PLACEHOLDERS.includes(name ?? ''));
}, 'may use only {id}, {title}, {title_lower}, {type}, {scope} and {run}');

/** The URL of an HTTP service, without a trailing slash. */
export const BaseUrl = parsed('an http or https URL without user, query or fragment', (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return undefined;
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined;
  return text.replace(/(?<!\/)\/+$/, '');
});

const MAX_NAME_LENGTH = 200;
const MAX_VALUE_LENGTH = 65_536;
const MAX_VARIABLES = 1000;

/** The name of an environment variable. */
export const VariableName = z
  .string({ error: 'must be a string' })
  .max(MAX_NAME_LENGTH, `must be at most ${MAX_NAME_LENGTH} characters long`)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, like OPENAI_API_KEY');

/** Names and values of environment variables. */
export const Variables = z
  .record(
    z
      .string()
      .max(MAX_NAME_LENGTH, `is longer than ${MAX_NAME_LENGTH} characters`)
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of an environment variable'),
    z
      .string({ error: 'must be a string; put numbers in quotes' })
      .max(MAX_VALUE_LENGTH, `must be at most ${MAX_VALUE_LENGTH} characters long`)
      .refine((text) => !text.includes('\0'), 'must not contain a NUL character'),
    { error: 'must be a table of strings' },
  )
  .refine((table) => Object.keys(table).length <= MAX_VARIABLES, `must be at most ${MAX_VARIABLES} variables`);

/** A whole number in a range. */
export function wholeNumber(least: number, most: number) {
  const rule = `must be a whole number from ${least} to ${most}`;
  return z.number({ error: rule }).int(rule).min(least, rule).max(most, rule);
}

/** Money in USD. */
export const Usd = z
  .number({ error: 'must be an amount in USD, like 5 or 0.5' })
  .positive('must be more than 0')
  .max(1_000_000, 'must be at most 1000000');

/** A table by model name; names with dots must be quoted. */
export function perModel<S extends z.ZodType>(example: string, member: S) {
  const name = z.string().regex(/^(?!__proto__$)[\w.:/@-]+$/, 'is not the name of a model');
  return byQuotedName(example, { name, member });
}

/** A table of tables by names that may have dots. */
export function byQuotedName<N extends z.ZodString, S extends z.ZodType>(
  example: string,
  { name, member }: { name: N; member: S },
) {
  const quoted = z.unknown().refine((table) => !holdsTable(table), 'contains a table: a name with dots must be quoted');
  return z.record(name, quoted.pipe(member), { error: `must be a table like ${example}` });
}

function holdsTable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).some((part) => typeof part === 'object');
}

/** One of the given words. */
export function oneOf<const T extends readonly [string, ...string[]]>(...words: T) {
  const list = words.map((word) => `"${word}"`).join(', ');
  return z.enum(words, { error: ({ input }) => `must be one of ${list}${didYouMean(input, words)}` });
}

/** A string that `parse` accepts; `what` describes the format for error messages. */
function parsed<T>(what: string, parse: (text: string) => T | undefined) {
  return z.string({ error: `must be ${what}` }).transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.issues.push({ code: 'custom', input: text, message: `must be ${what}` });
    return z.NEVER;
  });
}

function sizeThat(what: string, fits: (bytes: number) => boolean) {
  const parse = (text: string) => {
    const bytes = parseSize(text);
    return bytes !== undefined && fits(bytes) ? (bytes as Quantity<'Bytes'>) : undefined;
  };
  return withFacts(parsed(what, parse), { unit: 'Bytes' });
}

function parseHostPort(text: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+)):(\d{1,5})$/.exec(text.toLowerCase());
  if (match === null) return undefined;
  const [, address, host = '', port = ''] = match;
  if (Number(port) < 1 || Number(port) > 65_535 || port.startsWith('0')) return undefined;
  if (address !== undefined) return isIP(address) === 6 ? text.toLowerCase() : undefined;
  return isIP(host) === 4 || isHostName(host) ? text.toLowerCase() : undefined;
}

/** True for names of letters, digits and hyphens. A name that ends in a number would be parsed as an address. */
function isHostName(host: string): boolean {
  const labels = host.split('.');
  if (host.length > 253 || /^\d+$/.test(labels.at(-1) ?? '')) return false;
  return labels.every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
}
