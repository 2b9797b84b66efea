import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { compressOutput } from '../../src/store/run/compress-output.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { created } from '../support/journal.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { tempDir } from '../support/temp-dir.ts';

const MIB = 2 ** 20;
/** A large output is as large as that of these tests; a large one of a server has 32 MiB. */
const STORE_BYTES = MIB / 2;
const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: ['run', 'prd.json'], config: { image: 'x' } };
const PATH = 's-1/1/events.jsonl';

let home: string;
let store: Store;
let runId: string;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
  home = tempDir('halo-output');
  store = openStore(home, { transcribe, storeBytes: STORE_BYTES });
  const entry = created();
  await store.createRun(entry, ORIGIN);
  runId = entry.runId;
});
afterEach(() => void vi.useRealTimers());

const openOutput = (storyKey = 's-1') => store.openRaw({ runId, storyKey, attempt: 1 });
const shared = () => join(home, 'runs', runId, 'events.jsonl');
const own = (storyKey = 's-1') => store.artifactPath({ runId, storyKey, attempt: 1 }, 'events.jsonl');
const isPlaced = (storyKey = 's-1') => existsSync(`${own(storyKey)}.ranges`) && !existsSync(own(storyKey));
const read = (storyKey = 's-1') => store.readArtifact({ runId, storyKey, attempt: 1 }, 'events.jsonl');

/** Lines that are different from each other. */
function linesOf(name: string, bytes: number): string {
  const lines: string[] = [];
  for (let size = 0; size < bytes;) {
    const line = `${name} ${lines.length} ${'x'.repeat(lines.length % 1_500)}\n`;
    size += line.length;
    lines.push(line);
  }
  return lines.join('');
}

/** Without printing both texts if they differ. */
function expectSame(actual: string | undefined, expected: string): void {
  expect({ length: actual?.length, isSame: actual === expected }).toEqual({ length: expected.length, isSame: true });
}

