import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore } from '../../src/store/store.ts';
import { compressOutput } from '../../src/store/run/compress-output.ts';
import { openScriptedHome, type ScriptedHome } from '../support/halo/scripted-home.ts';
import { created, failed } from '../support/journal.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const LINE = `${JSON.stringify({ type: 'message', text: 'Looking at the tests first.' })}\n`;
const TEXT = LINE.repeat(20_000);
const END = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed' } as const;

let home: ScriptedHome;
let path: string;
let name: string;
beforeEach(async () => {
  home = openScriptedHome();
  await home.addRun([created(RUN, 1), { type: 'run.started' }, ...failed('US-001')]);
  const { key } = (await home.operations.getRun({ runId: RUN })).state.stories[0]!;
  name = `${key}/1/events.jsonl`;
  path = join(home.host.home, 'runs', RUN, 'artifacts', name);
  await home.writeRaw(RUN, key, TEXT);
});
afterEach(() => home.remove());

/** The output of the run has lost that of the attempt, as after a power cut. */
const loseOutput = () => writeFileSync(join(home.host.home, 'runs', RUN, 'events.jsonl'), 'other output\n');
const compress = () => compressOutput(home.host.home, RUN);
async function raw(follow = false): Promise<string> {
  const parts: Buffer[] = [];
  for await (const { raw } of await home.operations.followRaw({ runId: RUN, story: 'US-001', follow }))
    parts.push(Buffer.from(raw, 'base64'));
  return Buffer.concat(parts).toString();
}
const read = async () => (await home.operations.readArtifact({ runId: RUN, path: name, whole: false })).toString();
const end = async () =>
  (await home.operations.readArtifact({ runId: RUN, path: name, last: 100, whole: false })).toString();
const listed = async () =>
  (await home.operations.listArtifacts({ runId: RUN })).artifacts.map(({ path, bytes }) => ({ path, bytes }));

