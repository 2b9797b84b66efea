import { serveGit } from '../repository/serve-git.ts';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../process/run-program.ts';
import { tempDir } from '../temp-dir.ts';
import { FAKE_PROJECT } from './fake-forge.ts';
import { itInProcess as base } from './issue-home.ts';

/** A repository whose `origin` is on the fake forge, which accepts pushes with the token, over HTTP. */
export const it = base.extend('origin', async ({ forge, haloHome, repository }, { onCleanup }) => {
  const dir = tempDir('origin');
  runProgram('git', ['clone', '-q', '--bare', repository.root, dir], { cwd: '/' });
  const login = { user: 'x-access-token', password: forge.token, path: `/${FAKE_PROJECT}.git` };
  const server = await serveGit(dir, login);
  onCleanup(() => server.close());
  // The table of the forge is the last one of the file.
  appendFileSync(join(haloHome.dir, 'config.toml'), `git_url = "${new URL(server.url()).origin}"\n`);
  repository.git('remote', 'add', 'origin', server.url());
  const git = (...args: string[]) => runProgram('git', args, { cwd: dir }).toString('utf8').trim();
  forge.pulls.headOf = (branch) => {
    // What was pushed is in a file of its own.
    const path = join(dir, 'refs/heads', branch);
    if (existsSync(path)) return readFileSync(path, 'utf8').trim();
    return git('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`);
  };
  return { git };
});
