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
 * A commit message whose only trailers are the given ones. Text of the PRD and of the agent can neither forge trailers
 * nor skip or start CI, refer to issues and people, announce a breaking change, carry a patch or control a terminal.
 */
export function commitMessage({ template, id, title, run, body, trailers }: MessageParts): string {
  const values: Record<string, string> = { id: plainLine(id), title: withoutKeys(plainLine(title), FORGE_KEY), run };
  const filled = template.replace(/\{(id|title|run)\}/g, (whole, name: string) => values[name] ?? whole);
  const subject = cut(oneLine(filled.replace(ORDER_IN_BRACKETS, '($1)')), MAX_SUBJECT) || 'halo: changes';
  const block = Object.entries(trailers).map(([name, value]) => `${name}: ${trailerValue(defuse(value))}`);
  return [subject, plainBody(body), block.join('\n')].filter((part) => part !== '').join('\n\n') + '\n';
}

/** The form in which a value stands in a trailer: one line without control characters. */
export function trailerValue(value: string): string {
  return cut(oneLine(visible(value)), MAX_SUBJECT) || '-';
}

/** Arguments of `git log` for an id, a line end and the message of each commit, with a NUL between commits. */
export const MESSAGES = ['-z', '--encoding=UTF-8', '--format=%H%n%B'];

/**
 * The trailers of a message as `commitMessage` writes them, its last lines; of several with one name the last. Git itself
 * reads them as settings of the repository say.
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

/** One harmless line. */
function plainLine(text: string): string {
  return oneLine(defuse(visible(text)));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
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
  return cut(whole, MAX_BODY).trimEnd();
}

/** `Signed-off-by:`, `Halo-Run:`, `skip-checks:`, and the line of git cherry-pick. */
const TRAILER_LIKE = /^\s*(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+\s*[:=]|\(cherry picked from commit\b)/;
/** `Closes: …`, `Release note: …`, `BREAKING CHANGE …`, which release tools read at the start of a line. */
const FOOTER_LIKE = /^[\s|*>]*(?:[A-Za-z]\w*(?: \w+)?\s?[:=]|BREAKING[ -]CHANGE)/i;
/** Where git starts to read a patch or stops to read a message. */
const PATCH_LIKE = /^(?:---|diff -|diff --|Index: |From [0-9a-f]{40}|# ?-+ >8)/;
/** Where the template puts an id into brackets and the id is an order to CI, such as `skip ci`. */
const ORDER_IN_BRACKETS =
  /\[([^[\]]*(?<![a-z])(?:skip|no|only|ci|cd|deploy|build|release|publish)(?![a-z])[^[\]]*)\]/gi;

/**
 * Text in which forges, trackers and CI find no reference and no order, whatever words are around it: a blank breaks
 * `#12`, `!12`, `@name` and URLs, brackets become parentheses (but for `[x]`), and `***` is shortened.
 */
function defuse(text: string): string {
  return text
    .replace(/\[(?![ xX\d]\])/g, '(')
    .replace(/(?<!\[[ xX\d])\]/g, ')')
    .replace(/\*{3,}/g, '**')
    .replace(/#(?=\w)|[!&](?=\d)|(?<!\w)@(?=\w)/g, '$& ')
    .replace(/(?<=\w):(?=\/\/)/g, ': ');
}

/** `GH-12`, which a forge takes for `#12`. */
const FORGE_KEY = /\b(gh)-(?=\d)/gi;
/** `PROJ-123` as well, which trackers act on. Ids of stories look like that, and titles name them: those stay as they are. */
const ANY_KEY = /\b([A-Z][A-Z0-9_]+|[Gg][Hh])-(?=\d)/g;

/** Text in which such keys have a hyphen that forges and trackers do not look for. */
function withoutKeys(text: string, keys: RegExp): string {
  return text.replace(keys, '$1\u2011');
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
