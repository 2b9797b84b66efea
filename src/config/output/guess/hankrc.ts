import { CLAUDE_TOOLS } from '../../../core/agent-options.ts';

/** What the configuration of hank, a file of shell assignments, means for halo. */
export interface HankSettings {
  /** Values of keys of halo.toml. */
  settings: Map<string, unknown>;
  /** What the file of a repository may not set, as settings for config.toml of HALO_HOME. */
  own: string[];
  /** The limit of requests per hour, which config.toml sets for a model. */
  requestsPerHour?: number;
  /** Tools, or uses of tools, that the settings do not contain. */
  droppedTools: string[];
  /** Names of variables that halo does not use. */
  unused: string[];
  /** Names of variables whose value is not a plain text. */
  unread: string[];
}

type Meaning =
  | { key: string; value: (text: string) => unknown }
  /** A setting of the user, with the value that both tools have by default. */
  | { own: string; preset: string }
  /** Returns false for a value that has no meaning. */
  | { read: (text: string, into: HankSettings) => boolean };

const SESSIONS: Record<string, string> = { true: 'story', false: 'attempt' };

const MEANINGS: Record<string, Meaning> = {
  CLAUDE_TIMEOUT_MINUTES: { key: 'limits.wall', value: (text) => within(text, 1, 45, `${Number(text)}m`) },
  SESSION_CONTINUITY: { key: 'agents.claude.session', value: (text) => SESSIONS[text.toLowerCase()] },
  SESSION_EXPIRY_HOURS: {
    key: 'agents.claude.session_expiry',
    value: (text) => within(text, 1, 8760, `${Number(text)}h`),
  },
  RETRY_MAX_ATTEMPTS: { key: 'retry.attempts', value: (text) => within(text, 1, 100, Number(text)) },
  RETRY_BACKOFF_INITIAL_SEC: { key: 'retry.backoff', value: (text) => within(text, 1, 3600, `${Number(text)}s`) },
  RETRY_BACKOFF_MAX_SEC: { key: 'retry.max_backoff', value: (text) => within(text, 1, 86_400, `${Number(text)}s`) },
  RETRY_BACKOFF_MULTIPLIER: { key: 'retry.multiplier', value: (text) => within(text, 1, 10, Number(text)) },
  CB_NO_PROGRESS_THRESHOLD: { own: 'breaker.no_change', preset: '3' },
  CB_SAME_ERROR_THRESHOLD: { own: 'breaker.same_error', preset: '5' },
  CB_OUTPUT_DECLINE_THRESHOLD: { own: 'breaker.output_decline', preset: '70' },
  CB_PERMISSION_DENIAL_THRESHOLD: { own: 'breaker.permission_denials', preset: '2' },
  GITHUB_TASK_LABEL: { own: 'issues.label', preset: 'halo' },
  MAX_CALLS_PER_HOUR: { read: readRequests },
  ALLOWED_TOOLS: { read: readTools },
};

function readRequests(text: string, into: HankSettings): boolean {
  const limit = within(text, 1, 10_000_000, Number(text));
  if (limit === undefined) return false;
  into.requestsPerHour = limit;
  return true;
}

/** A list like `Write,Bash(git *)`. halo allows whole tools, so a use of a tool counts as the tool. */
function readTools(text: string, into: HankSettings): boolean {
  const rules = [...text.matchAll(/[^,\s(]+(?:\([^)]*\))?/g)].map(([rule]) => rule);
  const named = new Set(rules.map((rule) => rule.replace(/\(.*/, '')));
  const tools = CLAUDE_TOOLS.filter((tool) => named.has(tool));
  if (tools.length === 0) return false;
  into.settings.set('agents.claude.tools', tools);
  into.droppedTools = rules.filter((rule) => !tools.some((tool) => tool === rule));
  return true;
}

/** Undefined if the text is not a whole number of these limits. */
function within<T>(text: string, least: number, most: number, value: T): T | undefined {
  return /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most ? value : undefined;
}

const MAX_VARIABLES = 200;

/**
 * Reads `NAME=value` lines as text; nothing is executed, and `${NAME:-value}` is its default value. The last assignment of
 * a variable counts. Pure.
 */
export function readHankSettings(text: string): HankSettings {
  const values = new Map<string, string | undefined>();
  for (const line of text.split(/\r?\n/)) {
    const [, name, value] = /^\s*(?:export\s+)?([A-Z][A-Z0-9_]{0,63})=(.{0,500})$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined && values.size < MAX_VARIABLES) values.set(name, plainValue(value));
  }
  const read: HankSettings = { settings: new Map(), own: [], droppedTools: [], unused: [], unread: [] };
  for (const [name, value] of values) {
    const meaning = Object.hasOwn(MEANINGS, name) ? MEANINGS[name] : undefined;
    if (meaning === undefined) read.unused.push(name);
    else if (value === undefined) read.unread.push(name);
    else if ('read' in meaning) {
      if (!meaning.read(value, read)) read.unread.push(name);
    } else if ('own' in meaning) {
      if (value !== meaning.preset)
        read.own.push(`${meaning.own} = ${/^\d+$/.test(value) ? value : JSON.stringify(value)}`);
    } else {
      const translated = meaning.value(value);
      if (translated === undefined) read.unread.push(name);
      else read.settings.set(meaning.key, translated);
    }
  }
  return read;
}

/** The text of a value without quotes and comment; undefined if a shell would compute it. */
function plainValue(value: string): string | undefined {
  const quoted = /^(?:"([^"\\`]*)"|'([^']*)'|([^\s"'#;&|<>()\\`]*))\s*(?:#.*)?$/.exec(value.trim());
  if (quoted === null) return undefined;
  const text = quoted[1] ?? quoted[2] ?? quoted[3] ?? '';
  const preset = /^\$\{[A-Z][A-Z0-9_]*:-([^$}]*)\}$/.exec(text);
  if (preset !== null) return preset[1];
  return text.includes('$') && quoted[2] === undefined ? undefined : text;
}
