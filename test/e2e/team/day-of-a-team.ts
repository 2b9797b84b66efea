import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { FAKE_PROJECT, openFakeForge, type FakeForge } from '../../support/forge/fake-forge.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { startReceiver } from '../../support/network/receiver.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { serveGit } from '../../support/repository/serve-git.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

/** Asks about a port until it is answered, does what feedback asks for, and otherwise writes what its title says. */
const AGENT = `prompt=$(cat); case "$prompt" in
  *"answered:"*) echo 8080 > port.txt; ${OK};;
  *"Choose a port"*) echo '{"status":"needs_human","summary":"Which port?"}';;
  *"asks for"*) echo good > work.txt; ${OK};;
  *) echo bad > work.txt; ${OK};;
esac`;

/** A repository whose `origin` is on the forge, over HTTP with the token. */
async function shopOn(forge: FakeForge) {
  const shop = newRepository({ 'halo.toml': '[land]\nmode = "pr"\n' }, 'shop');
  const dir = tempDir('origin');
  execFileSync('git', ['clone', '-q', '--bare', shop.root, dir]);
  const login = { user: 'x-access-token', password: forge.token, path: `/${FAKE_PROJECT}.git` };
  const server = await serveGit(dir, login);
  onTestFinished(() => server.close());
  shop.git('remote', 'add', 'origin', server.url());
  return {
    shop,
    gitUrl: new URL(server.url()).origin,
    show: (place: string) => execFileSync('git', ['-C', dir, 'show', place], { encoding: 'utf8' }).trim(),
  };
}

/** Where the stories of the day are executed. */
export interface Execution {
  /** Tables of config.toml. */
  config?: string;
  /** The words of `halo` for each worker. */
  workers: readonly (readonly string[])[];
}

/** The server, workers, and the operations of the administrator and of the three people. */
async function startTeam(home: HaloHome, forge: FakeForge, workers: Execution['workers']) {
  const env = { TEST_FORGE_TOKEN: forge.token };
  const cwd = home.dir;
  const server = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd, env });
  for (const words of workers) home.start([...words], { cwd, env });
  await server.says('token ');
  const url = /api +(\S+)/.exec(server.stdout())?.[1] ?? '';
  const owner = openHttp({ url, token: ownerToken(home) });
  const addPerson = async (name: string, role: 'viewer' | 'submitter' | 'operator') => {
    await owner.addUser({ name, role });
    const { token, id } = await owner.createToken({ name });
    return { operations: openHttp({ url, token }), id };
  };
  const [sam, olga, vera] = [
    await addPerson('sam', 'submitter'),
    await addPerson('olga', 'operator'),
    await addPerson('vera', 'viewer'),
  ];
  return { url, owner, sam, olga, vera };
}

/**
 * Runs in four repositories, an answer, a reworked and merged pull request, all notifications and exact metrics. Returns the
 * events of all runs.
 */
