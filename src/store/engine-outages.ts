import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { OUTAGE_REASONS, type EngineOutage, type OutageReason } from '../core/engine/engine-outage.ts';
import { readIfExists, writeAtomic } from '../lib/fs.ts';
import { isRecord } from '../lib/guards.ts';
import { tryParseJson } from '../lib/parse-json.ts';
import { unlessMissing, withDiskErrors } from './disk-errors.ts';

/** A server looks several times a minute; what it saw before it was stopped says nothing of now. */
const STALE_MS = 600_000;

/**
 * The outages that a running server has seen last, in `engine-outages.json`. What cannot be read counts as none. `nowMs`: by the
 * clock of the file. Throws DISK_FAILED.
 */
export async function readOutages(home: string, nowMs = Date.now()): Promise<EngineOutage[]> {
  const path = pathOf(home);
  const seenMs = (await withDiskErrors(path, () => lstat(path).catch(unlessMissing)))?.mtimeMs ?? 0;
  if (nowMs - seenMs > STALE_MS) return [];
  const content = tryParseJson((await withDiskErrors(path, () => readIfExists(path))) ?? '');
  return isRecord(content) && Array.isArray(content.outages) ? content.outages.filter(isOutage) : [];
}

/** Throws DISK_FAILED. */
export async function writeOutages(home: string, outages: readonly EngineOutage[]): Promise<void> {
  const path = pathOf(home);
  await withDiskErrors(path, () => writeAtomic(path, `${JSON.stringify({ v: 1, outages })}\n`));
}

function pathOf(home: string): string {
  return join(home, 'engine-outages.json');
}

function isOutage(value: unknown): value is EngineOutage {
  if (!isRecord(value) || typeof value.engine !== 'string' || typeof value.since !== 'string') return false;
  return Number.isFinite(Date.parse(value.since)) && OUTAGE_REASONS.includes(value.why as OutageReason);
}
