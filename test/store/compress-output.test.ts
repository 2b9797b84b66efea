import { existsSync, linkSync, lstatSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
  const { key } = (await home.operations.get(RUN)).state.stories[0]!;
  name = `${key}/1/events.jsonl`;
  path = join(home.host.home, 'runs', RUN, 'artifacts', name);
  await home.writeRaw(RUN, key, TEXT);
});
afterEach(() => home.remove());

const compress = () => compressOutput(home.host.home, RUN);
async function raw(follow = false): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of home.operations.raw(RUN, { storyId: 'US-001', follow })) parts.push(part);
  return Buffer.concat(parts).toString();
}
const read = async () => (await home.operations.artifact(RUN, name)).toString();
const end = async () => (await home.operations.artifact(RUN, name, { last: 100 })).toString();
const listed = async () => (await home.operations.artifacts(RUN)).map(({ path, bytes }) => ({ path, bytes }));

describe('the raw output of an attempt', () => {
  it('stays as it is until the run has ended', async () => {
    expect(await compress()).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(TEXT);
  });

  it('is compressed when the run has ended, and all readers return the same as before', async () => {
    await home.append(RUN, END);
    const before = [await raw(), await read(), await end(), await listed()];
    expect(await compress()).toBeGreaterThan(TEXT.length * 0.9);
    expect(existsSync(path)).toBe(false);
    expect(lstatSync(`${path}.gz`).mode & 0o777).toBe(0o600);
    expect([await raw(), await read(), await end(), await listed()]).toEqual(before);
    expect(await listed()).toContainEqual({ path: name, bytes: TEXT.length });
    expect(gunzipSync(readFileSync(`${path}.gz`)).toString()).toBe(TEXT);
    expect(await compress()).toBe(0);
  });

  it('is complete for a follower that has read half of it when it is compressed', async () => {
    const parts: Uint8Array[] = [];
    const stop = new AbortController();
    const following = home.operations.raw(RUN, { storyId: 'US-001', follow: true, signal: stop.signal });
    for await (const part of following) {
      parts.push(part);
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
    expect((await home.operations.get(RUN)).state.status).toBe('ended');
  });

  it('is neither read nor written through a link', async () => {
    await home.append(RUN, END);
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
  });
});
