import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Authenticator } from '../../../src/api/access/authenticate.ts';
import { AccessLog } from '../../../src/store/access/access-log.ts';
import { UserFiles } from '../../../src/store/access/user-files.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { PATIENCE } from '../../support/patience.ts';
import { addProbeResults } from '../../support/suite/probed-engine.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

let home: HaloHome;
let repository: TestRepository;
let at: { cwd: string; env: Record<string, string> };

beforeEach(() => {
  home = openHome();
  repository = newRepository();
  writeFileSync(join(home.dir, 'config.toml'), '[fleet]\nmax = 4\n');
  at = { cwd: repository.root, env: { HALO_HOME: home.dir, HALO_TAKEOVER: '3s' } };
});

afterEach(() => home.close());

async function halo(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await callHalo(words, at);
  expect(code, `${words.join(' ')}: ${stderr}`).toBe(0);
  return stdout.trim();
}

function submit(ids: string[], script: string, more: string[] = []): Promise<string> {
  repository.write('prd.json', Buffer.from(prdOf(ids.map((id) => ({ id }))).bytes).toString());
  const settings = scripted(script, ['true'], more).flatMap((setting) => ['-c', setting]);
  return halo('submit', 'prd.json', '--allow-dirty', ...settings);
}

function identify(dir: string, token = '') {
  const how = { ownerToken: 'x', users: new UserFiles(dir), log: new AccessLog(dir) };
  return new Authenticator(how).identify({ from: 'header', token }, '127.0.0.1');
}

const WORK = `story=$(grep -oE 'Story [A-Z]+' | head -n 1); echo x > "$story"`;

it(
  'hazard 67: a home that is backed up while runs work, lost, and restored elsewhere continues: each story lands once, users sign in, proofs and held commits are there',
  { timeout: 300_000 },
  async () => {
    const worker = home.start(['worker', '--concurrency', '2'], at);
    await worker.says('running up to');
    const going = await submit(['A', 'B'], `${WORK}; case "$story" in *B) ${HOLD};; esac; ${OK}`);
    const held = await submit(['C'], `${WORK}; ${OK}`, ['approval.mode="story"']);
    const token = (await halo('user', 'add', 'ada', '--role', 'submitter'))
      .split('\n')
      .find((line) => /^halo_/.test(line));
    const texts = (runId: string) => readFileSync(join(home.dir, 'runs', runId, 'journal.jsonl'), 'utf8');
    await vi.waitFor(() => {
      expect(texts(going)).toMatch(
        /"phase.started","phase":"agent","story":"B"|"story":"B".*"phase":"agent"|agent.*"B"/,
      );
      // The story waits for approval, and its run for a person.
      expect(texts(held)).toContain('"run.ended"');
    }, PATIENCE);

    const file = join(tempDir('halo-backups'), 'backup.tar.gz');
    const report = JSON.parse(await halo('backup', file, '--json')) as Record<string, unknown>;
    expect(report).toMatchObject({ runs: 2, open: 1, repositories: 1, failed: [], leftOut: [] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const cut = texts(going);
    expect(await halo('backup', '--check', file)).toContain('intact');

    // The machine is lost with everything that came after.
    await home.kill();
    const [lost, elsewhere] = [home.dir, join(tempDir('halo-elsewhere'), 'home')];
    renameSync(lost, `${lost}.lost`);
    const restored = JSON.parse(await halo('restore', file, '--home', elsewhere, '--json')) as Record<string, unknown>;
    expect(restored).toMatchObject({ runs: 2, open: 1, missing: [] });
    // The state is one that the run had: the end of its journal follows from what is there.
    expect(cut.startsWith(readFileSync(join(elsewhere, 'runs', going, 'journal.jsonl'), 'utf8'))).toBe(true);
    expect(readdirSync(elsewhere)).not.toContain('api-token');
    at.env['HALO_HOME'] = elsewhere;
    addProbeResults(elsewhere);
    try {
      expect(await identify(elsewhere, token)).toMatchObject({ user: { name: 'ada' } });
      const next = home.start(['worker', '--concurrency', '2'], at);
      await next.says('running up to');
      await releaseUntil(
        () => [going],
        () => expect(readFileSync(join(elsewhere, 'runs', going, 'journal.jsonl'), 'utf8')).toContain('"run.ended"'),
      );
      await halo('approve', held, '--story', 'C');
      await vi.waitFor(() => {
        for (const runId of [going, held])
          expect(readJournal(elsewhere, runId).at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'SUCCESS' });
      }, PATIENCE);
      const landed = (runId: string) => repository.git('log', '--format=%s', `main..halo/${runId}`).split('\n').sort();
      expect(landed(going)).toEqual(['feat: [A] - Story A', 'feat: [B] - Story B']);
      expect(landed(held)).toEqual(['feat: [C] - Story C']);
      expect(repository.git('notes', '--ref=halo', 'show', `halo/${going}`)).toContain(going);
      await halo('verify', going);
    } finally {
      await home.kill();
      rmSync(`${lost}.lost`, { recursive: true, force: true });
    }
  },
);
