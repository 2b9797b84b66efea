import { openHalo, type TestHalo } from '../support/halo/halo.ts';
import { startModelServer, type Turn } from '../support/model/model-server.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import { median, print, showRound, type Measure } from './report.ts';

const TURNS: Turn[] = [
  { write: 'greeting.txt', content: 'hello\n' },
  { json: { status: 'ok', summary: 'Added the greeting.' } },
];

const BY_ACP = [
  'agent=gemini-acp',
  'agents.gemini-acp.model="google"',
  `agents.gemini-acp.acp=${JSON.stringify(
    'GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_NO_RELAUNCH=true GEMINI_CLI_SYSTEM_SETTINGS_PATH=/opt/halo/agents/gemini/settings.json exec /opt/halo/agents/node/bin/node /opt/halo/agents/gemini/bundle/gemini.js --acp -m "$HALO_MODEL"',
  )}`,
];

/** A story by the same program, Gemini CLI with a scripted model: by the Agent Client Protocol, and by its own adapter, in turn. */
export async function measureAgents({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  process.env.HALO_BENCH_KEY = 'no-key';
  const halo = await openHalo({ concurrency: 1 });
  const measures: Measure[] = [];
  try {
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const acp = await timeStory(halo, BY_ACP);
      const plain = await timeStory(halo, ['agent=gemini']);
      // The first round warms caches.
      if (round >= 0) measures.push({ halo: acp, floor: plain, ratio: acp / plain });
    }
  } finally {
    await halo.close();
  }
  print({ name: 'agents', measures, ratio: median(measures.map(({ ratio }) => ratio)), limit: 1.1, json });
}

/** In ms. */
async function timeStory(halo: TestHalo, settings: string[]): Promise<number> {
  const server = await startModelServer({ turns: TURNS });
  const repository = newRepository({});
  const own = [`model.base_url=${server.url}`, 'model.key_env=HALO_BENCH_KEY', 'gates=["true"]', 'retry.attempts=1'];
  const started = performance.now();
  const state = await halo.run(repository.root, [{ id: 'S-1' }], [...settings, ...own]);
  const ms = performance.now() - started;
  await server.close();
  if (state.stopReason !== 'SUCCESS') throw new Error(`halo ended with ${state.stopReason}: ${state.detail}`);
  return ms;
}