describe('the raw output of an attempt', () => {
  it('stays as it is until the run has ended', async () => {
    expect(await compress()).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(TEXT);
  });

  it('is kept once when the run has ended: as its place in the output of the run', async () => {
    await home.append(RUN, END);
    const before = [await raw(), await read(), await end(), await listed()];
    expect(await compress()).toBeGreaterThan(TEXT.length * 0.9);
    expect([existsSync(path), existsSync(`${path}.gz`)]).toEqual([false, false]);
    expect(lstatSync(`${path}.ranges`).mode & 0o777).toBe(0o600);
    expect([await raw(), await read(), await end(), await listed()]).toEqual(before);
    expect(await listed()).toContainEqual({ path: name, bytes: TEXT.length });
    expect(await compress()).toBe(0);
  });

  it('is compressed if the output of the run lacks it', async () => {
    await home.append(RUN, END);
    loseOutput();
    const before = [await raw(), await read(), await end(), await listed()];
    expect(await compress()).toBeGreaterThan(TEXT.length * 0.9);
    expect([existsSync(path), existsSync(`${path}.ranges`)]).toEqual([false, false]);
    expect([await raw(), await read(), await end(), await listed()]).toEqual(before);
    expect(gunzipSync(readFileSync(`${path}.gz`)).toString()).toBe(TEXT);
    expect(await compress()).toBe(0);
  });

  it('is kept for stories that ran at the same time, whose lines alternate in the output of the run', async () => {
    const { key } = (await home.operations.getRun({ runId: RUN })).state.stories[0]!;
    const parts = { 1: '', 2: '' };
    let shared = 'an earlier line\n';
    for (let line = 0; line < 4_000; line += 1) {
      const attempt = line % 7 < 3 ? 1 : 2;
      const text = `${line} ${'x'.repeat(line % 90)}\n`;
      parts[attempt] += text;
      shared += text;
    }
    // The last line of an attempt has no line break; that of the run has one.
    for (const attempt of [1, 2] as const) {
      mkdirSync(join(path, '..', '..', String(attempt)), { recursive: true });
      writeFileSync(join(path, '..', '..', String(attempt), 'events.jsonl'), `${parts[attempt]}the end`);
      shared += 'the end\n';
    }
    writeFileSync(join(home.host.home, 'runs', RUN, 'events.jsonl'), shared);
    await home.append(RUN, END);
    expect(await compress()).toBeGreaterThan(0);
    expect(existsSync(join(path, '..', '..', '2', 'events.jsonl.ranges'))).toBe(true);
    for (const attempt of [1, 2] as const)
      expect(
        (
          await home.operations.readArtifact({ runId: RUN, path: `${key}/${attempt}/events.jsonl`, whole: false })
        ).toString(),
      ).toBe(`${parts[attempt]}the end`);
    expect(await raw()).toBe(`${parts[1]}the end${parts[2]}the end`);
  });

  it('is complete for a follower that has read half of it when it is compressed', async () => {
    const parts: Buffer[] = [];
    const stop = new AbortController();
    const following = await home.operations.followRaw({ runId: RUN, story: 'US-001', follow: true }, stop.signal);
    for await (const { raw } of following) {
      parts.push(Buffer.from(raw, 'base64'));
      if (parts.length === 2) {
        await home.append(RUN, END);
        await compress();
      }
    }
    expect(Buffer.concat(parts).toString()).toBe(TEXT);
  });

  it('is compressed again after a process died between any two steps', async () => {
    await home.append(RUN, END);
    writeFileSync(`${path}.gz.0123abcd.tmp`, 'half');
    expect((await listed()).map((each) => each.path)).toEqual([name]);
    writeFileSync(`${path}.gz`, gzipSync('of another time'));
    expect([await raw(), await read()]).toEqual([TEXT, TEXT]);
    expect((await listed()).map((each) => each.path)).toEqual([name]);
    await compress();
    expect([existsSync(path), existsSync(`${path}.gz.0123abcd.tmp`)]).toEqual([false, false]);
    expect([await raw(), await read()]).toEqual([TEXT, TEXT]);
  });

  it('is named in an error if its compressed file is damaged', async () => {
    await home.append(RUN, END);
    loseOutput();
    await compress();
    const bytes = readFileSync(`${path}.gz`);
    writeFileSync(`${path}.gz`, bytes.subarray(0, bytes.length / 2));
    const damaged = {
      code: 'ARTIFACT_UNREADABLE',
      message: expect.stringContaining('events.jsonl.gz is damaged') as string,
    };
    await expect(raw()).rejects.toMatchObject(damaged);
    await expect(read()).rejects.toMatchObject(damaged);
    await expect(end()).rejects.toMatchObject(damaged);
    expect((await home.operations.getRun({ runId: RUN })).state.status).toBe('ended');
  });

  it('is named in an error if its place in the output of the run is damaged or lost', async () => {
    await home.append(RUN, END);
    await compress();
    const place = readFileSync(`${path}.ranges`, 'utf8');
    for (const text of ['', '{"v":1,"bytes":1,"ranges":[[-1,2]]}', place.replace(']]', '],[0,99999999]]')]) {
      writeFileSync(`${path}.ranges`, text);
      await expect(raw()).rejects.toMatchObject({ code: 'ARTIFACT_UNREADABLE' });
    }
    writeFileSync(`${path}.ranges`, place);
    unlinkSync(join(home.host.home, 'runs', RUN, 'events.jsonl'));
    await expect(read()).rejects.toMatchObject({ code: 'ARTIFACT_UNREADABLE' });
  });

  it('is neither read nor written through a link', async () => {
    await home.append(RUN, END);
    loseOutput();
    const outside = join(home.host.home, 'outside');
    writeFileSync(outside, TEXT);
    unlinkSync(path);
    symlinkSync(outside, path);
    expect(await compress()).toBe(0);
    unlinkSync(path);
    linkSync(outside, path);
    await compress();
    expect(readFileSync(outside, 'utf8')).toBe(TEXT);
    unlinkSync(`${path}.gz`);
    writeFileSync(outside, gzipSync('secret'));
    symlinkSync(outside, `${path}.gz`);
    expect(await raw()).toBe('');
    await expect(read()).rejects.toMatchObject({ code: 'ARTIFACT_UNREADABLE' });
    symlinkSync('nowhere', path);
    unlinkSync(`${path}.gz`);
    writeFileSync(`${path}.gz`, gzipSync('compressed'));
    expect([await raw(), await read()]).toEqual(['compressed', 'compressed']);
  });
});

describe('other files of an attempt', () => {
  it('are compressed when the run has ended, but for small ones and the proof', async () => {
    await home.append(RUN, END);
    const folder = join(path, '..');
    mkdirSync(join(folder, 'gates'));
    const files = ['gates/1.log', 'cassette.jsonl', 'proof.json', 'small.log'];
    for (const file of files) writeFileSync(join(folder, file), file === 'small.log' ? 'few' : TEXT);
    const before = await listed();
    await compress();
    expect(files.filter((file) => existsSync(join(folder, file)))).toEqual(['proof.json', 'small.log']);
    expect(await listed()).toEqual(before);
    const of = (file: string) => name.replace('events.jsonl', file);
    for (const file of files.slice(0, 3)) {
      expect((await home.operations.readArtifact({ runId: RUN, path: of(file), whole: false })).toString()).toBe(TEXT);
      expect(
        (await home.operations.readArtifact({ runId: RUN, path: of(file), last: 100, whole: false })).toString(),
      ).toBe(TEXT.slice(-100));
    }
    const { key } = (await home.operations.getRun({ runId: RUN })).state.stories[0]!;
    const location = { runId: RUN, storyKey: key, attempt: 1 };
    const store = openStore(home.host.home, { transcribe });
    expect(await store.readArtifact(location, 'gates/1.log')).toBe(TEXT);
    await store.copyArtifact(location, 'cassette.jsonl', join(home.host.home, 'copy'));
    expect(readFileSync(join(home.host.home, 'copy'), 'utf8')).toBe(TEXT);
  });
});
