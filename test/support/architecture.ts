import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/** One import of a source file: the module as written, or the path below src/ when it is one of ours. */
export interface Import {
  target: string;
  ours: boolean;
  typeOnly: boolean;
  /** It is loaded when it is needed. */
  lazy: boolean;
}

export interface SourceFile {
  /** Path below src/. */
  path: string;
  text: string;
  imports: Import[];
}

/** A broken rule, as a line that says where and what. */
export type Breach = string;

const PURE = ['core', 'lib'];
const PORT_TYPES = ['agents', 'sandbox'];
const ADAPTERS = ['agents', 'forge', 'gateway', 'git', 'prd', 'queue', 'sandbox', 'sinks', 'store'];

/** What each folder may import in addition to itself, by the start of its path; `types` only as `import type`. */
const MAY_IMPORT: Record<string, { values: string[]; types: string[] }> = {
  core: { values: [], types: [] },
  lib: { values: [], types: [] },
  config: { values: PURE, types: PORT_TYPES },
  ...Object.fromEntries(ADAPTERS.map((name) => [name, { values: PURE, types: PORT_TYPES }])),
  worker: { values: [...PURE, ...ADAPTERS, 'config'], types: [] },
  api: { values: [...PURE, ...ADAPTERS, 'config', 'worker'], types: [] },
  // What a person sees and can do: every surface paints it.
  view: { values: PURE, types: ['api'] },
  // Commands import what they run, when they run it.
  cli: { values: [...PURE, 'config', 'prd', 'tui', 'view', 'api'], types: [] },
  tui: { values: [...PURE, 'view'], types: ['api'] },
  web: { values: ['core', 'view'], types: ['api'] },
  mcp: { values: [...PURE, 'view', 'api/operations', 'api/operations.ts'], types: ['api'] },
};

/** Below it, a folder for each feature, with layers as in src/: `features/lever/cli/loop.ts` is of the layer `cli`. */
const FEATURES = 'features';

/** The lists through which features join the rest, which imports nothing else of them. */
export const JOINS = [
  'api/doctor/diagnose.ts',
  'api/http/open-routes.ts',
  'api/joined.ts',
  'api/operations.ts',
  'cli/commands/top.ts',
  'cli/options/story-sources.ts',
  'cli/program.ts',
  'config/schema/halo-toml.ts',
  'prd/dialect-registry.ts',
  'web/page/dashboard.tsx',
  'web/page/screens.ts',
  'web/settings/settings-screen.tsx',
  'worker/joined.ts',
];

/** Only these may use the module (or its parts); paths are beginnings of paths below src/. */
const ONLY_IN: Record<string, string[]> = {
  dockerode: ['sandbox/'],
  'tar-fs': ['sandbox/'],
  'tar-stream': ['features/backup/store/'],
  bullmq: ['queue/'],
  ioredis: ['queue/'],
  'node:child_process': [
    'git/process/launcher.ts',
    'lib/execa.ts',
    'queue/',
    'sandbox/docker/image/',
    'cli/output/terminal-programs.ts',
    'cli/run/worker-process.ts',
  ],
  // Elsewhere, too many open files end the process.
  execa: ['lib/execa.ts'],
  'lib/execa.ts': [
    'git/process/git.ts',
    'queue/',
    'sandbox/docker/image/',
    // Node cannot create a named pipe.
    'sandbox/output-pipe.ts',
    'worker/network/secret-reader.ts',
    'gateway/registry/host-registry-config',
    'features/lever/api/task-agent.ts',
  ],
};

/** Other ways to start a program or to access a repository: forbidden, so that only git/process/git.ts runs git. */
const NOWHERE = ['child_process', 'simple-git', 'isomorphic-git', 'nodegit', 'dugite', 'cross-spawn', 'zx', 'shelljs'];

