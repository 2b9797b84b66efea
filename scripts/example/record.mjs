// Records the cassettes of the example again: `node scripts/example/record.mjs`. halo runs the example with the real
// Codex in record mode against a server that says what turns.mjs holds; what they said to each other is the cassette.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { TURNS } from './turns.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const example = join(root, 'examples', 'todo');
const work = mkdtempSync(join(tmpdir(), 'halo-example-'));

async function main() {
  const { startModelServer } = await importModelServer();
  const server = await startModelServer({ turns: TURNS });
  try {
    const repo = makeRepository();
    await runHalo(repo, server.url);
    if (server.remaining() > 0) throw new Error(`${server.remaining()} turns were not asked for`);
    const runId = git(repo, 'for-each-ref', '--format=%(refname:lstrip=3)', 'refs/heads/halo').trim();
    const artifacts = join(work, 'home', 'runs', runId, 'artifacts');
    for (const key of readdirSync(artifacts)) keepCassette(join(artifacts, key, '1', 'cassette.jsonl'), key);
  } finally {
    await server.close();
    rmSync(work, { recursive: true, force: true });
  }
}

/** The scripted model server of the tests, bundled to where it can be imported. */
async function importModelServer() {
  const outfile = join(work, 'model-server.mjs');
  const entry = join(root, 'test', 'support', 'model', 'model-server.ts');
  buildSync({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm' });
  return import(pathToFileURL(outfile).href);
}

function makeRepository() {
  const repo = join(work, 'todo');
  cpSync(example, repo, { recursive: true, filter: (path) => path !== join(example, 'cassettes') });
  git(repo, 'init', '--quiet', '--initial-branch=main');
  git(repo, 'add', '--all');
  git(repo, '-c', 'user.name=example', '-c', 'user.email=example@localhost', 'commit', '--quiet', '-m', 'The example');
  return repo;
}

function git(repo, ...args) {
  return execFileSync('git', args, { cwd: repo, encoding: 'utf8' });
}

async function runHalo(repo, url) {
  const settings = ['model.mode=record', `model.base_url=${url}`, 'retry.attempts=1'].flatMap((each) => ['-c', each]);
  const env = { ...process.env, HALO_HOME: join(work, 'home'), OPENAI_API_KEY: 'the-scripted-server-needs-none' };
  const halo = spawn(join(root, 'bin', 'halo'), ['run', 'prd.json', ...settings], { cwd: repo, env, stdio: 'inherit' });
  const code = await new Promise((resolve) => halo.on('close', resolve));
  if (code !== 0) throw new Error(`halo ended with ${code}`);
}

const ABOUT = 'Written by hand for the example, not by a model. See scripts/example in the sources of halo.';

/** Kept small: a replay compares no bodies of requests, and Codex needs no text twice. */
function keepCassette(path, key) {
  const [header, ...exchanges] = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const body = null;
  const digest = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  const kept = exchanges.map(({ seq, request, response }) => ({
    seq,
    request: { ...request, digest, body },
    response: { ...response, body: trimStream(response.body) },
  }));
  mkdirSync(join(example, 'cassettes'), { recursive: true });
  const lines = [{ ...header, about: ABOUT }, ...kept].map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(example, 'cassettes', `${key}.jsonl`), lines.join(''));
}

/** An answer without its deltas and without the repetition of its items at the end. */
function trimStream(text) {
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
  const needed = ['response.created', 'response.output_item.done', 'response.completed'];
  return events
    .filter(({ type }) => needed.includes(type))
    .map((event) => (event.response === undefined ? event : { ...event, response: { ...event.response, output: [] } }))
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

await main();
