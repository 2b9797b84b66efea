import { randomBytes } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import type { Config, Host } from '../config/config.ts';
import type { Env } from '../config/host.ts';
import { findRepoConfig, parseConfigFile, readConfigFile, type ConfigFile } from '../config/load.ts';
import { resolveConfig } from '../config/resolve.ts';
import { HaloError } from '../core/errors.ts';
import type { RunRepo } from '../core/events.ts';
import type { Prd } from '../core/prd.ts';
import { mirrorPath, updateMirror } from '../git/mirror.ts';
import { inspectRepo, listChanges, readFileAt } from '../git/repo.ts';
import { isUrl, mirrorName, withoutCredentials } from '../git/source.ts';
import { newRunId } from '../lib/id.ts';
import { version } from '../lib/version.ts';
import { parsePrd } from '../prd/parse.ts';
import type { Enqueue, StoryQueue } from '../queue/queue.ts';
import { nextJobs } from '../worker/next-job.ts';
import type { Store } from '../store/store.ts';
import type { Submitted, SubmitRequest } from './operations.ts';
import { isFileHere } from './prd-file.ts';

export interface SubmitContext {
  host: Host;
  env: Env;
  store: Store;
  args: readonly string[];
  preflight: ((config: Config) => Promise<void>) | undefined;
  openQueue(): Promise<StoryQueue>;
  /** The worker that shall have these runs for itself, if any; asked only when they are about to be made. */
  ownerId(): Promise<string | undefined>;
}

/** Makes and queues one run per repository. Everything is validated first, and nothing is left behind when it fails. */
export async function submitRuns(context: SubmitContext, request: SubmitRequest): Promise<Submitted[]> {
  const prd = parsePrd(request.prd.bytes, request.prd.path);
  const planned = await Promise.all(request.repos.map((source) => planRun(context, { request, source })));
  refuseTwice(planned);
  const queue = await context.openQueue();
  await Promise.all(planned.map((run) => fetchBase(context.host.home, run)));
  const owner = await context.ownerId();
  const submitted: Submitted[] = [];
  const first: Enqueue[] = [];
  // For several repositories, the PRD is done only when it is done in all of them.
  const isOurs = request.repos.length === 1 && (await isFileHere(request.prd));
  for (const run of planned) {
    const writeBack = isOurs && run.config.prd.writeBack;
    const config = { ...run.config, prd: { writeBack } };
    const runId = await createRun(context, {
      run: { ...run, config },
      prd,
      prdPath: request.prd.path,
      owner,
    });
    first.push(...nextJobs(await context.store.readState(runId), config));
    submitted.push({
      runId,
      repo: run.repo.source,
      warnings: prd.warnings,
      parallel: config.run.parallel,
      ...(owner === undefined ? {} : { owner }),
    });
  }
  for (const job of first) await queue.enqueue(job);
  return submitted;
}

interface PlannedRun {
  repo: RunRepo;
  config: Config;
  /** Where git can read the base commit now: a git directory or a URL. */
  from: string;
}

async function planRun(
  context: SubmitContext,
  { request, source }: { request: SubmitRequest; source: string },
): Promise<PlannedRun> {
  const place = isUrl(source) ? await lookAtUrl(context.host.home, source) : await lookAtFolder(source, request);
  const { config } = resolveConfig({
    home: await readConfigFile(join(context.host.home, 'config.toml')),
    repo: place.file,
    profile: request.profile,
    env: context.env,
    set: request.set,
    flags: { agent: undefined },
    cwd: process.cwd(),
  });
  if (config.gates === undefined) {
    throw new HaloError('NO_GATES', `No gates are configured for ${place.repo.source}: nothing would prove a story.`, {
      hint: '`halo init` writes a halo.toml with gates that fit the repository; or pass -c \'gates=["npm test"]\'.',
    });
  }
  await context.preflight?.(config);
  return { repo: place.repo, from: place.from, config };
}

interface Place {
  repo: RunRepo;
  from: string;
  file: ConfigFile | undefined;
}

async function lookAtFolder(source: string, request: SubmitRequest): Promise<Place> {
  const { root, gitDir, branch, head } = await inspectRepo(source);
  if (!request.allowDirty) await refuseChanges(root, request.prd.path);
  return {
    repo: { source: root, mirror: mirrorName(gitDir), branch, base: head },
    from: gitDir,
    file: await findRepoConfig(root),
  };
}

/** halo's own inputs may be new or changed: they are read as they are now, not from a commit. */
async function refuseChanges(root: string, prdPath: string): Promise<void> {
  const prd = relative(root, await realpath(prdPath).catch(() => prdPath));
  const changes = await listChanges(root, ['halo.toml', '.halo/config.toml', ...(isBelow(prd) ? [prd] : [])]);
  if (changes.length === 0) return;
  const shown = changes.slice(0, 5).join(', ') + (changes.length > 5 ? ` and ${changes.length - 5} more` : '');
  throw new HaloError('DIRTY_WORKTREE', `${root} has uncommitted changes: ${shown}.`, {
    hint: 'Commit or stash them, because halo works on commits; --allow-dirty goes on without them.',
  });
}

function isBelow(path: string): boolean {
  return path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..';
}

async function lookAtUrl(home: string, url: string): Promise<Place> {
  const name = mirrorName(url);
  const { dir, head, branch } = await updateMirror({ home, name, from: url });
  const text = await readFileAt({ gitDir: dir, commit: head, path: 'halo.toml', maxBytes: 1024 * 1024 });
  const source = withoutCredentials(url);
  return {
    repo: { source, mirror: name, branch, base: head },
    from: url,
    file: text === undefined ? undefined : parseConfigFile(`${source}:halo.toml`, text),
  };
}

function refuseTwice(planned: PlannedRun[]): void {
  const seen = new Set<string>();
  for (const { repo } of planned) {
    if (seen.has(repo.mirror)) {
      throw new HaloError('USAGE', `The repository ${repo.source} is named twice.`, {
        hint: 'Name each repository once: a run has its own branch, so runs of one repository are submitted one by one.',
      });
    }
    seen.add(repo.mirror);
  }
}

async function fetchBase(home: string, { repo, from }: PlannedRun): Promise<void> {
  await mkdir(join(mirrorPath(home, repo.mirror), '..'), { recursive: true, mode: 0o700 });
  await updateMirror({ home, name: repo.mirror, from, commit: repo.base });
}

async function createRun(
  { store, args }: SubmitContext,
  { run, prd, prdPath, owner }: { run: PlannedRun; prd: Prd; prdPath: string; owner: string | undefined },
): Promise<string> {
  const runId = newRunId(new Date(), randomBytes);
  const { repo, config } = run;
  await store.createRun(
    {
      type: 'run.created',
      runId,
      repo,
      prdPath,
      prd,
      attempts: config.retry.attempts,
      ...config.run,
      ...(owner === undefined ? {} : { owner }),
    },
    { haloVersion: version(), agent: { name: config.agent }, args, config },
  );
  return runId;
}
