import type { RegistryName } from './journal/egress-events.ts';
import { safeLine } from './text/safe-text.ts';

/** Splits a shell line into commands and words, without leading variables and wrappers such as `exec`. A heuristic. */
export function parseCommands(line: string): string[][] {
  return line
    .slice(0, MAX_LINE_LENGTH)
    .split(/&&|\|\||[;|&\n]/)
    .map((part) => {
      const words = part
        .trim()
        .split(/\s+/)
        .map((word) => word.replace(/^["'(]+|["')]+$/g, ''));
      const first = words.findIndex((word) => !/^\w+=/.test(word) && !WRAPPERS.includes(word));
      return first < 0 ? [] : words.slice(first);
    })
    .filter(([first = '']) => first !== '');
}

/** What `python3 -m venv` needs and Debian packages on its own. It is not a program. */
export const PYTHON_VENV = 'python3-venv';

/** How to get programs that the image lacks; `them`: `it` or `them`. */
export function imageAdvice(them: string): string {
  return `build an image that has ${them} (docs/setup.md, "Images"), and set \`image\` in <HALO_HOME>/config.toml or in the variable HALO_IMAGE`;
}

/** Programs that the image must provide: those without a path that are not shell built-ins; also PYTHON_VENV. */
export function programsOf(lines: readonly string[]): string[] {
  const programs = lines.flatMap(parseCommands).flatMap(([program = '', flag, module]) => {
    const isVenv = /^python3?$/.test(program) && flag === '-m' && module === 'venv';
    return isVenv ? [program, PYTHON_VENV] : [program];
  });
  return [...new Set(programs.filter((program) => /^[\w.+-]+$/.test(program) && !SHELL_BUILT_INS.includes(program)))];
}

/**
 * The programs of commands without any shell syntax: without them, these commands are certain to fail. `corepack` has
 * programs of its own, and `env` may set another PATH.
 */
export function plainProgramsOf(lines: readonly string[]): string[] {
  const isPlain = (line: string) => /^[\w.+-]+(?: +[\w./:@%+,=-]+)*$/.test(line) && !/^(?:corepack|env) /.test(line);
  return programsOf(lines.map((line) => line.trim()).filter(isPlain));
}

/** Package registries that these commands download from, judged by their words. */
export function registriesOf(lines: readonly string[]): RegistryName[] {
  const found = lines.flatMap(parseCommands).flatMap((words) => registryOf(words) ?? []);
  return [...new Set(found)];
}

const MAX_LINE_LENGTH = 10_000;
const WRAPPERS = ['exec', 'command', 'env', 'time', 'corepack'];
const SHELL_BUILT_INS = [
  'cd',
  'echo',
  'export',
  'set',
  'test',
  '[',
  'true',
  'false',
  ':',
  'umask',
  'ulimit',
  'exit',
  '.',
];
const NODE = ['install', 'i', 'ci', 'add', 'update', 'up', 'dlx', 'exec', 'x', 'fetch', 'import'];

/** The subcommands of a program that download; undefined: all of them. */
const DOWNLOADS: Record<string, { registry: RegistryName; when: readonly string[] | undefined }> = {
  npm: { registry: 'npm', when: NODE },
  npx: { registry: 'npm', when: undefined },
  pnpm: { registry: 'npm', when: NODE },
  yarn: { registry: 'npm', when: NODE },
  bun: { registry: 'npm', when: NODE },
  pip: { registry: 'pypi', when: ['install', 'download', 'wheel'] },
  pip3: { registry: 'pypi', when: ['install', 'download', 'wheel'] },
  pipx: { registry: 'pypi', when: undefined },
  pipenv: { registry: 'pypi', when: ['install', 'sync'] },
  uv: { registry: 'pypi', when: ['sync', 'pip', 'tool', 'add', 'lock'] },
  poetry: { registry: 'pypi', when: ['install', 'sync', 'add', 'update', 'lock'] },
  pdm: { registry: 'pypi', when: ['install', 'sync', 'add', 'update', 'lock'] },
  cargo: { registry: 'crates', when: ['fetch', 'install', 'add', 'update', 'vendor', 'build', 'test', 'check'] },
  go: { registry: 'go', when: ['mod', 'get', 'install', 'build'] },
  'apt-get': { registry: 'debian', when: ['update', 'download', 'install', 'source'] },
  apt: { registry: 'debian', when: ['update', 'download', 'install', 'source'] },
};

function registryOf(words: readonly string[]): RegistryName | undefined {
  const [path = '', ...args] = words;
  const program = path.slice(path.lastIndexOf('/') + 1);
  if (/^python[\d.]*$/.test(program) && args[0] === '-m') return registryOf(args.slice(1));
  const downloads = Object.hasOwn(DOWNLOADS, program) ? DOWNLOADS[program] : undefined;
  if (downloads === undefined || args.includes('--offline')) return undefined;
  const subcommand = args.find((word) => !word.startsWith('-'));
  // `yarn` without a subcommand installs.
  if (program === 'yarn' && subcommand === undefined) return downloads.registry;
  const does = downloads.when === undefined || (subcommand !== undefined && downloads.when.includes(subcommand));
  return does ? downloads.registry : undefined;
}

/** What setup may reach. */
interface Reach {
  registries: readonly string[];
  allow: readonly string[];
}

/**
 * Explains why these setup commands cannot download what they need and which setting would allow it; undefined if they
 * can, or if any host is allowed, because it may be a mirror.
 */
export function describeUnreachable(lines: readonly string[], { registries, allow }: Reach): string | undefined {
  const needed = registriesOf(lines);
  const missing = needed.filter((name) => !registries.includes(name));
  if (allow.length > 0 || missing.length === 0) return undefined;
  const list = [...registries, ...missing].map((name) => JSON.stringify(name)).join(', ');
  const reached =
    registries.length === 0 ? 'nothing is reachable from setup' : `setup reaches only ${registries.join(', ')}`;
  return `${reached}; allow it with [network] registries = [${list}]`;
}

const DISK_FULL = /\bENOSPC\b|no space left on device|disk quota exceeded/i;

const CARGO_TOO_OLD = /sparse registries requires/;

/** What the output of a failed command says about the sandbox, as a clause with the page that helps; undefined: nothing. */
export function explainOutput(
  kind: 'setup' | 'gate',
  { command, tail, submodules = [] }: { command: string; tail: string; submodules?: readonly string[] },
): string | undefined {
  if (DISK_FULL.test(tail))
    return 'a disk of the sandbox is full: home, /tmp and /run are small and in memory, so move caches into the workspace (docs/setup.md, "Caches")';
  if (CARGO_TOO_OLD.test(tail))
    return 'the cargo of the image is too old for registries, which need 1.68 or newer (docs/setup.md, "Rust")';
  const words = tail.split(/[\s'"`(),:;=<>[\]{}]+/);
  const absent = submodules.find((path) => words.some((word) => isWithin(word, path)));
  if (absent !== undefined) return `${safeLine(absent, 200)} is a submodule, which halo does not fetch`;
  if (kind === 'setup' || !NETWORK_UNREACHABLE.test(tail)) return undefined;
  const page = /playwright|puppeteer|chrom(?:e|ium)/i.test(`${command} ${tail}`)
    ? 'Playwright'
    : 'Gates without a network';
  return `gates have no network: what they need is in the image or comes from setup (docs/setup.md, "${page}")`;
}

/** Whether a word of an output is a path of a folder or below it. A word alone may be anything. */
function isWithin(word: string, folder: string): boolean {
  const path = word.replace(/^\/workspace\/|^\.\//, '');
  return path.startsWith(`${folder}/`) || word === `/workspace/${folder}`;
}

/** Error messages of programs for failed name resolution or an unreachable network. */
export const NETWORK_UNREACHABLE =
  /EAI_AGAIN|ENOTFOUND|ENETUNREACH|getaddrinfo|name resolution|could not resolve|couldn't resolve|cannot resolve|no such host|dns error|name or service not known|failed to lookup address|network is unreachable|NameResolutionError|resolving timed out|dial tcp|Temporary failure resolving/i;
