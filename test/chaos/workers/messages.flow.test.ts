import { describe, expect, it, vi } from 'vitest';
import { landHeldStory, replaceWorker } from '../../support/faults/held-story.ts';
import { openWorld } from '../../support/faults/world.ts';
import { HOLD } from '../../support/halo/hold.ts';
import { OK } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';

/** An agent that takes messages in its turn: it appends what it gets to the file A, and ends its turn when it is released. */
const LISTENER = `import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
const print = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
const update = (update) => print({ method: 'session/update', params: { sessionId: 's', update } });
const ANSWERS = {
  initialize: () => ({ protocolVersion: 1, agentInfo: { name: 'n', version: '1' }, _meta: { steering: { supported: true } } }),
  'session/new': () => ({ sessionId: 's' }),
  'session/prompt'() {
    const timer = setInterval(() => {
      if (!existsSync('/tmp/released')) return;
      clearInterval(timer);
      update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: '{"status":"ok","summary":"x"}' } });
      print({ id: prompt, result: { stopReason: 'end_turn' } });
    }, 20);
  },
  '_session/steering'() {
    update({ sessionUpdate: 'tool_call', toolCallId: 't', kind: 'execute', title: 'has it', rawInput: { command: 'has it' } });
    return process.argv[2] === 'confirms' ? { outcome: 'injected' } : undefined;
  },
};
let prompt;
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'session/prompt') prompt = id;
  for (const { text } of params?.prompt ?? []) appendFileSync('A', text);
  const result = ANSWERS[method]?.();
  if (result !== undefined) print({ id, result });
});
`;

const SENT = ['Use euros.', 'Not dollars.'];
const AGENT = `cat > A; ${HOLD}; date +%N >> A\n${OK}`;

describe.concurrent('hazard 81: two people send messages, and the worker is killed before they are delivered', () => {
  it('has each once in the prompt of the next worker', async () => {
    const world = openWorld();
    try {
      const repository = world.addRepository();
      const agent = `agents.command.run=${JSON.stringify(AGENT)}`;
      const runId = await world.submit(repository, [{ id: 'A' }], [agent]);
      const events = (type: string) => world.journal(runId).filter((event) => event.type === type);
      const first = world.startWorker();
      await vi.waitUntil(() => events('agent.launched').length === 1, PATIENCE);
      const results = await Promise.all(SENT.map((text) => world.operations.tell({ runId, story: 'A', text })));
      expect(results).toMatchObject(SENT.map(() => ({ changed: true, route: 'next' })));
      // A client that got no response sends the last one again.
      const { state } = await world.operations.getRun({ runId });
      const { text = '', id } = state.stories[0]!.messages!.at(-1)!;
      const repeated = await world.operations.tell({ runId, story: 'A', text });
      expect(repeated).toMatchObject({ changed: false, message: id });
      const second = await replaceWorker(world, first);
      await landHeldStory(world, second, { runId, repository });
      const delivered = events('message.delivered').flatMap((event) => ('ids' in event ? [event] : []));
      expect(delivered).toMatchObject([{ attempt: 1, how: 'prompt' }]);
      expect(delivered[0]!.ids.toSorted()).toEqual(results.map(({ message }) => message).toSorted());
      const prompt = repository.git('show', `halo/${runId}:A`);
      for (const each of SENT) expect(prompt.split(each)).toHaveLength(2);
    } finally {
      await world.close();
    }
  });
});

describe.concurrent('hazard 82: a worker is killed after it has written a message to its agent', () => {
  it.each([
    ['before', 'hangs', []],
    ['after', 'confirms', ['live']],
  ])('has it in the prompt of the next worker, and only there: %s the agent confirmed it', async (_when, how, live) => {
    const world = openWorld();
    try {
      const repository = world.addRepository({ 'listener.mjs': LISTENER });
      const acp = JSON.stringify(`/opt/halo/agents/node/bin/node listener.mjs ${how}`);
      const settings = ['agent=listener', `agents.listener.acp=${acp}`, 'agents.listener.model="none"'];
      const runId = await world.submit(repository, [{ id: 'A' }], settings);
      const events = (type: string) => world.journal(runId).filter((event) => event.type === type);
      const shown = () => events('message.delivered').map((event) => 'how' in event && event.how);
      const first = world.startWorker();
      await vi.waitUntil(() => events('agent.listens').length === 1, PATIENCE);
      const sent = await world.operations.tell({ runId, story: 'A', text: 'Use euros.' });
      expect(sent).toMatchObject({ changed: true, route: 'live' });
      await vi.waitFor(() => expect(events('agent.activity')).toHaveLength(1), PATIENCE);
      await vi.waitFor(() => expect(shown()).toEqual(live), PATIENCE);
      const second = await replaceWorker(world, first);
      await landHeldStory(world, second, { runId, repository });
      expect(shown()).toEqual([...live, 'prompt']);
      const { state } = await world.operations.getRun({ runId });
      const prompted = { id: sent.message, shown: { attempt: 1, epoch: 2, how: 'prompt' } };
      expect(state.stories).toMatchObject([{ attempts: 1, messages: [prompted] }]);
      expect(repository.git('show', `halo/${runId}:A`).split('Use euros.')).toHaveLength(2);
    } finally {
      await world.close();
    }
  });
});
