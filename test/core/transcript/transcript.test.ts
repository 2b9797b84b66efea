import { describe, expect, it } from 'vitest';
import type { JournalEntry, JournalEvent } from '../../../src/core/journal/events.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { NO_USAGE } from '../../../src/core/agent.ts';
import { gateFailure } from '../../support/journal.ts';

const START = '2030-01-01T00:00:00.000Z';

function at(seconds: number, entry: JournalEntry): JournalEvent {
  return { v: 1, seq: 1, at: new Date(Date.parse(START) + seconds * 1000).toISOString(), ...entry };
}

function lines(seconds: number, entry: JournalEntry): string[] {
  return transcribe(at(seconds, entry), START);
}

const US1 = { story: 'US-001', attempt: 1 };

describe('transcribe', () => {
  it('aligns time, story, source and text in columns', () => {
    const activity = { kind: 'run', command: 'npm test' } as const;
    expect(lines(12.34, { type: 'agent.activity', ...US1, activity })).toEqual([
      '   12.3s  US-001    agent    $ npm test',
    ]);
    expect(lines(75, { type: 'phase.ended', ...US1, phase: 'prepare', ms: 420 })).toEqual([
      '  1m 15s  US-001    prepare  done    0.4s',
    ]);
  });

  it('says which state of an attempt a person looked at', () => {
    const opened = { type: 'debug.opened', ...US1, by: 'ann' } as const;
    expect(lines(1, { ...opened, point: 'gates' })).toEqual([
      '    1.0s  US-001    story    DEBUG  a shell in a copy of attempt 1, as its gates found it, by ann',
    ]);
    expect(lines(1, { ...opened, point: 'agent', command: 'ls' })).toEqual([
      '    1.0s  US-001    story    DEBUG  `ls` in a copy of attempt 1, as its agent left it, by ann',
    ]);
  });

  it('shows the options of an agent, unless it has none', () => {
    const launched = { type: 'agent.launched', ...US1, agent: 'claude', model: 'm' } as const;
    const options = { effort: 'high', tools: ['Bash'], disallowedTools: ['Bash(a\u001b)'], subagents: true } as const;
    const config = { language: 'german' };
    expect(lines(1, { ...launched, ...options, config })).toEqual([
      '    1.0s  US-001    agent    claude, m, effort high, tools Bash, without Bash(a<U+001B>), with subagents, language = "german"',
    ]);
    expect(lines(1, launched)).toEqual([]);
  });

  it('shows whether setup was kept as a snapshot, and why a change of any file needs another one', () => {
    const used = { type: 'snapshot.used', ...US1, phase: 'setup', key: 'b'.repeat(64), digest: 'a', mode: 'overlay' } as const; // prettier-ignore
    expect(lines(1, { type: 'snapshot.started', ...US1, phase: 'setup' })).toEqual([
      '    1.0s  US-001    setup    makes a snapshot',
    ]);
    expect(lines(1, used)).toEqual(['    1.0s  US-001    setup    from snapshot bbbbbbbbbbbb']);
    expect(lines(1, { ...used, made: true })).toEqual(['    1.0s  US-001    setup    kept as snapshot bbbbbbbbbbbb']);
    expect(lines(1, { ...used, made: true, wholeTree: 'package.json has the script\u001b prepare' })).toEqual([
      '    1.0s  US-001    setup    kept as snapshot bbbbbbbbbbbb until a file changes: package.json has the script<U+001B> prepare',
    ]);
  });

  it('shows each gate with its verdict first, its duration and the path of its log', () => {
    const gate = { type: 'gate.ended', ...US1, command: 'npm test', ms: 2100, log: 'gates/1.log' } as const;
    expect(lines(1, { ...gate, exitCode: 0 })).toEqual(['    1.0s  US-001    gate     ok      2.1s    npm test']);
    expect(lines(1, { ...gate, exitCode: 1 })).toEqual([
      '    1.0s  US-001    gate     FAILED  2.1s    npm test  (exit 1)',
    ]);
    expect(lines(1, { ...gate, exitCode: 1, tail: '1 ok\n\n2 failing\n' }).slice(1)).toEqual([
      '                               1 ok',
      '                               2 failing',
    ]);
    expect(lines(1, { ...gate, exitCode: undefined })[0]).toContain('(killed)');
    const stopped = lines(1, { ...gate, exitCode: undefined, interrupted: true, tail: 'half of its output' });
    expect(stopped).toHaveLength(1);
    expect(stopped[0]).toMatch(/interrupted .*npm test/);
    expect(stopped[0]).not.toMatch(/FAILED|killed/);
    const failed = at(1, { ...gate, story: 'a story; ls', attempt: 2, exitCode: 1 });
    expect(transcribe(failed, START, { runId: '2dhe' }).at(-1)?.trim()).toBe(
      "whole log: halo logs 2dhe --story 'a story; ls' --attempt 2 --gate 1",
    );
  });

  it('shows the end of a story and of the run', () => {
    const ended = { type: 'story.ended', ...US1, summary: 'Adds the cart.', usage: NO_USAGE } as const;
    const commit = '1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d';
    expect(lines(60, { ...ended, verdict: 'passed', stopReason: 'SUCCESS', commit })).toEqual([
      '  1m 00s  US-001    story    PASSED  1a2b3c4  Adds the cart.',
    ]);
    const failure = gateFailure('hint');
    expect(lines(60, { ...ended, verdict: 'failed', stopReason: 'GATE_FAILED', failure })[0]).toContain(
      'FAILED  GATE_FAILED',
    );
    expect(lines(3700, { type: 'run.ended', stopReason: 'SUCCESS', detail: '2 of 2 stories passed' })).toEqual([
      '  1h 01m            run      SUCCESS  2 of 2 stories passed',
    ]);
  });

  it('omits phases without information', () => {
    const ended = { type: 'phase.ended', ...US1 } as const;
    expect(lines(1, { ...ended, phase: 'export', ms: 30 })).toEqual([]);
    expect(lines(1, { ...ended, phase: 'gates', ms: 9000 })).toEqual([]);
    expect(lines(9, { ...ended, phase: 'export', ms: 8000 })).toHaveLength(1);
  });

  it('indents and truncates the output of a command, from its end', () => {
    const output = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n');
    const activity = { kind: 'ran', command: 'npm test', exitCode: 0, output } as const;
    expect(lines(1, { type: 'agent.activity', ...US1, activity }).map((line) => line.trim())).toEqual([
      '… 18 more lines',
      'line 18',
      'line 19',
    ]);
  });

  it('shows only the number of lines that the agent read', () => {
    const output = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n');
    const shown = (command: string, exitCode = 0) => {
      const activity = { kind: 'ran', command, exitCode, output } as const;
      return lines(1, { type: 'agent.activity', ...US1, activity }).map((line) => line.trim());
    };
    for (const command of ['cat a.txt', 'ls -la && sed -n 1,20p a.txt', 'rg -n todo src | head -n 20', 'git diff'])
      expect(shown(command), command).toEqual(['… 20 lines']);
    for (const command of ['cat a.txt && npm test', 'sed -i s/a/b/ a.txt', 'lsof', 'node list.js'])
      expect(shown(command), command).toHaveLength(3);
    expect(shown('cat a.txt', 1).length).toBeGreaterThan(3);
  });

  it('marks a failed command of the agent', () => {
    const activity = { kind: 'ran', command: 'npm test', exitCode: 1, output: 'boom\n' } as const;
    const [first, second] = lines(1, { type: 'agent.activity', ...US1, activity });
    expect(first).toBe('    1.0s  US-001    agent    exit 1: npm test');
    expect(second).toBe('                               boom');
  });

  it('escapes terminal sequences, and omits no text', () => {
    const hostile = '\u001b]0;pwned\u0007\u001b[2Jhello\u202e\r\nworld';
    const entries: JournalEntry[] = [
      { type: 'agent.activity', story: `US\u001b[31m-1`, attempt: 1, activity: { kind: 'say', text: hostile } },
      { type: 'agent.activity', ...US1, activity: { kind: 'run', command: hostile } },
      { type: 'agent.activity', ...US1, activity: { kind: 'ran', command: hostile, exitCode: 2, output: hostile } },
      { type: 'agent.activity', ...US1, activity: { kind: 'edit', path: hostile, change: 'add' } },
      { type: 'agent.activity', ...US1, activity: { kind: 'warn', text: hostile } },
      { type: 'run.ended', stopReason: 'NEEDS_HUMAN', detail: hostile },
    ];
    for (const entry of entries) {
      const text = lines(1, entry).join('\n');
      expect(text).toMatch(/pwned[^]*hello/);
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    }
  });

  it('shows whether a refactoring was kept, and warns of one that was dropped for another reason than no change', () => {
    const texts = [
      { kept: true },
      { kept: false, unchanged: true as const, why: 'the agent changed nothing' },
      { kept: false, why: 'npm test exited with 1' },
    ].map((end) => lines(1, { type: 'refactor.ended', ...US1, ...end })[0]?.replace(/^.* agent +/, ''));
    expect(texts).toEqual([
      'refactoring kept',
      'refactoring changed nothing',
      'refactoring dropped: npm test exited with 1',
    ]);
  });

  it('truncates long messages and long lines', () => {
    const text = Array.from({ length: 500 }, () => 'x'.repeat(5000)).join('\n');
    const spoken = lines(1, { type: 'agent.activity', ...US1, activity: { kind: 'say', text } });
    expect(spoken).toHaveLength(12);
    expect(Math.max(...spoken.map((line) => line.length))).toBeLessThan(300);
  });
});
