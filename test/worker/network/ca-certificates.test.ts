import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readCaCertificates } from '../../../src/worker/network/machine-connections.ts';
import { tempDir } from '../../support/temp-dir.ts';

const folder = tempDir('halo-authorities');

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMIIB\nAA==\n-----END CERTIFICATE-----';
const KEY = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----';

function file(text: string): string {
  const path = join(folder, 'bundle.pem');
  writeFileSync(path, text);
  return path;
}

test('sandboxes get the certificates of a file, but not a key in the same file', async () => {
  const text = await readCaCertificates(file(`# ours\n${KEY}\n${CERTIFICATE}\r\n${CERTIFICATE}\npassword=x\n`));
  expect(text).toBe(`${CERTIFICATE}\n${CERTIFICATE}\n`);
});

test.each([
  ['a file without certificates', KEY],
  ['an empty file', ''],
])('%s is refused', async (_what, text) => {
  const message = expect.stringContaining('contains no certificate in PEM format') as string;
  await expect(readCaCertificates(file(text))).rejects.toMatchObject({ code: 'CONFIG_INVALID', message });
});

test('a file that is not there is refused', async () => {
  await expect(readCaCertificates(join(folder, 'none.pem'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
