import { PassThrough, type Readable } from 'node:stream';
import type { LiveSession } from '../../../agents/adapter.ts';
import { liveMessage } from '../../../agents/prompt/describe-feedback.ts';
import type { Listening } from '../../../core/run/messages.ts';
import { storyOf, type RunState } from '../../../core/run/state.ts';
import type { SentMessage } from '../../../gateway/model/model-route.ts';
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
  /** Called when the program has the message of a cassette. */
  private readonly receipts = new Map<string, () => void>();
  private readonly stop = new AbortController();
  private readonly marks: readonly string[];
  private reports = Promise.resolve();
  private listens = false;
  private isEnding = false;

  constructor(facts: LiveInputFacts) {
    this.facts = facts;
    this.session = facts.session;
    this.marks = facts.session.marks;
    this.known = new Set(facts.shown);
    this.stdin = this.input;
    if (this.session.listens) this.noteListening('turn');
    this.write(this.session.begin(facts.prompt));
    facts.cassette?.replayMessages((message) => this.replay(message));
    if (facts.source !== undefined) this.follow(facts.source);
  }

  hear(parts: readonly Buffer[]): void {
    for (const part of parts) if (this.marks.some((mark) => part.includes(mark))) this.readLines(part);
  }

  async close(): Promise<void> {
    this.stop.abort();
    this.input.end();
    this.received([...this.receipts.keys()]);
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
    const { write, listens, received = [], taken = [], idle } = this.session.read(line);
    this.received([...received, ...taken]);
    if (write !== undefined) this.write(write);
    if (listens !== undefined) this.noteListening(listens);
    // The program of the agent may say anything: only what was sent to it can be delivered, and once.
    const ids = taken.filter((id) => this.outstanding.delete(id));
    if (ids.length > 0) this.report(() => this.facts.onTaken(ids));
    if (idle) void this.endUnlessSent();
  }

  /** Once: a program that says it again and again must not fill the journal. */
  private noteListening(when: Listening): void {
    if (this.listens) return;
    this.listens = true;
    this.report(() => this.facts.onListens(when));
  }

  /** Ends the input, unless a message is outstanding or the journal has another one. */
  private async endUnlessSent(): Promise<void> {
    if (this.isEnding || this.stop.signal.aborted) return;
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

  /** What was sent to the agent when a cassette was recorded. An agent whose input has ended gets none. */
  private replay(message: SentMessage): Promise<void> {
    if (this.stop.signal.aborted) return Promise.resolve();
    const received = new Promise<void>((resolve) => this.receipts.set(message.id, resolve));
    this.tell(message);
    return received;
  }

  private received(ids: readonly string[]): void {
    for (const id of ids) {
      this.receipts.get(id)?.();
      this.receipts.delete(id);
    }
  }

  private tell({ id, by, text }: SentMessage): void {
    if (this.known.has(id)) return;
    this.known.add(id);
    this.outstanding.add(id);
    const sent = liveMessage({ by, text });
    this.facts.cassette?.recordMessage({ id, by, text }, sent);
    this.write(this.session.tell({ id, text: sent }));
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