export async function spendDay({ config = '', workers }: Execution): Promise<JournalEvent[]> {
  const forge = await openFakeForge('github');
  onTestFinished(() => forge.close());
  const home = openHome();
  onTestFinished(() => home.close());
  const dead = await startReceiver((response) => void response.destroy());
  const { shop, show, gitUrl } = await shopOn(forge);
  const settings = scripted(AGENT).join('\n').replace('agent=command', 'agent="command"');
  writeFileSync(
    join(home.dir, 'config.toml'),
    `${settings}\n[land]\nfeedback_interval = "1s"\n[forge.github]\nurl = "${forge.url}"\ngit_url = "${gitUrl}"\ntoken_env = "TEST_FORGE_TOKEN"\n` +
      // Submitters may have pull requests, which the file of the repository asks for.
      `[server]\noptions = ["land.mode"]\n[notify.team]\ntype = "webhook"\nurl = "${dead.url}"\nevents = ["all"]\nallow_private = true\n${config}`,
  );
  const others = ['site', 'docs', 'tools'].map((name) => newRepository({}, name));
  const { url, owner, sam, olga, vera } = await startTeam(home, forge, workers);

  const submit = (by: Operations, root: string, title: string) =>
    by
      .submit({
        prd: { path: 'prd.json', bytes: prdOf([{ id: 'A', title }]).bytes },
        repos: [root],
        profile: undefined,
        set: [],
        allowDirty: false,
      })
      .then(({ runs }) => runs);
  await expect(submit(vera.operations, shop.root, 'Pay')).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
  const titles = ['Choose a port', 'Write', 'Build'];
  const submitted = [
    await submit(sam.operations, shop.root, 'Pay'),
    ...(await Promise.all(others.map(({ root }, index) => submit(sam.operations, root, titles[index] ?? '')))),
  ];
  const runIds = submitted.map(([run]) => run?.runId ?? '');
  const [shopRun = '', siteRun = ''] = runIds;
  const stateOf = async (runId: string) => (await vera.operations.getRun({ runId })).state;

  // A question is answered by someone else, elsewhere; the person who submitted the run may not.
  await vi.waitFor(async () => expect((await stateOf(siteRun)).stopReason).toBe('NEEDS_HUMAN'), PATIENCE);
  await expect(vera.operations.answer({ runId: siteRun, story: 'A', text: '80' })).rejects.toMatchObject({
    code: 'ACCESS_DENIED',
  });
  await olga.operations.answer({ runId: siteRun, story: 'A', text: 'Use 8080.' });
  await vi.waitFor(async () => expect((await stateOf(siteRun)).stopReason).toBe('SUCCESS'), PATIENCE);

  // The pull request is reviewed, reworked and merged.
  await vi.waitFor(
    () => expect(forge.pulls.all).toMatchObject([{ branch: `halo/${shopRun}`, isDraft: false }]),
    PATIENCE,
  );
  expect(show(`halo/${shopRun}:work.txt`)).toBe('bad');
  forge.pulls.review({ author: 'alice', comments: [{ path: 'work.txt', line: 1, text: 'Make it good.' }] });
  await vi.waitFor(() => expect(show(`halo/${shopRun}:work.txt`)).toBe('good'), PATIENCE);
  await vi.waitFor(() => expect(forge.pulls.all).toMatchObject([{ isDraft: false }]), PATIENCE);
  forge.pulls.all[0]!.state = 'merged';
  for (const runId of runIds)
    await vi.waitFor(async () => expect((await stateOf(runId)).stopReason).toBe('SUCCESS'), PATIENCE);

  // The receiver of notifications was down all day; afterwards it gets everything, in order.
  await dead.close();
  const receiver = await startReceiver(undefined, Number(new URL(dead.url).port));
  onTestFinished(() => receiver.close());
  await owner.retryEndpoint({ name: 'team' });
  const ended = () =>
    receiver.received
      .map(({ body }) => JSON.parse(body) as { type: string; data: { run: string } })
      .filter(({ type }) => /^run\.(?:succeeded|failed)$/.test(type))
      .map(({ data }) => data.run);
  const journals = runIds.map((runId) => readJournal(home.dir, runId));
  const ends = journals.flatMap((events, index) =>
    events.filter(({ type }) => type === 'run.ended').map(() => runIds[index] ?? ''),
  );
  await vi.waitFor(() => expect(new Set(ended())).toEqual(new Set(runIds)), PATIENCE);
  await vi.waitFor(() => expect(ended().sort()).toEqual(ends.sort()), PATIENCE);

  // The metrics are those of the journals.
  const events = journals.flat();
  const landed = events.filter((event) => event.type === 'story.ended' && event.commit !== undefined);
  const metric = async (name: string) => {
    const response = await fetch(new URL('/metrics', url), {
      headers: { authorization: `Bearer ${ownerToken(home)}` },
    });
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith(`halo_${name}`));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  expect(landed).toHaveLength(5);
  await vi.waitFor(async () => expect(await metric('story_landed_total')).toBe(landed.length), PATIENCE);

  // Who did what is in the audit, with proven names.
  const audit = await owner.reportAudit({ limit: 100 });
  expect(JSON.stringify(audit)).toContain('"olga"');
  await owner.revokeToken({ id: sam.id });
  await expect(sam.operations.getRun({ runId: shopRun })).rejects.toMatchObject({ code: 'API_REFUSED' });
  return events;
}

function ownerToken({ dir }: HaloHome): string {
  return readFileSync(join(dir, 'api-token'), 'utf8').trim();
}
