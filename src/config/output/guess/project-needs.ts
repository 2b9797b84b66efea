import type { RootFiles } from './guess.ts';
import { asTable, type Workflow } from './workflows.ts';

/** What the files of a repository say about programs of the image, in addition to its commands. */
export interface ProjectNeed {
  /** Programs that the image must have, all of them. */
  programs: string[];
  /** The version of the only program. */
  version?: string;
  /** `same`: the major version must be the same; `least`: it is the lowest. */
  rule?: 'same' | 'least';
  /** The sentence before the version that the image has: a subject and a verb, for example `go.mod needs go 1.23`. */
  says: string;
  /** The section of docs/setup.md. */
  section?: string;
}

/** The version of each program of an image, as it prints it; undefined: the image lacks it. */
export type ProgramVersions = ReadonlyMap<string, string | undefined>;

/** Finds needs in the files at the top of a repository and in its workflows. The first file that names a version counts. */
export function findNeeds(files: RootFiles, workflows: readonly Workflow[] = []): ProjectNeed[] {
  const manifest = parseManifest(files.get('package.json'));
  const versions = [
    ...managerNeeds(files, manifest),
    ...nodeNeeds(files, manifest),
    ...languageNeeds(files),
    ...workflows.flatMap(({ path, tools = [] }) =>
      tools.map(({ program, version }) => versionNeed(program, version, path)),
    ),
  ];
  const first = versions.filter(
    (need, at) => versions.findIndex((each) => each.programs[0] === need.programs[0]) === at,
  );
  return [...first, ...compilerNeeds(files), ...browserNeeds(manifest)];
}

/** Says which needs an image does not fulfil, a sentence each. */
export function describeUnmet(needs: readonly ProjectNeed[], image: string, versions: ProgramVersions): string[] {
  return needs.flatMap(({ programs, version, rule, says, section }) => {
    const page = `docs/setup.md, "${section ?? 'Images'}"`;
    const missing = programs.filter((program) => versions.get(program) === undefined);
    if (version === undefined)
      return missing.length === 0 ? [] : [`${says}, and the image ${image} has no ${missing.join(', ')} (${page}).`];
    const has = versionIn(versions.get(programs[0] ?? '') ?? '');
    // A program that is missing altogether is named with those of the commands.
    if (has === undefined || (rule === 'same' ? has[0] === versionIn(version)?.[0] : isAtLeast(has, version)))
      return [];
    return [`${says}, and the image ${image} has ${has.join('.')} (${page}).`];
  });
}

function isAtLeast(has: readonly number[], wanted: string): boolean {
  const parts = versionIn(wanted) ?? [];
  const at = parts.findIndex((part, index) => part !== (has[index] ?? 0));
  return at < 0 || (has[at] ?? 0) > (parts[at] ?? 0);
}

/** The numbers of the first version in a text. */
function versionIn(text: string): number[] | undefined {
  return /\d+(?:\.\d+){0,2}/.exec(text)?.[0].split('.').map(Number);
}

function versionNeed(program: string, version: string, from: string): ProjectNeed {
  const rule = program === 'pnpm' || program === 'yarn' ? 'same' : 'least';
  return { programs: [program], version, rule, says: `${from} names ${program} ${version}` };
}

function managerNeeds(files: RootFiles, { packageManager }: Manifest): ProjectNeed[] {
  const [, program, version] = /^(pnpm|yarn)@(\d+(?:\.\d+){0,2})/.exec(packageManager) ?? [];
  // Yarn starts the version in the repository.
  const isIncluded = program === 'yarn' && files.get('.yarnrc.yml')?.includes('yarnPath') === true;
  return program === undefined || version === undefined || isIncluded
    ? []
    : [versionNeed(program, version, 'package.json')];
}

function nodeNeeds(files: RootFiles, { node }: Manifest): ProjectNeed[] {
  // The lowest of alternatives such as `^20.19 || >=22`.
  const range = /^(?:\^|~|>=|v|=)? ?\d/.test(node) ? /\d+(?:\.\d+){0,2}/.exec(node)?.[0] : undefined;
  const pinned = ['.nvmrc', '.node-version'].flatMap((name) => {
    const version = /^v?(\d+(?:\.\d+){0,2})\s*$/.exec(files.get(name) ?? '')?.[1];
    return version === undefined ? [] : [versionNeed('node', version, name)];
  });
  return [...(range === undefined ? [] : [versionNeed('node', range, 'package.json')]), ...pinned];
}

function languageNeeds(files: RootFiles): ProjectNeed[] {
  const go = /^go (\d+\.\d+)/m.exec(files.get('go.mod') ?? '')?.[1];
  const rust = ['rust-toolchain', 'rust-toolchain.toml'].flatMap((name) => {
    const version = /^(?:\s*channel\s*=\s*"|)(\d+\.\d+(?:\.\d+)?)/m.exec(files.get(name) ?? '')?.[1];
    return version === undefined ? [] : [{ ...versionNeed('rustc', version, name), section: 'Rust' }];
  });
  return [...(go === undefined ? [] : [{ ...versionNeed('go', go, 'go.mod'), section: 'Go' }]), ...rust];
}

function compilerNeeds(files: RootFiles): ProjectNeed[] {
  if (!files.has('binding.gyp')) return [];
  return [{ programs: ['make', 'g++', 'python3'], says: 'Setup compiles native code (binding.gyp)' }];
}

function browserNeeds({ packages }: Manifest): ProjectNeed[] {
  const tool = ['@playwright/test', 'playwright', 'puppeteer'].find((name) => packages.includes(name));
  if (tool === undefined) return [];
  return [{ programs: ['chromium'], says: `package.json has ${tool}`, section: 'Playwright' }];
}

interface Manifest {
  packageManager: string;
  /** `engines.node` */
  node: string;
  /** Names of dependencies. */
  packages: string[];
}

function parseManifest(text = '{}'): Manifest {
  try {
    const manifest = asTable(JSON.parse(text));
    const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
    const packages = ['dependencies', 'devDependencies'].flatMap((group) => Object.keys(asTable(manifest[group])));
    return {
      packageManager: textOf(manifest.packageManager),
      node: textOf(asTable(manifest.engines).node),
      packages,
    };
  } catch {
    return { packageManager: '', node: '', packages: [] };
  }
}
