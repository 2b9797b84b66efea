import type { MessageRoute } from '../../../src/core/run/messages.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import type { Lane, ModelServer, Turn } from '../model/model-server.ts';
import type { TestRepository } from '../repository/repository.ts';
import { releaseUntil } from './hold.ts';
import { modelAt, type ModelHalo } from './model-halo.ts';

/** A story whose agent got a message while it worked. */
interface MessagedStory {
  state: RunState;
  route: MessageRoute;
  server: ModelServer;
  repository: TestRepository;
  /** A file that the story has landed. */
  show: (path: string) => string;
}

/** Runs the story `hello`, whose agent gets the message once it takes messages; then its held commands are released. */
export async function tellDuring(
  halo: ModelHalo,
  message: string,
  { script, settings }: { script: Turn[] | Lane[]; settings: string[] },
): Promise<MessagedStory> {
  const server = await halo.serve(script);
  const repository = halo.newRepository();
  const runId = await halo.submit(repository.root, [{ id: 'hello' }], modelAt(server.url, settings));
  const { operations } = halo;
  for await (const { event } of await operations.followEvents({ runId, after: 0, follow: true }))
    if (event.type === 'agent.listens' || event.type === 'run.ended') break;
  const { route } = await operations.tell({ runId, story: 'hello', text: message });
  let state: RunState | undefined;
  const ending = halo.untilEnd(runId).then((ended) => (state = ended));
  await releaseUntil(
    () => [runId],
    () => {
      if (state === undefined) throw new Error('The run has not ended.');
    },
  );
  const show = (path: string) => repository.git('show', `halo/${runId}:${path}`);
  return { state: await ending, route, server, repository, show };
}
