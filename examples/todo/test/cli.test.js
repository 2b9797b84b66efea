import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';

const CLI = new URL('../src/cli.js', import.meta.url).pathname;
let dir;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'todo-'));
});

afterEach(() => rm(dir, { recursive: true }));

async function todo(...args) {
  const env = { ...process.env, TODO_FILE: join(dir, 'todo.json') };
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args], { env });
  return stdout;
}

test('what was added is listed', async () => {
  await todo('add', 'buy', 'milk');
  await todo('add', 'bake bread');
  assert.equal(await todo('list'), '1. buy milk\n2. bake bread\n');
});

test('an empty list prints nothing', async () => {
  assert.equal(await todo('list'), '');
});

test('an unknown command fails and shows the usage', async () => {
  await assert.rejects(todo('fly'), /Usage:/);
});