/** A program started by the name git, in any spelling. */
const STARTS_GIT = /\b(?:execa\w*|spawn\w*|exec\w*|fork)\(\s*['"`](?:[\w/.-]*\/)?git['"`\s]/;

/** Text that may only stand in some places. */
const WORDS: { what: string; pattern: RegExp; allowed: string[]; isQuoted?: true }[] = [
  // Programs that git starts inherit it, and git itself is found on its PATH.
  { what: 'process.env', pattern: /\bprocess\.env\b/, allowed: ['config/', 'git/process/'] },
  { what: 'console', pattern: /\bconsole\.(log|error|warn|info|debug)\b/, allowed: [] },
  { what: 'process.stdout', pattern: /\bprocess\.(stdout|stderr)\b/, allowed: ['cli/process-io.ts'] },
  // What is printed goes through cli/cli.ts and tui/canvas.ts, which make it safe for terminals.
  { what: 'screen.write', pattern: /\bscreen\.(write|end)\b/, allowed: ['tui/canvas.ts'] },
  // Node's recursive mkdir never returns below /proc; createFolders of lib/fs.ts does.
  { what: 'a recursive mkdir', pattern: /\bmkdir(?:Sync)?\([^;]*?recursive: true/, allowed: [] },
  // A file that is created under its final name stays empty if the disk is full; createFileOnce of lib/fs.ts leaves none.
  {
    what: "the flag 'wx'",
    pattern: /'wx'/,
    isQuoted: true,
    allowed: [
      'lib/fs.ts',
      // Under a temporary name, or in a folder that is.
      'gateway/registry/registry-cache.ts',
      'git/process/git.ts',
      'store/run/compress-output.ts',
      'store/run/create-run.ts',
      'worker/repository/replace-file.ts',
      // Files that only people read, that are empty, or that belong to users.
      'store/artifact-store.ts',
      'queue/damaged-data.ts',
      'features/lever/api/run-folder.ts',
      'api/repository/',
      'api/submit/prd-ownership.ts',
      'cli/prds/new-prd.ts',
    ],
  },
];

/** The files that put the program together: they may construct adapters. */
function isCompositionRoot(path: string): boolean {
  return /(^|\/)(main|compose)\.ts$/.test(path);
}

/** All TypeScript files below a folder, also those with JSX. */
export function readSources(root: string): SourceFile[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => parseSource(relative(root, path), readFileSync(path, 'utf8')));
}

export function parseSource(path: string, text: string): SourceFile {
  const found = [
    ...text.matchAll(/^\s*(import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm),
    ...text.matchAll(/(\bimport)\((\s*)'([^']+)'\)/g),
  ];
  const imports = found.map(([statement, , type, target = '']): Import => {
    const ours = target.startsWith('.');
    const typeOnly = (type ?? '').trim() === 'type' || isListOfTypes(statement);
    const lazy = statement.startsWith('import(');
    return { target: ours ? normalize(join(dirname(path), target)) : target, ours, typeOnly, lazy };
  });
  return { path, text, imports };
}

export function findForbiddenEdges(files: SourceFile[]): Breach[] {
  return files
    .filter((file) => !isCompositionRoot(file.path))
    .flatMap((file) =>
      file.imports
        .filter(({ ours }) => ours)
        .filter((edge) => !mayImport(layerOf(file.path), edge) || !mayJoin(file.path, edge.target))
        .map((edge) => `${file.path}: imports ${edge.typeOnly ? 'a type of ' : ''}${edge.target}`),
    );
}

/** Cycles of imports. Files that need each other's types cannot be read or moved one by one either. */
export function findCycles(files: SourceFile[]): Breach[] {
  const next = new Map(files.map(({ path, imports }) => [path, imports.filter((i) => i.ours).map((i) => i.target)]));
  const done = new Set<string>();
  const cycles: Breach[] = [];
  const visit = (path: string, trail: string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
    if (trail.includes(path) || done.has(path)) return;
    for (const target of next.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of next.keys()) visit(path, []);
  return cycles;
}

/** Packages that are loaded together with these files, before anything is called. */
export function findEagerPackages(files: SourceFile[], starts: readonly string[]): string[] {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { target, ours, typeOnly, lazy } of files.find((file) => file.path === path)?.imports ?? []) {
      if (typeOnly || lazy) continue;
      if (ours) visit(target);
      else if (!target.startsWith('node:')) packages.add(target);
    }
  };
  starts.forEach(visit);
  return [...packages].sort();
}

export function findMisplacedModules(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, imports }) =>
    imports
      .filter(({ target }) => ONLY_IN[target]?.every((place) => !path.startsWith(place)))
      .map(({ target }) => `${path}: imports ${target}, which only ${ONLY_IN[target]?.join(', ')} may`),
  );
}

/** Git is run by one function, with one environment: halo's sealed one. */
export function findOtherGit(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, text, imports }) => [
    ...imports.filter(({ target }) => NOWHERE.includes(target)).map(({ target }) => `${path}: imports ${target}`),
    ...(path !== 'git/process/git.ts' && STARTS_GIT.test(text)
      ? [`${path}: starts git, which only git/process/git.ts may`]
      : []),
  ]);
}

export function findMisplacedWords(files: SourceFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    WORDS.filter(
      ({ pattern, allowed, isQuoted }) =>
        !allowed.some((place) => path.startsWith(place)) &&
        pattern.test(isQuoted === true ? withoutComments(text) : code(text)),
    ).map(({ what, allowed }) => `${path}: uses ${what}, which only ${allowed.join(', ')} may`),
  );
}

function mayImport(from: string, { target, typeOnly }: Import): boolean {
  const allowed = MAY_IMPORT[from];
  if (layerOf(target) === from) return true;
  const places = [...(allowed?.values ?? []), ...(typeOnly ? (allowed?.types ?? []) : [])];
  const path = target.replace(/^features\/[^/]+\//, '');
  return places.some((place) => path === place || path.startsWith(`${place}/`));
}

/** A feature is known to itself, and to the lists that join it. */
function mayJoin(from: string, target: string): boolean {
  const feature = featureOf(target);
  return feature === undefined || feature === featureOf(from) || JOINS.includes(from);
}

function layerOf(path: string): string {
  const parts = path.split('/');
  return (featureOf(path) === undefined ? parts[0] : parts[2]) ?? '';
}

function featureOf(path: string): string | undefined {
  const [top, feature] = path.split('/');
  return top === FEATURES ? feature : undefined;
}

/** `import { type A, type B } from …` */
function isListOfTypes(statement: string): boolean {
  const names = /\{([^}]*)\}/
    .exec(statement)?.[1]
    ?.split(',')
    .filter((name) => name.trim() !== '');
  return names !== undefined && names.length > 0 && names.every((name) => name.trim().startsWith('type '));
}

/** The text without its comments and quoted words, such as a script that runs in a container. */
function code(text: string): string {
  return withoutComments(text).replace(/'[^'\n]*'/g, "''");
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
