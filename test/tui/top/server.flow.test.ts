import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shellQuote } from '../../../src/lib/text.ts';
import { openHalo, OK, prdOf, type TestHalo } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';
import { skipFor } from '../../support/skip.ts';
import { PATIENCE } from '../../support/patience.ts';
import { hasTmux, Tmux } from '../../support/terminal/tmux.ts';

const BIN = resolve(import.meta.dirname, '../../../bin/halo');
/** Asks until the prompt has an answer. */
const ASKS = `if grep -q 'Use 8080'; then echo x > port.txt; ${OK}; else echo '{"status":"needs_human","summary":"Which port?"}'; fi`;

describe('halo top and a server', skipFor(!hasTmux && 'tmux is missing'), () => {
  let halo: TestHalo;
  let processes: HaloHome;
  let repository: TestRepository;
  let tmux: Tmux;
  let prd = '';

  beforeEach(async () => {
    halo = await openHalo();
    const settings = ['agent = "command"', 'gates = ["true"]', `[agents.command]\nrun = ${JSON.stringify(ASKS)}`];
    writeFileSync(join(halo.home, 'config.toml'), `${settings.join('\n')}\n`);
    processes = openHome();
    const server = processes.start(['serve', '--listen', '127.0.0.1:0'], {
      cwd: halo.home,
      env: { HALO_HOME: halo.home },
    });
    await server.says('token ');
    const url = /api +(\S+)/.exec(server.stdout())?.[1] ?? '';
    const token = readFileSync(join(halo.home, 'api-token'), 'utf8').trim();
    repository = makeRepository();
    mkdirSync(join(repository.root, '.halo/prds/checkout'), { recursive: true });
    prd = join(repository.root, '.halo/prds/checkout/prd.json');
    writeFileSync(prd, prdOf([{ id: 'US-001', title: 'Old title' }]).bytes);
    writeFileSync(join(repository.root, '.git/info/exclude'), '.halo\n');
    // A server that the terminal has never seen: no local runs.
    tmux = new Tmux({ HALO_HOME: join(halo.home, 'client'), TERM: 'screen-256color', VISUAL: 'sed -i s/Old/New/' });
    await tmux.shows('ready$');
    tmux.type(`cd ${shellQuote(repository.root)}; export HALO_URL=${url} HALO_TOKEN=${token}; clear`);
    tmux.type(`${shellQuote(process.execPath)} ${shellQuote(BIN)} top`);
  });
  afterEach(async () => {
    tmux.close();
    await processes.close();
    await halo.close();
    repository.remove();
  });

  it('edits and starts a PRD of the repository, and answers its question', async () => {
    await tmux.shows('No runs yet.', 'http://127.0.0.1');
    tmux.press('g', 'p');
    await tmux.shows('checkout', '· ready', '0/1');
    tmux.press('e');
    await tmux.shows('✓ Edited checkout.', 'q quit');
    expect(readFileSync(prd, 'utf8')).toContain('New title');
    tmux.press('Enter');
    await tmux.shows('prds checkout', 'New title');
    tmux.press('s');
    await tmux.shows('Start checkout: 1 story (US-001) in', 'y yes, n no');
    tmux.press('y');
    await tmux.shows('✓ Started run');
    const runs = () => halo.operations.listRuns().then(({ runs }) => runs);
    const [run] = await vi.waitFor(async () => {
      expect(await runs()).toMatchObject([{ stopReason: 'NEEDS_HUMAN' }]);
      return runs();
    }, PATIENCE);
    tmux.press('g', 'i');
    await tmux.shows('? answer', 'Which port?');
    tmux.press('A');
    await tmux.shows('US-001 asks', 'Answer: _');
    tmux.type('Use 8080.');
    await tmux.shows('your answer', 'Send this answer to US-001');
    tmux.press('y');
    await tmux.shows('✓ Story US-001 is answered');
    await halo.untilEnd(run!.runId);
    tmux.press('g', 'n', 'Enter');
    await tmux.shows('✓ done', 'halo land');
    expect((await halo.operations.getRun({ runId: run!.runId })).state).toMatchObject({
      stopReason: 'SUCCESS',
      stories: [{ answered: [{ text: 'Use 8080.', by: 'api-token' }] }],
    });
    tmux.press('q');
    await tmux.shows('ready$');
  });
});
