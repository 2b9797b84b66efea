import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { z } from 'zod';
import { saysDiskFull } from '../core/disk-full.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { Restored } from '../core/review/restored-paths.ts';
import { safeLine } from '../core/safe-text.ts';
import { streamCommit } from '../git/mirror/stream-commit-pack.ts';
import { parseJson } from '../lib/parse-json.ts';
import { shellQuote } from '../lib/shell-quote.ts';
import { DOCKER_DIR } from '../sandbox/docker/image/image-recipe.ts';
import { TRUSTED_IMAGE } from '../sandbox/docker/trusted-image.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Attempt } from './attempt-context.ts';
import { repositoryScript, type Checkout } from './workspace/checkout-script.ts';
import { WORKSPACE } from './workspace/sandbox-paths.ts';

const PROGRAM = 'restore-tree.mjs';
/** With what it imports. */
const PROGRAM_FILES = [PROGRAM, 'restore-files.mjs'];
const REPOSITORY = '/tmp/tree';

const MOST_SECONDS = 600;

/** Makes a workspace hold exactly its commit again; undefined: it did. */
export type Restorer = () => Promise<Restored | undefined>;

/**
 * Starts a sandbox of halo's image beside a workspace, with a repository that no command of the workspace can reach.
 * Its program puts back what commands changed; call it while none of them runs. Throws POLICY_VIOLATION for a workspace
 * that cannot be put back because of what is in it, DISK_FAILED or DOCKER_FAILED where the machine is too full or too slow.
 */
export function openRestorer(attempt: Attempt, volume: string, checkout: Checkout): Restorer {
  const starting = startSandbox(attempt, volume, checkout);
  starting.catch(() => {}); // whoever restores hears of it
  const reports = attempt.config.tests.reports.map((path) => normalize(path));
  const words = [WORKSPACE, `${REPOSITORY}/.git`, checkout.commit, ...reports].map(shellQuote).join(' ');
  const failed = JSON.stringify({ fault: `it took more than ${MOST_SECONDS} seconds or too much memory` });
  const script = `timeout ${MOST_SECONDS} node /tmp/${PROGRAM} ${words} || echo ${shellQuote(failed)}`;
  return async () => {
    const sandbox = await starting;
    // It does not hear of a signal.
    const stop = () => void sandbox.remove().catch(() => {});
    attempt.signal.addEventListener('abort', stop, { once: true });
    try {
      return readAnswer(await sandbox.prepare(script));
    } finally {
      attempt.signal.removeEventListener('abort', stop);
    }
  };
}

async function startSandbox(attempt: Attempt, volume: string, checkout: Checkout): Promise<Sandbox> {
  const { commit, gitDir, sources } = checkout;
  const mounted = attempt.transport === 'mount';
  const [sandbox, ...programs] = await Promise.all([
    attempt.startSandbox({
      image: TRUSTED_IMAGE,
      labels: attempt.labels('restore'),
      user: attempt.user,
      workdir: '/tmp',
      env: {},
      mounts: [
        ...attempt.repositoryMounts,
        { kind: 'volume', source: volume, target: WORKSPACE, readOnly: false, copyUp: true },
      ],
      limits: attempt.config.limits,
    }),
    ...PROGRAM_FILES.map((name) => readFile(join(DOCKER_DIR, name), 'utf8')),
  ]);
  const script = [
    ...programs.map((text, index) => `printf %s ${shellQuote(text)} > /tmp/${PROGRAM_FILES[index]}`),
    repositoryScript(REPOSITORY, commit, mounted ? sources : undefined),
  ];
  const pack = mounted ? undefined : await streamCommit({ gitDir, commit, signal: attempt.signal });
  await sandbox.prepare(script.join('\n'), pack);
  return sandbox;
}

const Answer = z.union([
  z.object({ error: z.string() }),
  z.object({ fault: z.string() }),
  z.object({ changed: z.array(z.string()), removed: z.array(z.string()), more: z.number() }),
]);

/** What the program printed last, as what it says. Throws as a `Restorer` does. */
export function readAnswer(text: string): Restored | undefined {
  const { data } = Answer.safeParse(parseJson(text.trim().split('\n').at(-1) ?? ''));
  const answer = data ?? { fault: 'it printed no answer' };
  if ('fault' in answer) {
    const why = safeLine(answer.fault);
    const code = saysDiskFull(why) ? 'DISK_FAILED' : 'DOCKER_FAILED';
    throw new HaloError(code, `The workspace could not be put back to its commit before a gate: ${why}.`, {
      hint: 'See whether the engine’s disk is full or its machine overloaded; [limits] memory is for this step as well.',
    });
  }
  if ('error' in answer) {
    const why = safeLine(answer.error);
    throw new HaloError('POLICY_VIOLATION', `The workspace cannot be put back to its commit before a gate: ${why}.`, {
      hint: 'Setup or an earlier gate left it so: see their logs.',
    });
  }
  const { changed, removed, more } = answer;
  return changed.length + removed.length + more === 0 ? undefined : answer;
}
