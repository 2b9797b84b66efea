import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { RunView } from '../../../src/api/operations/runs.ts';
import { prdOf } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { askingAgent, complete, startChatProvider, type ChatProvider } from '../../support/model/chat-provider.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { startAtTerminal } from '../../support/terminal/at-terminal.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

const CTRL_C = '\u0003';

let home: HaloHome;
let repository: TestRepository;
let model: ChatProvider;
let isRefused = true;

beforeEach(async () => {
  home = openHome();
  repository = newRepository();
  repository.write('prd.json', Buffer.from(prdOf([{ id: 'A' }, { id: 'B' }]).bytes).toString());
  repository.commit('the PRD');
  isRefused = true;
  model = await startChatProvider((res) => {
    if (!isRefused) return complete(res);
    res.writeHead(429, { 'retry-after': '18000' });
    res.end('{"error":{"message":"You have reached your five-hour limit."}}');
  });
});
afterEach(async () => {
  model.close();
  await home.close();
});

it(
  'Ctrl-C ends a run that waits for a pause of hours immediately, and the next run continues it without waiting',
  { timeout: 180_000 },
  async () => {
    const env = { HALO_HOME: home.dir, HALO_TEST_KEY: 'sk-test-pause' };
    const options = askingAgent(model.url, 1).flatMap((setting) => ['-c', setting]);
    const run = startAtTerminal(['run', 'prd.json', ...options], { cwd: repository.root, env });
    await run.shows('waiting for 4h 5');
    const [runId = ''] = home.runIds();
    const status = await callHalo(['status', runId, '--json'], { cwd: repository.root, env });
    const { state } = JSON.parse(status.stdout) as RunView;
    const { notBefore = '' } = state.stories[0]?.waiting ?? {};
    expect(Date.parse(notBefore) - Date.now()).toBeGreaterThan(4 * 3_600_000);
    const page = (await callHalo(['status', runId], { cwd: repository.root, env })).stdout;
    expect(page).toMatch(/^state +waiting$/m);
    expect(page).toMatch(/for 4h 5\dm/);

    run.press(CTRL_C);
    expect(await run.ended).toBe(130);
    const events = readJournal(home.dir, runId);
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'USER_ABORT' });
    expect(events.filter(({ type }) => type === 'story.started')).toHaveLength(1);

    isRefused = false;
    const resumed = await callHalo(['run', '--resume', runId], { cwd: repository.root, env });
    expect(resumed.code).toBe(0);
    await vi.waitFor(
      () => expect(repository.git('log', '--format=%s', `main..halo/${runId}`)).toContain('Story B'),
      100_000,
    );
  },
);
