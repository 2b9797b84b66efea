import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ModelSource } from '../../../src/config/config.ts';
import { openProviderKeys, openSecretReader } from '../../../src/worker/network/secret-reader.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NONE: ModelSource = {
  baseUrl: 'http://x/v1',
  keyEnv: undefined,
  keyFile: undefined,
  keyCommand: undefined,
  keys: [],
};

let dir: string;
beforeEach(() => {
  dir = tempDir('halo key');
});

describe('the key of a model', () => {
  it('comes from a variable', async () => {
    const key = openProviderKeys(openSecretReader((name) => (name === 'MY_KEY' ? 'sk-1' : undefined)));
    expect(await key({ ...NONE, keyEnv: 'MY_KEY' })).toEqual(['sk-1']);
    await expect(key({ ...NONE, keyEnv: 'OTHER' })).rejects.toMatchObject({
      code: 'MODEL_KEY_MISSING',
      message: expect.stringContaining('OTHER') as string,
    });
  });

  it('may have others after it, each from its own source', async () => {
    const keys = openProviderKeys(openSecretReader((name) => (name === 'MY_KEY' ? 'sk-1' : undefined)));
    const [keyEnv, keyFile] = ['MY_KEY', join(dir, 'key')];
    await writeFile(keyFile, 'sk-2');
    const further = [
      { ...NONE, keyFile },
      { ...NONE, keyCommand: 'echo sk-3' },
    ];
    expect(await keys({ ...NONE, keyEnv, keys: further })).toEqual(['sk-1', 'sk-2', 'sk-3']);
    await expect(keys({ ...NONE, keyEnv, keys: [{ ...NONE, keyEnv: 'OTHER' }] })).rejects.toMatchObject({
      code: 'MODEL_KEY_MISSING',
      hint: expect.stringContaining('[[model.keys]]') as string,
    });
  });

  it('comes from a file, as currently stored', async () => {
    const key = openProviderKeys(openSecretReader(() => undefined));
    const keyFile = join(dir, 'key');
    await writeFile(keyFile, 'sk-1\n');
    expect(await key({ ...NONE, keyFile })).toEqual(['sk-1']);
    await writeFile(keyFile, 'sk-2');
    expect(await key({ ...NONE, keyFile })).toEqual(['sk-2']);
    await expect(key({ ...NONE, keyFile: join(dir, 'absent') })).rejects.toThrow(/cannot be read \(ENOENT\)/);
  });

  it('comes from a command, which runs once, also for concurrent callers', async () => {
    const key = openProviderKeys(openSecretReader(() => undefined));
    const source = { ...NONE, keyCommand: `echo x >> '${dir}/runs'; echo sk-1` };
    expect(await Promise.all([key(source), key(source), key(source)])).toEqual([['sk-1'], ['sk-1'], ['sk-1']]);
    expect(await key(source)).toEqual(['sk-1']);
    expect(await readFile(join(dir, 'runs'), 'utf8')).toBe('x\n');
  });

  it('is requested again after the command failed', async () => {
    const key = openProviderKeys(openSecretReader(() => undefined));
    const source = { ...NONE, keyCommand: `test -x '${dir}/open' && echo sk-1` };
    await expect(key(source)).rejects.toMatchObject({ code: 'MODEL_KEY_MISSING' });
    await writeFile(join(dir, 'open'), '');
    await chmod(join(dir, 'open'), 0o755);
    expect(await key(source)).toEqual(['sk-1']);
  });

  it.each(['sk secret', 'sk-secret\nX-Evil: 1', 'sk-secret-ä', ''])(
    'is one line that is valid in a header: %j',
    async (text) => {
      const key = openProviderKeys(openSecretReader(() => text));
      const refused = await key({ ...NONE, keyEnv: 'MY_KEY' }).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'MODEL_KEY_MISSING' });
      expect(JSON.stringify([String(refused), refused])).not.toContain('sk-secret');
    },
  );

  it('is in no error, like any output of the command', async () => {
    const key = openProviderKeys(openSecretReader(() => undefined));
    const source = { ...NONE, keyCommand: 'echo sk-secret; echo sk-secret >&2; exit 3' };
    const refused = (await key(source).catch((error: unknown) => error)) as Error;
    expect(refused.message).toContain('exit code 3');
    expect(JSON.stringify([refused.message, refused.stack, refused.cause, refused])).not.toContain('sk-secret');
  });
});
