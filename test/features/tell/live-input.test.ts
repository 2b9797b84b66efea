import { describe, expect, it } from 'vitest';
import { acp } from '../../../src/agents/acp.ts';
import { claude } from '../../../src/agents/claude.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import type { DeliverMessage } from '../../../src/gateway/model/model-route.ts';
import { openLiveInput } from '../../../src/features/tell/worker/live-input.ts';
import { BASE, created, stateOf } from '../../support/journal.ts';

const story = 'US-001';
const sent = (id: string): JournalEntry => ({
  ...{ type: 'message.sent', story, attempt: 1, id, text: `Text of ${id}`, by: 'ann' },
});
const BEGUN: JournalEntry[] = [
  created('r', 1),
  { type: 'run.started' },
  { type: 'story.started', story, attempt: 1, epoch: 1, base: BASE },
];
const RESULT = '{"type":"result","is_error":false}';
const taken = (id: string) => JSON.stringify({ type: 'command_lifecycle', state: 'started', command_uuid: id });

/** An input of Claude Code whose run has these messages; `later`: those that the input is not notified of. */
function open({ shown = [], ids = [], later = [] }: { shown?: string[]; ids?: string[]; later?: string[] } = {}) {
  let notify: (state: RunState) => void = () => undefined;
  const messages = [...ids];
  const now = () => stateOf(...BEGUN, ...[...messages, ...later].map(sent));
  const reports: string[] = [];
  const session = claude.openSession!({} as never)!;
  const input = openLiveInput({
    ...{ session, prompt: 'Do it.', shown, story },
    source: {
      readState: () => Promise.resolve(now()),
      async *followState(signal) {
        yield stateOf(...BEGUN, ...messages.map(sent));
        while (!signal.aborted) yield await new Promise<RunState>((resolve) => (notify = resolve));
      },
    },
    onListens: () => Promise.resolve(void reports.push('listens')),
    onTaken: (ids) => Promise.resolve(void reports.push(...ids)),
  });
  const written: { uuid?: string; message: { content: string } }[] = [];
  input.stdin.on('data', (bytes: Buffer) => {
    for (const line of bytes.toString().trim().split('\n')) written.push(JSON.parse(line) as (typeof written)[0]);
  });
  let isEnded = false;
  input.stdin.on('end', () => (isEnded = true));
  const settle = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return {
    written: () => written.map(({ uuid = 'prompt' }) => uuid),
    texts: () => written.map(({ message }) => message.content),
    reports,
    isEnded: () => isEnded,
    hear: async (...lines: string[]) => {
      input.hear(lines.map((line) => Buffer.from(`${line}\n`)));
      await settle();
    },
    send: async (id: string) => {
      messages.push(id);
      notify(stateOf(...BEGUN, ...messages.map(sent)));
      await settle();
    },
    close: () => input.close(),
    settle,
  };
}

describe('the input of an agent that takes messages', () => {
  it('is its prompt, and ends when it has nothing left to do', async () => {
    const input = open();
    await input.hear('{"type":"assistant"}');
    expect(input.isEnded()).toBe(false);
    await input.hear(RESULT);
    expect(input.written()).toEqual(['prompt']);
    expect(input.isEnded()).toBe(true);
  });

  it('has each message once, which is delivered when the agent has read it', async () => {
    const input = open();
    await input.settle();
    await input.send('m1');
    await input.send('m2');
    expect(input.written()).toEqual(['prompt', 'm1', 'm2']);
    expect(input.reports).toEqual(['listens']);
    await input.hear(taken('m1'), taken('m1'), taken('m2'));
    await input.close();
    expect(input.reports).toEqual(['listens', 'm1', 'm2']);
  });

  it('does not repeat what the prompt has', async () => {
    const input = open({ shown: ['m1'], ids: ['m1', 'm2'] });
    await input.settle();
    expect(input.written()).toEqual(['prompt', 'm2']);
  });

  it('stays open while a message is outstanding: the agent reads it in a turn of its own', async () => {
    const input = open();
    await input.settle();
    await input.send('m1');
    await input.hear(RESULT);
    expect(input.isEnded()).toBe(false);
    await input.hear(taken('m1'), RESULT);
    expect(input.isEnded()).toBe(true);
  });

  it('has a message that was sent just before its end', async () => {
    const input = open({ later: ['m1'] });
    await input.settle();
    await input.hear(RESULT);
    expect(input.written()).toEqual(['prompt', 'm1']);
    expect(input.isEnded()).toBe(false);
  });

  it('delivers nothing that was not sent, whatever the agent prints', async () => {
    const input = open();
    await input.hear(taken('forged'), '{"type":"command_lifecycle"}', '"command_lifecycle" "result" {', RESULT);
    await input.close();
    expect(input.reports).toEqual(['listens']);
  });

  it('sets a message off as data', async () => {
    const input = open({ ids: ['m1'] });
    await input.settle();
    expect(input.texts()[1]).toMatch(/^ann wrote:\n```\nText of m1\n```\n/);
  });
});

/** An input of an agent of the Agent Client Protocol in a replay, and what a cassette gives it. */
function replayed() {
  let deliver: DeliverMessage = () => Promise.reject(new Error('nothing replays'));
  const reports: string[] = [];
  const input = openLiveInput({
    ...{ session: acp.openSession!({ live: true } as never)!, prompt: 'Do it.', shown: [], story },
    cassette: { recordMessage: () => undefined, replayMessages: (to) => (deliver = to) },
    onListens: (when) => Promise.resolve(void reports.push(when)),
    onTaken: (ids) => Promise.resolve(void reports.push(...ids)),
  });
  const hear = (...lines: object[]) => input.hear(lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`)));
  return { input, hear, reports, deliver: () => deliver({ id: 'm1', by: 'ann', text: 'Use euros.' }) };
}

describe('the input of an agent in a replay', () => {
  it('passes the response to an agent that reads messages after its turn: the turn ends with it', async () => {
    const { hear, deliver, reports, input } = replayed();
    hear({ type: 'listens', when: 'after' });
    const delivered = deliver();
    hear({ type: 'queued', id: 'm1' });
    await delivered;
    await input.close();
    expect(reports).toEqual(['after']);
  });

  it('says once that its agent takes messages, however often the program does', async () => {
    const { hear, input, reports } = replayed();
    hear({ type: 'listens', when: 'after' }, { type: 'listens', when: 'turn' });
    hear({ type: 'listens', when: 'after' });
    await input.close();
    expect(reports).toEqual(['after']);
  });

  it('passes the response on if the agent has said that nothing is left to do', async () => {
    const { hear, deliver } = replayed();
    hear({ type: 'idle' });
    await new Promise(setImmediate);
    await deliver();
  });
});
