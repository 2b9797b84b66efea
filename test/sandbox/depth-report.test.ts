import { expect, it, test } from 'vitest';
import { openDepthReport } from '../../src/sandbox/docker/disk/depth-report.ts';
import type { OutputChunk } from '../../src/sandbox/docker/demultiplex.ts';

async function readAll(pieces: (token: string) => OutputChunk[]) {
  const levels: number[] = [];
  const { request, read } = openDepthReport({
    folders: ['/workspace', '/data'],
    measured: (each) => levels.push(each),
  });
  const [, token = ''] = /^ (\w{32}) \/workspace \/data$/.exec(request) ?? [];
  const text = { stdout: '', stderr: '' };
  for await (const { from, bytes } of read(of(pieces(token)))) text[from] += bytes.toString('latin1');
  return { ...text, levels };
}

async function* of(pieces: OutputChunk[]): AsyncGenerator<OutputChunk, void, void> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

const err = (text: string): OutputChunk => ({ from: 'stderr', bytes: Buffer.from(text, 'latin1') });

it('takes the report out of stderr, wherever the stream is cut', async () => {
  for (const size of [1, 2, 7, 40, 1_000]) {
    const { stderr, levels } = await readAll((token) => {
      const whole = `one\x06two\x06\n\x06${token} 12\nafter`;
      return Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
        err(whole.slice(at * size, (at + 1) * size)),
      );
    });
    expect({ stderr, levels }).toEqual({ stderr: 'one\x06two\x06\nafter', levels: [12] });
  }
});

test.each<[string, (token: string) => OutputChunk[]]>([
  ['on stdout', (token) => [{ from: 'stdout', bytes: Buffer.from(`\x06${token} 3\n`) }]],
  ['with another token', (token) => [err(`\x06${'0'.repeat(token.length)} 3\n`)]],
  ['that ends within it', (token) => [err(`\x06${token} 3`)]],
  ['without a number', (token) => [err(`\x06${token} x\n`)]],
])('no report is one %s: the output stays as it is', async (_name, pieces) => {
  let sent = '';
  const { stdout, stderr, levels } = await readAll((token) => {
    const all = pieces(token);
    sent = all.map(({ bytes }) => bytes.toString('latin1')).join('');
    return all;
  });
  expect([stdout + stderr, levels]).toEqual([sent, []]);
});
