import { spawnSync } from 'node:child_process';
import { beforeEach, describe, expect, it } from 'vitest';
import { command } from '../../src/agents/command.ts';
import { readRun } from './read-run.ts';
import { tempDir } from '../support/temp-dir.ts';

describe('the command agent, run by sh', () => {
  let home: string;
  beforeEach(() => {
    home = tempDir('halo command');
  });

  function run(commandLine: string, prompt = 'Do it.') {
    const launch = command.launch({
      model: 'm',
      api: undefined,
      modelUrl: undefined,
      gatewayToken: '',
      home,
      options: {},
      commandLine,
    });
    const env = { PATH: process.env.PATH, ...launch.env };
    const ended = spawnSync('sh', ['-c', launch.script], { input: prompt, env, encoding: 'utf8' });
    return readRun(command, { stdout: ended.stdout, stderrTail: ended.stderr, exitCode: ended.status ?? undefined });
  }

  it('reads the prompt on stdin and answers on the last line', () => {
    const { activities, outcome } = run(`read -r line; echo "told: $line"; echo '{"status":"ok","summary":"s"}'`);
    expect(activities).toEqual([{ kind: 'say', text: 'told: Do it.' }]);
    expect(outcome).toEqual({ kind: 'answer', answer: { status: 'ok', summary: 's' } });
  });

  it('answers in the file HALO_RESULT, over several lines, after output without a line end', () => {
    const { outcome } = run(
      `printf '{\\n "status": "needs_human",\\n "summary": "q"\\n}\\n' > "$HALO_RESULT"; printf half`,
    );
    expect(outcome).toEqual({ kind: 'answer', answer: { status: 'needs_human', summary: 'q' } });
  });

  it('prefers the file over a line', () => {
    const { outcome } = run(
      `echo '{"status":"failed","summary":"s"}' > "$HALO_RESULT"; echo '{"status":"ok","summary":"s"}'`,
    );
    expect(outcome).toMatchObject({ answer: { status: 'failed' } });
  });

  it('keeps the exit code of the command, also with a result file', () => {
    const { outcome } = run(`echo '{"status":"ok","summary":"s"}' > "$HALO_RESULT"; echo broken >&2; exit 7`);
    expect(outcome).toEqual({ kind: 'error', error: 'The agent command ended with exit code 7: broken' });
  });

  it.each([
    ['is not there', './tools/agent.sh', 127],
    ['may not be executed', '/etc/passwd', 126],
  ])('is not retried when its program %s, and reports where programs are looked up', (_what, line, code) => {
    expect(run(line).outcome).toEqual({
      kind: 'error',
      error: expect.stringMatching(
        new RegExp(`^The agent command ended with exit code ${code}: sh: .*${line}: .* in the commit .* in the image`),
      ) as string,
      cause: 'program-missing',
    });
  });

  it('is retried when it started but a program that it calls is missing', () => {
    expect(run('set -e; bash -c "echo working; nosuchtool"; echo done').outcome).not.toHaveProperty('cause');
  });

  it('quotes the message of an exception, not the end of its stack trace', () => {
    const { outcome } = run(`node -e 'console.error("loading"); require("./tools/plan.js")'`);
    expect(outcome).toEqual({
      kind: 'error',
      error: "The agent command ended with exit code 1: Error: Cannot find module './tools/plan.js'",
    });
  });

  it('reports a missing answer', () => {
    expect(run('echo hello').outcome).toMatchObject({
      kind: 'invalid',
      error: expect.stringContaining('HALO_RESULT') as string,
    });
  });

  it('refuses to start without a command line', () => {
    const intent = {
      ...{ model: '', api: undefined, modelUrl: undefined, gatewayToken: '', home, options: {} },
      commandLine: undefined,
    };
    expect(() => command.launch(intent)).toThrow('The agent "command" has no command line.');
  });
});
