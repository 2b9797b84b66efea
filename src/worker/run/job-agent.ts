import type { RunState } from '../../core/run/state.ts';
import type { RankedJob } from '../../queue/scheduler/scheduler.ts';
import type { JournalStore } from '../../store/journal-store.ts';

/** What only some runs have in their settings, so that an attempt may have another agent than its run. */
interface Choosing {
  route?: readonly unknown[];
  storyChoices?: Readonly<Record<string, unknown>>;
}

/**
 * The agent with which the attempt of a job begins, as far as is known before: its story, a route, or a provider that failed
 * decides; a pause of a model may decide otherwise.
 */
export async function agentOfJob(
  store: Pick<JournalStore, 'readRecord' | 'readWithoutActivities'>,
  { runId, agent = '', stories }: RunState,
  { ordinal, attempt }: RankedJob,
): Promise<string> {
  const planned = stories[ordinal];
  if (planned === undefined) return agent;
  const { route = [], storyChoices = {} } = ((await store.readRecord(runId)).config ?? {}) as Choosing;
  const left = (planned.left ?? []).map((each) => each.agent);
  if (route.length === 0 && !Object.hasOwn(storyChoices, planned.id) && left.length === 0) return agent;
  const [{ readRun }, { chooseAgent, configsInOrder, withChoice }] = await Promise.all([
    import('./read-run.ts'),
    import('../../config/choice/choose-agent.ts'),
  ]);
  const { prd, config } = await readRun({ store }, runId);
  const story = prd.stories.find(({ id }) => id === planned.id);
  if (story === undefined) return agent;
  const [first = config] = configsInOrder(withChoice(config, chooseAgent(config, { story, attempt })), left);
  return first.agent;
}
