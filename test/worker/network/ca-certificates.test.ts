import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readAuthorities } from '../../../src/worker/authorities.ts';

const folder = mkdtempSync(join(tmpdir(), 'halo-authorities-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMIIB\nAA==\n-----END CERTIFICATE-----';
const KEY = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----';

function file(text: string): string {
  const path = join(folder, 'bundle.pem');
  writeFileSync(path, text);
  return path;
}

test('sandboxes get the certificates of a file, and no key that stands beside them', async () => {
  const text = await readAuthorities(file(`# ours\n${KEY}\n${CERTIFICATE}\r\n${CERTIFICATE}\npassword=x\n`));
  expect(text).toBe(`${CERTIFICATE}\n${CERTIFICATE}\n`);
});

test.each([
  ['a file without certificates', KEY],
  ['an empty file', ''],
])('%s is refused', async (_what, text) => {
  const message = expect.stringContaining('holds no certificate in PEM form') as string;
  await expect(readAuthorities(file(text))).rejects.toMatchObject({ code: 'CONFIG_INVALID', message });
});

test('a file that is not there is refused', async () => {
  await expect(readAuthorities(join(folder, 'none.pem'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
