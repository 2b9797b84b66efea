import { lstat, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { guessGates } from '../../config/output/guess-gates.ts';
import { renderInitTemplate } from '../../config/output/init-template.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { HALO_IDENTITY } from '../../git/process/environment.ts';
import { git, gitText } from '../../git/process/git.ts';
import { createFolders, pathExists } from '../../lib/fs.ts';
import { cannotWrite } from './write-error.ts';

interface NewProject {
  /** Absolute. */
  folder: string;
  agent: string;
}

/**
 * Creates a git repository with a halo.toml, an example PRD and a small program, in one commit. The folder appears when it
 * is complete; an existing one must be empty. Throws USAGE, DISK_FAILED, GIT_FAILED.
 */
export async function createProject({ folder, agent }: NewProject): Promise<{ files: string[]; commit: string }> {
  await assertFree(folder);
  const parent = dirname(folder);
  if (!(await pathExists(parent)))
    throw new HaloError('USAGE', `There is no folder ${parent}.`, { hint: 'Create it first, or fix the path.' });
  // The rename below needs the same disk.
  const draft = await mkdtemp(join(parent, `.${basename(folder)}.new-`)).catch(cannotWrite(parent));
  try {
    const files = exampleFiles(basename(folder), agent);
    for (const [path, text] of Object.entries(files)) {
      await createFolders(dirname(join(draft, path)));
      await writeFile(join(draft, path), text).catch(cannotWrite(join(draft, path)));
    }
    const commit = await commitAll(draft, Object.keys(files));
    await rename(draft, folder).catch((error: NodeJS.ErrnoException) => {
      if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '')) throw notFree(folder);
      cannotWrite(folder)(error);
    });
    return { files: Object.keys(files), commit };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function assertFree(folder: string): Promise<void> {
  const found = await lstat(folder).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isDirectory() || (await readdir(folder).catch(() => ['?'])).length > 0) throw notFree(folder);
}

function notFree(folder: string): HaloError {
  return new HaloError('USAGE', `${folder} exists and is not an empty folder.`, {
    hint: 'Choose another name, or run `halo init` in a repository that exists.',
  });
}

/** The user is the author if git knows the user. */
async function commitAll(dir: string, files: string[]): Promise<string> {
  await git(['init', '--quiet', '--template=', '--initial-branch=main', dir]);
  const options = { gitDir: join(dir, '.git'), cwd: dir, trust: 'operator' as const };
  const worktree = { GIT_WORK_TREE: dir };
  const known = await git(['var', 'GIT_AUTHOR_IDENT'], { ...options, env: worktree }).then(
    () => true,
    () => false,
  );
  const env = known ? worktree : { ...worktree, ...HALO_IDENTITY };
  await git(['add', '--force', '--', ...files], { ...options, env });
  await git(['commit', '--quiet', '--no-verify', '-m', 'chore: a new project'], {
    ...options,
    env,
    // No terminal is there for a passphrase.
    settings: { 'commit.gpgSign': 'false' },
  });
  return gitText(['rev-parse', 'HEAD'], options);
}

/** Paths with their contents: a program of Node without dependencies, which every sandbox image of halo can test. */
function exampleFiles(name: string, agent: string): Record<string, string> {
  const manifest = { name: packageName(name), private: true, type: 'module', scripts: { test: 'node --test' } };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  const guess = guessGates(new Map([['package.json', text]]));
  return {
    'README.md': README.replace('NAME', name.replace(/[^\p{L}\p{N} ._-]/gu, '')),
    'AGENTS.md': GUIDANCE,
    '.gitignore': 'node_modules/\n',
    'package.json': text,
    'halo.toml': renderInitTemplate(guess, new Map([['agent', agent]])),
    'prd.json': `${JSON.stringify(examplePrd(name), null, 2)}\n`,
    'src/greet.js': 'export function greet() {\n  return `Hello!`;\n}\n',
    'test/greet.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greet } from '../src/greet.js';

test('greets', () => {
  assert.equal(greet(), 'Hello!');
});
`,
  };
}

/** The rules of npm: lower case, no characters that a URL would escape. */
function packageName(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9._-]+/g, '-');
  return plain.replace(/^[._-]+/, '').slice(0, 100) || 'project';
}

function examplePrd(name: string) {
  const story = { passes: false };
  return {
    project: name,
    description: 'An example. Replace the stories with your own.',
    userStories: [
      {
        id: 'US-001',
        title: 'Greet by name',
        description: 'As a user, I want to be greeted by my name.',
        acceptanceCriteria: ["greet('Ada') returns 'Hello, Ada!'", "greet() still returns 'Hello!'"],
        priority: 1,
        ...story,
      },
      {
        id: 'US-002',
        title: 'Greet from the command line',
        description: 'As a user, I want to start the program with my name.',
        acceptanceCriteria: ["node src/cli.js Ada prints 'Hello, Ada!' and exits with 0"],
        priority: 2,
        dependsOn: ['US-001'],
        ...story,
      },
    ],
  };
}

/** Agents read it, and every prompt contains it. */
const GUIDANCE = `# Guidance for agents

- \`npm test\` runs all tests; add a test for each change.
- Sources are in \`src/\`, tests in \`test/\`, without dependencies.
`;

const README = `# NAME

\`prd.json\` has the stories and \`halo.toml\` the checks.

\`\`\`sh
halo check      # run the checks in the sandbox
halo run        # let an agent work on the stories
halo land       # move this branch to the result
\`\`\`
`;
