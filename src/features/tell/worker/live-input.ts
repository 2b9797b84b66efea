import { PassThrough, type Readable } from 'node:stream';
import type { LiveSession } from '../../../agents/adapter.ts';
import { liveMessage } from '../../../agents/prompt/describe-feedback.ts';
import type { StoryMessage } from '../../../core/run/messages.ts';
import { storyOf, type RunState } from '../../../core/run/state.ts';
import type { LiveInput, LiveInputFacts, OpenLiveInput } from '../../../worker/attempt/live-input.ts';

const NEWLINE = 0x0a;

/** Delivers messages from the journal of the run to agents while they work. */
export const openLiveInput: OpenLiveInput = (facts) => new JournalInput(facts);

/**
 * The input of an agent: its prompt, and each message to its story that the prompt does not have, once, as it appears in the
 * journal. The input ends when the agent has nothing left to do and the journal has no other message.
 */
class JournalInput implements LiveInput {
  readonly stdin: Readable;
  private readonly input = new PassThrough();
  private readonly facts: LiveInputFacts;
  private readonly session: LiveSession;
  private readonly known: Set<string>;
  /** Written, and not yet seen to be read. */
  private readonly outstanding = new Set<string>();
  private readonly stop = new AbortController();
  private readonly marks: readonly string[];
  private reports = Promise.resolve();
  private isEnding = false;

  constructor(facts: LiveInputFacts) {
    this.facts = facts;
    this.session = facts.session;
    this.marks = facts.session.marks;
    this.known = new Set(facts.shown);
    this.stdin = this.input;
    if (this.session.listens) this.report(() => facts.onListens());
    this.write(this.session.begin(facts.prompt));
    if (facts.source !== undefined) this.follow(facts.source);
  }

  hear(parts: readonly Buffer[]): void {
    for (const part of parts) if (this.marks.some((mark) => part.includes(mark))) this.readLines(part);
  }

  async close(): Promise<void> {
    this.stop.abort();
    this.input.end();
    await this.reports;
  }

  private readLines(part: Buffer): void {
    for (let from = 0; from < part.length;) {
      const end = part.indexOf(NEWLINE, from);
      const to = end < 0 ? part.length : end;
      this.readLine(part.toString('utf8', from, to));
      from = to + 1;
    }
  }

  private readLine(line: string): void {
    const { write, listens, taken = [], idle } = this.session.read(line);
    if (write !== undefined) this.write(write);
    if (listens) this.report(() => this.facts.onListens());
    // The program of the agent may say anything: only what was sent to it can be delivered, and once.
    const ids = taken.filter((id) => this.outstanding.delete(id));
    if (ids.length > 0) this.report(() => this.facts.onTaken(ids));
    if (idle && this.outstanding.size === 0) void this.endUnlessSent();
  }

  /** Ends the input, unless the journal has another message. */
  private async endUnlessSent(): Promise<void> {
    if (this.isEnding) return;
    this.isEnding = true;
    const state = await this.facts.source?.readState().catch(() => undefined);
    if (state !== undefined) this.tellNew(state);
    this.isEnding = false;
    if (this.outstanding.size > 0) return;
    this.stop.abort();
    this.input.end();
  }

  private follow(source: NonNullable<LiveInputFacts['source']>): void {
    const following = async () => {
      for await (const state of source.followState(this.stop.signal)) this.tellNew(state);
    };
    // What an unreadable journal has is in the next prompt.
    following().catch(() => undefined);
  }

  private tellNew(state: RunState): void {
    if (this.stop.signal.aborted) return;
    for (const message of storyOf(state, this.facts.story).messages ?? []) this.tell(message);
  }

  private tell(message: StoryMessage): void {
    if (this.known.has(message.id)) return;
    this.known.add(message.id);
    this.outstanding.add(message.id);
    this.write(this.session.tell({ id: message.id, text: liveMessage(message) }));
  }

  private write(text: string): void {
    if (!this.input.writableEnded) this.input.write(text);
  }

  /** Reports follow each other; the first that fails is what `close` throws. */
  private report(work: () => Promise<void>): void {
    this.reports = this.reports.then(work);
    this.reports.catch(() => undefined);
  }
}
