export interface MessageParts {
  /** `{id}`, `{title}` and `{run}` are filled in, for example `feat: [{id}] - {title}`. */
  template: string;
  id: string;
  title: string;
  run: string;
  /** The agent's summary: any text. */
  body: string;
  trailers: Record<string, string>;
}

/** The trailer that tells the commits of stories apart. */
export const STORY_KEY = 'Halo-Story-Key';

const MAX_SUBJECT = 200;
const MAX_BODY = 4000;

/**
 * A commit message whose only trailers are the given ones. Text of the PRD and of the agent can neither
 * forge trailers nor skip CI, close issues, carry a patch or control a terminal.
 */
export function commitMessage({ template, id, title, run, body, trailers }: MessageParts): string {
  const values: Record<string, string> = { id: plainLine(id), title: plainLine(title), run };
  const filled = template.replace(/\{(id|title|run)\}/g, (whole, name: string) => values[name] ?? whole);
  const subject = cut(plainLine(filled), MAX_SUBJECT) || 'halo: changes';
  const block = Object.entries(trailers).map(([name, value]) => `${name}: ${trailerValue(value)}`);
  return [subject, plainBody(body), block.join('\n')].filter((part) => part !== '').join('\n\n') + '\n';
}

/** The form in which a value stands in a trailer: one line without control characters. */
export function trailerValue(value: string): string {
  return cut(visible(value).replace(/\s+/g, ' ').trim(), MAX_SUBJECT) || '-';
}

/** One harmless line. */
function plainLine(text: string): string {
  return defuse(visible(text).replace(/\s+/g, ' ')).replace(/\s+/g, ' ').trim();
}

function plainBody(text: string): string {
  const lines = defuse(visible(text))
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => !TRAILER_LIKE.test(line))
    .map((line) => (PATCH_LIKE.test(line) ? ` ${line}` : line));
  const whole = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+/, '');
  return cut(whole, MAX_BODY).trimEnd();
}

/** `Signed-off-by:`, `Halo-Run:`, `skip-checks:`, and the line of git cherry-pick. */
const TRAILER_LIKE = /^\s*(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+\s*[:=]|\(cherry picked from commit\b)/;
/** Where git starts to read a patch or stops to read a message. */
const PATCH_LIKE = /^(?:---|diff -|diff --|Index: |From [0-9a-f]{40}|# ?-+ >8)/;
const SKIP_MARKER = /\[\s*(?:skip|no)[\s-]+[a-z]+\s*\]|\[\s*[a-z]+[\s-]+skip\s*\]|\*{3}NO_CI\*{3}/gi;
const CLOSES_ISSUE = /\b((?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+)([\w./-]*)(?:#|GH-)(\d+)/gi;

function defuse(text: string): string {
  let before: string;
  let after = text;
  do {
    before = after;
    after = before.replace(SKIP_MARKER, '');
  } while (after !== before); // what is left of a nested marker may be one again
  return after.replace(CLOSES_ISSUE, '$1$2 $3').replace(/ {2,}(?=\d)/g, ' ');
}

/** Without control and invisible characters; line endings become `\n`, tabs blanks. */
function visible(text: string): string {
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/\t/g, ' ')
    .replace(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, '');
}

function cut(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
}