/** The open files of this process in the home. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(home);
    } catch {
      // It was closed meanwhile.
      return false;
    }
  });
}

async function print(output: Writable, text: string): Promise<void> {
  for (let at = 0; at < text.length; at += 60_000)
    if (!output.write(text.slice(at, at + 60_000))) await once(output, 'drain');
}

describe('output of an attempt that is large', () => {
  const large = linesOf('large', 1.25 * STORE_BYTES);

  it('is kept once: in the output of the run, of which the attempt knows its part', async () => {
    appendFileSync(shared(), 'another line\n');
    const output = openOutput();
    await print(output, large);
    output.end('without a line end');
    await finished(output);
    expect(isPlaced()).toBe(true);
    expectSame(readFileSync(shared(), 'utf8'), `another line\n${large}without a line end\n`);
    const whole = `${large}without a line end`;
    expectSame(await read(), whole);
    expect(await store.listArtifacts(runId)).toMatchObject([{ path: PATH, bytes: whole.length }]);
    expectSame((await store.readArtifactEnd(runId, PATH)).toString(), whole.slice(-64 * 1024));
  });

  it('can be read in all ways while the agent prints a little more', async () => {
    const output = openOutput();
    const stop = new AbortController();
    let followed = '';
    const following = (async () => {
      for await (const part of store.followRaw(runId, { storyKey: 's-1', follow: true, signal: stop.signal }))
        followed += Buffer.from(part).toString();
    })();
    await print(output, large);
    output.write('one more\nhalf a ');
    await advanceUntil(() => expect(isPlaced()).toBe(true));
    await advanceUntil(async () => expect((await read())?.slice(large.length)).toBe('one more\n'));
    await advanceUntil(() => expect(followed.length).toBe(large.length + 'one more\n'.length));
    output.write('line\n');
    const whole = `${large}one more\nhalf a line\n`;
    await advanceUntil(() => expect(followed.length).toBe(whole.length));
    expectSame(followed, whole);
    const total = whole.split('\n').length - 1;
    const page = await store.readLogLines(runId, PATH, { from: total - 2, count: 5 });
    expect({ total: page.total, lines: page.lines.map(String) }).toEqual({ total, lines: ['one more', 'half a line'] });
    stop.abort();
    await following;
    output.end();
    await finished(output);
    expectSame(await read(), whole);
  });

  it('is not mixed up with that of other attempts and processes that print at the same time', async () => {
    const texts = { 's-1': linesOf('first', 1.1 * STORE_BYTES), 's-2': linesOf('second', 1.5 * STORE_BYTES) };
    let isPrinting = true;
    const others = (async () => {
      for (let line = 0; isPrinting; line += 1) {
        appendFileSync(shared(), `other ${line}\n`);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await Promise.all(
      (['s-1', 's-2'] as const).map(async (key) => {
        const output = openOutput(key);
        await print(output, texts[key]);
        output.end();
        await finished(output);
      }),
    );
    isPrinting = false;
    await others;
    for (const key of ['s-1', 's-2'] as const) {
      expect(isPlaced(key)).toBe(true);
      expectSame(await read(key), texts[key]);
    }
  });

  it('is continued by the next agent of the attempt', async () => {
    for (const text of [large, 'of the next agent\n']) {
      const output = openOutput();
      await print(output, text);
      output.end();
      await finished(output);
    }
    expect(isPlaced()).toBe(true);
    expectSame(await read(), `${large}of the next agent\n`);
  });

  it('is the same in both files if the agent is stopped', async () => {
    const output = openOutput();
    const printed = large.repeat(16);
    await print(output, printed);
    output.destroy();
    await once(output, 'close');
    await advanceUntil(async () => expect((await read()) === readFileSync(shared(), 'utf8')).toBe(true));
    expect(isPlaced()).toBe(true);
    const kept = (await read()) ?? '';
    expect(printed.startsWith(kept)).toBe(true);
    expect(kept.length).toBeGreaterThan(STORE_BYTES);
  });

  it('has a last line that only began when all lines before it were stored', async () => {
    const output = openOutput();
    await print(output, large);
    const last = 'word '.repeat(40_000);
    output.write(last);
    await advanceUntil(async () => expect((await read())?.length).toBe(large.length));
    output.end();
    await finished(output);
    expectSame(await read(), large + last);
  });

  it('is kept if a worker frees space at the same time', async () => {
    const output = openOutput();
    let isPrinting = true;
    const compressing = (async () => {
      while (isPrinting) await compressOutput(home, runId);
    })();
    for (let part = 0; part < 3; part += 1) {
      await print(output, large);
      await advanceUntil(async () => expect((await read())?.length).toBe((part + 1) * large.length));
    }
    output.end();
    await finished(output);
    isPrinting = false;
    await compressing;
    expectSame(await read(), large.repeat(3));
  });

  it('is complete after a worker died before it removed the file that the ranges replace', async () => {
    const output = openOutput();
    await print(output, large);
    output.end();
    await finished(output);
    writeFileSync(own(), large.slice(0, STORE_BYTES));
    expectSame(await read(), large);
    expect(await store.listArtifacts(runId)).toMatchObject([{ path: PATH, bytes: large.length }]);
    await store.append(runId, [{ type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: '' }]);
    await compressOutput(home, runId);
    expect(isPlaced()).toBe(true);
    expectSame(await read(), large);
    writeFileSync(own(), large.slice(0, STORE_BYTES));
    const next = openOutput();
    next.end('of the next agent\n');
    await finished(next);
    expect(isPlaced()).toBe(true);
    expectSame(await read(), `${large}of the next agent\n`);
  });

  it('stays in one file for two workers, of which one was taken for dead', async () => {
    const [first, second] = [openOutput(), openOutput()];
    const half = linesOf('half', 0.6 * STORE_BYTES);
    for (const [before, output] of [first, second, first].entries()) {
      await print(output, half);
      await advanceUntil(() => expect(statSync(own()).size).toBe((before + 1) * half.length));
    }
    for (const output of [second, first]) {
      output.end();
      await finished(output);
    }
    expect(existsSync(`${own()}.ranges`)).toBe(false);
    expectSame(await read(), half.repeat(3));
  });

  it('ends with DISK_FAILED if its place cannot be written, and leaves no file open', async () => {
    mkdirSync(`${own()}.ranges`, { recursive: true });
    const output = openOutput();
    const failed = expect(finished(output)).rejects.toMatchObject({ code: 'DISK_FAILED' });
    await print(output, large.repeat(2)).catch(() => undefined);
    output.end();
    await failed;
    await advanceUntil(() => expect(openFiles()).toEqual([]));
  });
});

it('a line of several MiB is passed on whole', async () => {
  const lines: string[] = [];
  const output = store.openRaw({ runId, storyKey: 's-1', attempt: 1 }, (parts) => {
    lines.push(...parts.map(String).filter((part) => part !== ''));
    return Promise.resolve();
  });
  const long = `{"text":"${'ä'.repeat(2.5 * MIB)}"}\n`;
  const bytes = Buffer.from(long);
  for (let at = 0; at < bytes.length; at += 60_001)
    if (!output.write(bytes.subarray(at, at + 60_001))) await once(output, 'drain');
  output.end('the next\n');
  await finished(output);
  expect(lines.map((line) => line.length)).toEqual([long.length, 'the next\n'.length]);
  expectSame(lines[0], long);
});

it.each([
  [31, false],
  [33, true],
])('output of %i MiB is kept only in the output of the run: %s', async (size, placed) => {
  store = openStore(home, { transcribe });
  const output = openOutput();
  const line = `${'x'.repeat(MIB - 1)}\n`;
  for (let count = 0; count < size; count += 1) await print(output, line);
  output.end();
  await finished(output);
  expectSame(await read(), line.repeat(size));
  expect(isPlaced()).toBe(placed);
});
