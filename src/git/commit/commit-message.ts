import { truncate } from '../../core/text/safe-text.ts';
import { oneLine } from '../../lib/text.ts';

interface MessageParts {
  /** Its placeholders are filled in: `{id}`, `{title}`, `{title_lower}`, `{type}`, `{scope}`, `{run}`. */
  template: string;
  /** Of a conventional commit, from fixed lists or patterns; an empty scope is omitted with its parentheses. */
  type?: string;
  scope?: string;
  id: string;
  title: string;
  run: string;
  /** The agent's summary: any text. */
  body: string;
  trailers: Record<string, string>;
}

/** The trailer that identifies the story of a commit. */
export const STORY_KEY_TRAILER = 'Halo-Story-Key';

const MAX_SUBJECT = 200;
const MAX_BODY = 4000;

/**
 * Builds a commit message whose only trailers are the given ones. Text from the PRD and the agent cannot forge trailers,
 * skip or start CI, reference issues or people, announce a breaking change, contain a patch or control a terminal.
 */
export function commitMessage(parts: MessageParts): string {
  const { id, run, body, trailers, type = 'feat', scope = '' } = parts;
  const title = withoutKeys(plainLine(parts.title), FORGE_KEY);
  const values: Record<string, string> = { id: plainLine(id), title, title_lower: lowerFirst(title), type, scope, run };
  const template = scope === '' ? parts.template.replaceAll('({scope})', '') : parts.template;
  const filled = template.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
  const subject = truncate(oneLine(filled.replace(CI_COMMAND, '($1)')), MAX_SUBJECT) || 'halo: changes';
  const block = Object.entries(trailers).map(([name, value]) => `${name}: ${trailerValue(defuse(value))}`);
  return [subject, plainBody(body), block.join('\n')].filter((part) => part !== '').join('\n\n') + '\n';
}

/** Formats a value for a trailer: one line without control characters. */
export function trailerValue(value: string): string {
  return truncate(oneLine(visible(value)), MAX_SUBJECT) || '-';
}

/** Arguments of `git log` that print the id, a newline and the message of each commit, separated by NUL. */
export const MESSAGE_LOG_ARGS = ['-z', '--encoding=UTF-8', '--format=%H%n%B'];

/**
 * Parses the trailers that `commitMessage` writes: the last lines of the message. The last of several with one name wins.
 * Git's own parser is not used because settings of the repository change what it returns.
 */
export function readTrailers(message: string): ReadonlyMap<string, string> {
  const block = message.trimEnd().split('\n\n').at(-1) ?? '';
  return new Map(
    block.split('\n').flatMap((line) => {
      const [, name, value] = /^([A-Za-z-]+): (.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** `Add a cart` becomes `add a cart`; acronyms such as `API` stay. */
function lowerFirst(text: string): string {
  return /^\p{Lu}(?!\p{Lu})/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** One harmless line. */
function plainLine(text: string): string {
  return oneLine(defuse(visible(text)));
}

function plainBody(text: string): string {
  const lines = withoutKeys(defuse(visible(text)), ANY_KEY)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => !TRAILER_LIKE.test(line))
    .map((line) => (PATCH_LIKE.test(line) ? ` ${line}` : line))
    .map((line) => (FOOTER_LIKE.test(line) ? `- ${line.trimStart()}` : line));
  const whole = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+/, '');
  return truncate(whole, MAX_BODY).trimEnd();
}

/** `Signed-off-by:`, `Halo-Run:`, `skip-checks:`, and the line of git cherry-pick. */
const TRAILER_LIKE = /^\s*(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+\s*[:=]|\(cherry picked from commit\b)/;
/** `Closes: …`, `Release note: …`, `BREAKING CHANGE …`: release tools read them at the start of a line. */
const FOOTER_LIKE = /^[\s|*>]*(?:[A-Za-z]\w*(?: \w+)?\s?[:=]|BREAKING[ -]CHANGE)/i;
/** Lines at which git starts reading a patch or stops reading a message. */
const PATCH_LIKE = /^(?:---|diff -|diff --|Index: |From [0-9a-f]{40}|# ?-+ >8)/;
/** An id in brackets that CI understands as a command, such as `[skip ci]`. */
const CI_COMMAND = /\[([^[\]]*(?<![a-z])(?:skip|no|only|ci|cd|deploy|build|release|publish)(?![a-z])[^[\]]*)\]/gi;

/**
 * Removes everything that forges, trackers and CI interpret as a reference or command: a space breaks `#12`, `!12`,
 * `@name` and URLs, brackets become parentheses (except `[x]`), and `***` is shortened.
 */
function defuse(text: string): string {
  return text
    .replace(/\[(?![ xX\d]\])/g, '(')
    .replace(/(?<!\[[ xX\d])\]/g, ')')
    .replace(/\*{3,}/g, '**')
    .replace(/#(?=\w)|[!&](?=\d)|(?<!\w)@(?=\w)/g, '$& ')
    .replace(/(?<=\w):(?=\/\/)/g, ': ');
}

/** `GH-12`: forges treat it like `#12`. */
const FORGE_KEY = /\b(gh)-(?=\d)/gi;
/** Also `PROJ-123`, which trackers act on. Not used for titles: they contain story ids, which have the same form. */
const ANY_KEY = /\b([A-Z][A-Z0-9_]+|[Gg][Hh])-(?=\d)/g;

/** Replaces the hyphen of such keys with one that forges and trackers do not recognize. */
function withoutKeys(text: string, keys: RegExp): string {
  return text.replace(keys, '$1\u2011');
}

/** Removes control and invisible characters; line endings become `\n`, tabs become spaces. */
function visible(text: string): string {
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/\t/g, ' ')
    .replace(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, '');
}
