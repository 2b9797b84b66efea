/**
 * Packages of npm whose own install scripts read files of the project, and leave what they made of them where a snapshot
 * has it. Those that only write hooks of git are not among them, because a snapshot has no `.git`, nor are those that read
 * only `package.json` or `.npmrc`, on which a snapshot depends anyway.
 */
const READING_PACKAGES: Readonly<Record<string, string>> = {
  // https://www.prisma.io/docs/orm/prisma-client/setup-and-configuration/generating-prisma-client
  '@prisma/client': 'generates code from the schema of Prisma',
  // Its postinstall runs `svelte-kit sync`.
  '@sveltejs/kit': 'generates types from the routes of the project',
  // https://pptr.dev/guides/configuration
  puppeteer: 'runs the configuration files of the project',
};

/** Matches the lockfiles that name packages of npm. */
export const PACKAGE_LOCKS = /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock)$/;

/** Why the packages of a lockfile make an install depend on the whole tree; undefined if none does. A clause. */
export function findReadingPackage(path: string, text: string): string | undefined {
  const locked = path.endsWith('.json') ? listLockedPackages(text) : undefined;
  if (path.endsWith('.json') && locked === undefined) return `${path} cannot be read`;
  const found = Object.entries(READING_PACKAGES).find(([name]) =>
    locked === undefined ? keyOf(name).test(text) : locked.has(name),
  );
  return found && `${path} has ${found[0]}, which ${found[1]} when it is installed`;
}

/** Matches the line of a package in `yarn.lock`, at its beginning, or in `pnpm-lock.yaml`, indented by two spaces. */
function keyOf(name: string): RegExp {
  const text = name.replace(/[/.-]/g, '\\$&');
  return new RegExp(`^(?: {2}["']?/?|"?|(?![ #]).*[", :])${text}[@/]`, 'm');
}

/** The names of the packages in a lockfile of npm: of `packages`, or of the nested `dependencies` of npm 6. */
function listLockedPackages(text: string): Set<string> | undefined {
  const names = new Set<string>();
  const addAll = (dependencies: unknown): void => {
    for (const [name, value] of entriesOf(dependencies)) {
      // An alias has the version `npm:<name>@<version>`.
      const [, real] = /^npm:(.+)@/.exec(String(value.version)) ?? [];
      names.add(real ?? name);
      addAll(value.dependencies);
    }
  };
  try {
    const lock = JSON.parse(text) as { packages?: unknown; dependencies?: unknown };
    for (const [key, value] of entriesOf(lock.packages))
      names.add(typeof value.name === 'string' ? value.name : (key.split('node_modules/').at(-1) ?? key));
    addAll(lock.dependencies);
    return names;
  } catch {
    return undefined;
  }
}

function entriesOf(value: unknown): [string, Record<string, unknown>][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).filter(
    (entry): entry is [string, Record<string, unknown>] => typeof entry[1] === 'object' && entry[1] !== null,
  );
}
