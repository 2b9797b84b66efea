import type { JSX } from 'preact';
import type { RunView } from '../../../api/operations/runs.ts';
import type { Artifact } from '../../../core/journal/event-parts.ts';
import { safeText } from '../../../core/text/safe-text.ts';
import { readJson, readText, runPath, useLoaded } from '../../page/read-server.ts';

import { Fact } from './fact.tsx';

const MAX_SUMMARY = 4_000;

interface AgentSummaryProps {
  runId: string;
  story: string;
  attempt: number;
}

/** What the agent of an attempt wrote about its change; nothing if that is not kept. */
export function AgentSummary({ runId, story, attempt }: AgentSummaryProps): JSX.Element | null {
  const { value } = useLoaded(`${runId} ${story} ${attempt}`, () => readSummary(runId, story, attempt));
  if (value === undefined) return null;
  return (
    <Fact title="Summary of the agent">
      <p class="said">{safeText(value)}</p>
    </Fact>
  );
}

async function readSummary(runId: string, story: string, attempt: number): Promise<string | undefined> {
  const [{ state }, { artifacts }] = await Promise.all([
    readJson<RunView>(runPath(runId)),
    readJson<{ artifacts: Artifact[] }>(runPath(runId, '/artifacts')),
  ]);
  const key = state.stories.find(({ id }) => id === story)?.key;
  const path = `${key}/${attempt}/result.json`;
  if (!artifacts.some((artifact) => artifact.path === path)) return undefined;
  const address = runPath(runId, `/artifacts/${path.split('/').map(encodeURIComponent).join('/')}`);
  return toSummary(await readText(address));
}

/** The summary of an answer, which any agent may have written. */
function toSummary(answer: string): string | undefined {
  try {
    const { summary } = (JSON.parse(answer) ?? {}) as { summary?: unknown };
    return typeof summary === 'string' && summary.trim() !== '' ? summary.slice(0, MAX_SUMMARY) : undefined;
  } catch {
    return undefined;
  }
}
