import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { OK, prdOf } from '../support/halo/halo.ts';
import { openHome } from '../support/halo/halo-process.ts';
import { makeRepository, type TestRepository } from '../support/repository/repository.ts';

const RALPHY = 'ralphy-cli@4.7.2';
/** In place of the agent `claude`. */
const CLAUDE = `#!/bin/sh
date +%N > file && git add -A && git commit -q -m story
echo '{"type":"result","subtype":"success","result":"Done.","usage":{"input_tokens":1,"output_tokens":1}}'
`;

const SANDCASTLE = '@ai-hero/sandcastle@0.12.0';
const IMAGE = 'halo-bench-sandcastle';
/** As in the images of its `init`, with the tools of halo's image. */
const DOCKERFILE = `FROM halo-sandbox
RUN chmod 1777 /home/agent
WORKDIR /home/agent
ENTRYPOINT ["sleep", "infinity"]
`;
/** As in its templates, with a script as the agent. */
const MAIN = `import { run } from '@ai-hero/sandcastle';
import { docker } from '@ai-hero/sandcastle/sandboxes/docker';
await run({
  agent: {
    name: 'script',
    env: {},
    captureSessions: false,
    buildPrintCommand: ({ prompt }) => ({
      command: 'date +%N > file && git add -A && git commit -q -m story && echo "<promise>COMPLETE</promise>"',
      stdin: prompt,
    }),
    parseStreamLine: (text) => [{ type: 'text', text }],
  },
  sandbox: docker({ imageName: '${IMAGE}' }),
  branchStrategy: { type: 'merge-to-head' },
  prompt: 'Change the file.',
  cwd: process.argv[2],
});
`;

/** From the start of the command, in ms. */
export interface StoryTimes {
  /** The branch with the result has the commit. */
  commit: number;
  /** The command has ended and has removed its containers. */
  end: number;
}

/** Executes one story in a repository of its own: a script as the agent, which changes a file. */
export interface Opened {
  time(): Promise<StoryTimes>;
  close(): Promise<void>;
}

export interface Contestant {
  name: string;
  /** What a reader must know to compare its times with the others. */
  differs: string;
  /** `dir` is an empty folder that is removed at the end. Throws if it cannot run here. */
  open(dir: string): Opened | Promise<Opened>;
}

export const CONTESTANTS: Contestant[] = [
  {
    name: 'halo',
    differs:
      'runs a gate in a second, clean container; no network; the host makes the commit on a branch of its own; starts and ends Redis',
    open: (dir) => openHalo(dir, ['true']),
  },
  {
    name: 'halo without gates',
    differs: 'the report of the agent decides; otherwise the same',
    open: (dir) => openHalo(dir, []),
  },
  {
    name: SANDCASTLE,
    differs:
      'no gate; one container with network and a worktree of the host in it; the agent makes the commit, which is merged into the checked-out branch; `docker stop` waits 10 s for `sleep`, the main process of its images',
    open: openSandcastle,
  },
  {
    name: RALPHY,
    differs:
      'no gate and no sandbox of its own, so here by one `docker run` with network, in which the repository is writable; the agent makes the commit on the checked-out branch',
    open: openRalphy,
  },
];

/** With its own defaults, apart from the agent and the gates. */
function openHalo(dir: string, gates: string[]): Opened {
  const home = openHome(dir);
  const repository = makeRepository({}, 'repository', dir);
  const prd = join(dir, 'prd.json');
  const settings = ['agent=command', `agents.command.run=${JSON.stringify(`date +%N > file; ${OK}`)}`]
    .concat(`gates=${JSON.stringify(gates)}`)
    .flatMap((setting) => ['-c', setting]);
  return {
    async time() {
      // A run marks its story in the PRD.
      writeFileSync(prd, prdOf([{ id: 'S-1' }]).bytes);
      const started = Date.now();
      // `--prd` accepts a repository without gates.
      const { code, stderr } = await home.halo(['run', '--prd', prd, ...settings], { cwd: repository.root });
      const end = Date.now() - started;
      if (code !== 0) throw new Error(stderr);
      return { commit: movedAt(repository.root, `halo/${home.runIds().at(-1)}`) - started, end };
    },
    close: () => home.close(),
  };
}

/** Installs it into `dir` and builds an image for it. Throws if either fails. */
async function openSandcastle(dir: string): Promise<Opened> {
  const repository = makeOwnRepository(dir);
  await install(SANDCASTLE, dir);
  await execa('docker', ['build', '-q', '-t', IMAGE, '-'], { input: DOCKERFILE });
  const main = join(dir, 'main.mjs');
  writeFileSync(main, MAIN);
  return {
    async time() {
      const started = Date.now();
      await execa(process.execPath, [main, repository.root]);
      const end = Date.now() - started;
      return { commit: movedAt(repository.root, 'main') - started, end };
    },
    async close() {
      const { stdout } = await execa('docker', ['ps', '-aq', '--filter', `ancestor=${IMAGE}`]);
      const left = stdout.split('\n').filter((id) => id !== '');
      if (left.length > 0) await execa('docker', ['rm', '-f', ...left]);
      await execa('docker', ['rmi', IMAGE]);
    },
  };
}

/** Installs it into `dir`, which its container sees. Throws if that fails. */
async function openRalphy(dir: string): Promise<Opened> {
  const { root } = makeOwnRepository(dir);
  await install(RALPHY, dir);
  writeFileSync(join(dir, 'node_modules/.bin/claude'), CLAUDE, { mode: 0o755 });
  const user = `${process.getuid?.()}:${process.getgid?.()}`;
  return {
    time: async () => {
      const started = Date.now();
      await execa('docker', [
        ...['run', '--rm', '--user', user, '-v', `${dir}:/peer:ro`, '-v', `${root}:/workspace`, '-e', 'HOME=/tmp'],
        ...['halo-sandbox', 'sh', '-c', 'PATH=/peer/node_modules/.bin:$PATH; exec ralphy --fast "Change the file."'],
      ]);
      const end = Date.now() - started;
      return { commit: movedAt(root, 'main') - started, end };
    },
    close: () => Promise.resolve(),
  };
}

/** In which an agent can make commits. */
function makeOwnRepository(dir: string): TestRepository {
  const repository = makeRepository({}, 'repository', dir);
  repository.git('config', 'user.name', 'Tess');
  repository.git('config', 'user.email', 'tess@example.com');
  return repository;
}

async function install(peer: string, dir: string): Promise<void> {
  await execa('npm', ['install', '--prefix', dir, '--no-audit', '--no-fund', peer]);
}

/** When the branch got its commit, in ms since the epoch. */
function movedAt(root: string, branch: string): number {
  return statSync(join(root, '.git/refs/heads', branch)).mtimeMs;
}
