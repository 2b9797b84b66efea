import { expect, test } from 'vitest';
import { openHome } from '../../support/halo/halo-process.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { removeAfterTests } from '../../support/temp-dir.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

const TOML = `gates = ["true"]

[services.kv]
image = "halo-sandbox"
command = ["sh", "-c", "echo it starts; echo it cannot; exit 4"]
port = 7000
`;

test('halo check shows the log of a service that fails below the gate, and why it failed on one line', async () => {
  const home = openHome();
  removeAfterTests(() => void home.close());
  const { root } = newRepository({ 'halo.toml': TOML });
  const { code, stdout } = await callHalo(['check'], { cwd: root, env: { HALO_HOME: home.dir } });
  expect(code).toBe(10);
  expect(stdout).toMatch(
    /\ngate {5}true\nit starts\nit cannot\n {9}FAILED {2}\S+\n\nfailed {2}the service kv ended by itself: exited 4\n1 of 1 gates failed\n$/,
  );
});
