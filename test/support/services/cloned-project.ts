import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { prdOf, type TestStory } from '../halo/halo.ts';
import { openHome, type Ended, type HaloHome } from '../halo/halo-process.ts';
import { newRepository } from '../repository/new-repository.ts';
import { removeAfterTests, tempDir } from '../temp-dir.ts';

/** A clone of a repository with tests that need a database, and a HALO_HOME that allows the images of the tests. */
export interface ClonedProject {
  home: HaloHome;
  /** The clone. */
  root: string;
  halo: (...words: string[]) => Promise<Ended>;
  git: (...words: string[]) => string;
  /** Replaces a line of halo.toml. Throws if it is not there once. */
  editLine: (line: string, by: string) => void;
  /** The text of a file on the branch of the only run. */
  landed: (path: string) => string;
  /** Runs stories with an agent that is a shell script, and returns how `halo run` ended. */
  run: (stories: TestStory[], agent: string, settings?: string[]) => Promise<Ended>;
}

/** `prepare` completes the repository before it is cloned, for example with a lock file. */
export function cloneProject(
  files: Record<string, string>,
  prepare: (root: string) => void = () => undefined,
): ClonedProject {
  const home = openHome();
  removeAfterTests(() => void home.close());
  mkdirSync(home.dir, { recursive: true });
  writeFileSync(join(home.dir, 'config.toml'), '[sandbox]\nservice_images = ["halo.test/*"]\n');
  const origin = newRepository(files);
  prepare(origin.root);
  if (origin.git('status', '--porcelain') !== '') origin.commit('prepared');
  const root = join(tempDir('halo-clone'), 'shop');
  execFileSync('git', ['clone', '-q', origin.root, root]);
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  const halo = (...words: string[]) => home.halo(words, { cwd: root });
  const file = join(root, 'halo.toml');
  return {
    home,
    root,
    halo,
    git,
    editLine(line, by) {
      const parts = readFileSync(file, 'utf8').split(`\n${line}\n`);
      if (parts.length !== 2) throw new Error(`halo.toml has the line ${line} ${parts.length - 1} times`);
      writeFileSync(file, parts.join(`\n${by}\n`));
    },
    landed(path) {
      const [branch = ''] = git('for-each-ref', '--format=%(refname:short)', 'refs/heads/halo').split('\n');
      return git('show', `${branch}:${path}`);
    },
    run(stories, agent, settings = []) {
      const path = join(home.dir, 'prd.json');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, prdOf(stories).bytes);
      const set = ['agent=command', `agents.command.run=${JSON.stringify(agent)}`, ...settings];
      return halo('run', path, ...set.flatMap((each) => ['-c', each]));
    },
  };
}
