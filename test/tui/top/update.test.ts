import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { keyName } from '../../../src/cli/run/read-keys.ts';
import { planAction } from '../../../src/tui/top/actions.ts';
import { KEYS } from '../../../src/tui/top/key-table.ts';
import { currentTopView, neededSources, VIEWS } from '../../../src/tui/top/model.ts';
import { asked, COMMIT, created, failed, stateOf, succeeded } from '../../support/journal.ts';
import {
  after,
  DONE,
  followed,
  HELD,
  listed,
  linesOf,
  PRDS,
  RUN,
  RUNNING,
  someRuns,
  start,
  textOf,
  typing,
} from './top-world.ts';

const open = () => after(start(), listed());

describe('a message to an agent', () => {
  const running = stateOf(...RUNNING, { type: 'agent.listens', story: 'US-002', attempt: 1 });

  it('is typed in a line that says where it goes, and sent with Enter', () => {
    const typed = after(start(), listed([running]), 'm');
    expect(typed.inputLine?.label).toBe('Message to the agent that is working, US-002');
    expect(linesOf(typed).join('\n')).toContain('Message to the agent that is working, US-002: _');
    const sent = after(typed, ...typing('Use euros.'), 'enter');
    expect(sent.acting).toEqual({ name: 'tell', runId: RUN, story: 'US-002', text: 'Use euros.' });
    expect(after(typed, 'enter').acting).toBeUndefined();
    expect(after(typed, 'escape').inputLine).toBeUndefined();
  });

  it('is refused if no agent will work on a story', () => {
    const ended = after(start(), listed([stateOf(...succeeded(DONE))]), 'm');
    expect(ended.notice?.text).toContain('No agent works on a story');
  });

  it('is refused for a run with several stories, and says how to choose one', () => {
    const several = after(start(), listed([stateOf(created(RUN, 2), { type: 'run.started' })]), 'm');
    expect(several.notice?.text).toBe(
      '! Several stories can get the message: US-001, US-002. Open the run and select one.',
    );
  });
});

describe('keys', () => {
  it('select a run, open it, its log and its diff, and go back', () => {
    const run = after(open(), 'down', 'enter');
    expect(currentTopView(run)).toMatchObject({ view: 'stories', runId: HELD });
    const log = after(run, followed(HELD, []), 'l');
    expect(currentTopView(log)).toMatchObject({ view: 'logs', runId: HELD });
    expect(currentTopView(after(log, 'd')).view).toBe('diff');
    expect(after(log, 'd', 'escape', 'escape', 'escape').stack).toHaveLength(1);
    expect(after(open(), 'escape').stack).toHaveLength(1);
  });

  it('keep the selected run when others appear above it', () => {
    const selected = after(open(), 'end');
    expect(currentTopView(selected).selected).toBe(DONE);
    const newer = stateOf(created('0tbq4dddddddddd', 1));
    expect(currentTopView(after(selected, listed([newer, ...someRuns()]), 'up')).selected).toBe(HELD);
  });

  it('ask about the whole run in place of a story that it no longer has', () => {
    const run = stateOf(created('r', 1), ...failed('US-001'), ...failed('US-001', 2));
    expect(planAction('retry', run, 'US-009')).toMatchObject({ action: { name: 'retry', runId: 'r' } });
  });

  it('pause, and resume what is paused, without a question', () => {
    expect(after(open(), 'p').acting).toEqual({ name: 'pause', runId: RUN });
    const pause: JournalEntry = { type: 'run.paused', by: 'ann', now: false };
    const paused = after(start(), listed([stateOf(created(RUN, 1), { type: 'run.started' }, pause)]));
    expect(after(paused, 'p').acting).toEqual({ name: 'resume', runId: RUN });
    expect(linesOf(paused).at(-1)).toContain('p resume');
    expect(after(open(), ':', ...typing('resume'), 'enter').notice?.text).toContain(`Run ${RUN} is not paused.`);
  });

  it('are offered in the last line where they are possible, and refused without a question elsewhere', () => {
    const ended = after(start({ width: 140, height: 40 }), listed([stateOf(created(RUN, 1), ...asked('US-001'))]));
    const line = linesOf(ended).at(-1);
    for (const offered of ['A answer', 'r retry']) expect(line).toContain(offered);
    for (const other of ['a approve', 'p pause', 'L land', 'X reject', 'i interrupt', 'C cancel'])
      expect(line, other).not.toContain(other);
    for (const key of ['p', 'i', 'L', 'C', 'X']) {
      const refused = after(ended, key);
      expect(refused.question, key).toBeUndefined();
      expect(refused.notice?.text, key).not.toContain('halo ');
    }
  });

  it('interrupt and cancel only after y', () => {
    const asked: [key: string, name: string, question: string][] = [
      ['i', 'stop', 'now and interrupt'],
      ['C', 'cancel', 'Cancel run'],
    ];
    for (const [key, name, question] of asked) {
      const asking = after(open(), key);
      expect(asking.question?.text, key).toContain(question);
      expect(asking.acting, key).toBeUndefined();
      expect(linesOf(asking).at(-2), key).toContain('y yes, n no');
      expect(after(asking, 'n').acting, key).toBeUndefined();
      expect(after(asking, 'enter', 'q').ended, key).toBe(false);
      expect(after(asking, 'y').acting, key).toEqual({ name, runId: RUN });
    }
  });

  it('start an ended run again with a retry, and say why one is not possible', () => {
    const end: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '' };
    const stopped = after(start(), listed([stateOf(created(RUN, 1), ...failed('US-001'), end)]));
    expect(after(stopped, 'r').acting).toEqual({ name: 'retry', runId: RUN });
    expect(after(open(), 'r').notice?.text).toContain('No story has failed; the run is in progress.');
    expect(after(open(), 'end', 'r').notice?.text).toContain('has no open story: there is nothing to retry.');
  });

  it('approve and land what is selected', () => {
    expect(after(open(), 'down', 'a', 'y').acting).toEqual({
      ...{ name: 'approve', runId: HELD, story: 'US-001' },
      // What the question showed.
      confirmation: { confirm: ['protected'], commit: COMMIT },
    });
    expect(after(open(), 'end', 'L', 'y').acting).toEqual({
      ...{ name: 'land', runId: DONE },
      confirmation: { commit: COMMIT },
    });
    const nothing = after(open(), 'a');
    expect(nothing.question).toBeUndefined();
    expect(nothing.notice?.text).toContain(`Nothing of run ${RUN} is waiting for approval.`);
  });

  it('asks for all that a landing demands, also of a run that it continues', () => {
    const acting = after(open(), 'end', 'L', 'y');
    const unconfirmed = { commit: COMMIT, found: [{ run: RUN, flag: 'hidden', text: 'US-001: adds 1 character' }] };
    const failure = { message: `The change of run ${DONE}, which continues ${RUN}, has to be confirmed.`, unconfirmed };
    const asking = after(acting, { type: 'refused', failure });
    expect(asking.acting).toBeUndefined();
    expect(asking.question?.text).toContain(`which continues ${RUN}`);
    expect(after(asking, 'n').acting).toBeUndefined();
    // A `g` before the question begins no sequence after it.
    const early = after(acting, 'g', { type: 'refused', failure }, 'n', 'L');
    expect(early.question?.text).toContain(DONE);
    expect(after(asking, 'y').acting).toEqual({
      ...{ name: 'land', runId: DONE },
      confirmation: { commit: COMMIT, confirm: ['hidden'] },
    });
  });

  it.each([
    ['no flag', []],
    ['a flag', [{ run: DONE, flag: 'hidden', text: 'US-001: adds 1 character' }]],
  ])('do not ask to confirm a commit that was not shown, with %s', (_, found) => {
    for (const acting of [after(open(), 'end', 'L', 'y'), after(open(), 'down', 'a', 'y')]) {
      const failure = {
        message: 'The change, which is at fffffff now, has to be confirmed.',
        hint: 'Review it.',
        unconfirmed: { commit: 'f'.repeat(40), found },
      };
      const refused = after(acting, { type: 'refused', failure });
      expect(refused.question).toBeUndefined();
      expect(refused.acting).toBeUndefined();
      expect(refused.notice).toEqual({ tone: 'bad', text: `✗ ${failure.message} Review it.` });
      expect(after(refused, 'y').acting).toBeUndefined();
      expect(refused.reload).toBe(acting.reload + 1);
    }
  });

  it('reject with a reason, and not after Esc', () => {
    const asking = after(open(), 'down', 'X', 'y');
    expect(linesOf(asking).at(-2)).toContain('Reason');
    expect(after(asking, 'escape').acting).toBeUndefined();
    expect(after(asking, ...typing('too big'), 'enter').acting).toEqual({
      name: 'reject',
      runId: HELD,
      story: 'US-001',
      text: 'too big',
    });
  });

  it('cancel a single story in the view of its run', () => {
    const story = after(open(), 'enter', followed(RUN, RUNNING), 'end', 'C', 'y');
    expect(story.acting).toEqual({ name: 'cancel', runId: RUN, story: 'US-003' });
  });

  it('answer the question of a story: the text, then a confirmation', () => {
    expect(after(open(), 'A').notice?.text).toContain('asks a question');
    const asks = after(start(), listed([stateOf(created(RUN, 1), ...asked('US-001'))]));
    for (const asking of [after(asks, 'A'), after(asks, 'g', 'i', 'a')]) {
      expect(textOf(asking)).toContain('US-001 asks\n    Which currency?\n\n Answer: _');
      expect(after(asking, 'enter')).toMatchObject({ stack: asking.stack });
      expect(after(asking, 'enter').question).toBeUndefined();
      const typed = after(asking, ...typing('Euro'), 'enter');
      expect(typed.acting).toBeUndefined();
      expect(textOf(typed)).toContain('your answer\n    Euro\n\n Send this answer to US-001');
      expect(after(typed, 'n').acting).toBeUndefined();
      expect(after(typed, 'y').acting).toEqual({ name: 'answer', runId: RUN, story: 'US-001', text: 'Euro' });
    }
  });

  it('answer no run with several questions before one is selected', () => {
    const both = [...asked('US-001').slice(0, -1), ...asked('US-002', 'Which port?')];
    const asks = after(start(), listed([stateOf(created(RUN, 2), ...both)]));
    expect(after(asks, 'A').notice?.text).toContain('2 stories of run');
    expect(after(asks, 'g', 'i', 'down', 'A').inputLine?.action?.story).toBe('US-002');
  });

  const BREAKER = {
    key: 'repository:shop-0123abcd0123abcd0123abcd0123abcd',
    status: 'open' as const,
    reason: '5 failures with the same message',
    until: '2030-01-01T00:30:00.000Z',
  };

  it('list the open breakers of repositories and providers in the inbox, and close one', () => {
    expect(neededSources(after(open(), 'g', 'i'))).toContainEqual({ source: 'breakers' });
    const inbox = after(open(), 'g', 'i', { type: 'breakers-listed', breakers: [BREAKER] }, 'home');
    expect(textOf(inbox)).toMatch(/! breaker .*shop is open: 5 failure/);
    expect(after(inbox, 'b').acting).toEqual({ name: 'reset', runId: '', breaker: BREAKER.key });
    expect(after(inbox, 'l').notice?.text).toContain('No run is selected.');
  });

  it('close the breaker that a story waits for', () => {
    const entry = { story: 'US-001', attempt: 1, key: BREAKER.key, why: BREAKER.reason, notBefore: BREAKER.until };
    const waiting = stateOf(created(RUN, 1), { type: 'run.started' }, { type: 'breaker.held', ...entry });
    const acting = { name: 'reset', runId: '', breaker: BREAKER.key };
    expect(after(start(), listed([waiting]), 'b').acting).toEqual(acting);
    expect(after(start(), listed([waiting]), 'g', 'w', 'b').acting).toEqual(acting);
  });

  it('close the breaker of a run that it ended, unless a newer run has done its stories', () => {
    const opened = [
      created(RUN, 1),
      { type: 'run.started' },
      { type: 'breaker.opened', reason: 'no progress' },
    ] as const;
    const ended = stateOf(...opened, { type: 'run.ended', stopReason: 'CIRCUIT_OPEN', detail: 'no progress' });
    const inbox = after(start(), listed([ended]), 'g', 'i');
    expect(textOf(inbox)).toMatch(/! breaker .*no progress/);
    expect(after(inbox, 'b').acting).toEqual({ name: 'reset', runId: RUN });
    const newer = stateOf(...succeeded(DONE));
    const stories = ended.stories.map(({ id }) => id);
    const done = {
      ...newer,
      createdAt: '2031-01-01T00:00:00.000Z',
      stories: newer.stories.filter(({ id }) => stories.includes(id)),
    };
    expect(done.stories).toHaveLength(1);
    expect(textOf(after(start(), listed([done, ended]), 'g', 'i'))).not.toContain('! breaker');
    expect(after(open(), 'b').notice?.text).toContain(`No breaker of run ${RUN} is open.`);
  });

  const prds = (...keys: string[]) => after(open(), 'g', 'p', { type: 'prds-listed', prds: PRDS }, ...keys);

  it('start a PRD only after y, with its repository, agent and stories', () => {
    const asking = prds('down', 's');
    expect(asking.question?.text).toBe('Start checkout: 2 stories (A, B) in /home/me/shop, agent codex?');
    expect(after(asking, 'n').acting).toBeUndefined();
    expect(after(asking, 'y').acting).toMatchObject({ name: 'submit', prd: PRDS.entries[1]!.path });
    expect(prds('s').notice?.text).toContain('No story of prd.json is open.');
    expect(prds('end', 's').notice?.text).toContain('broken is not JSON.');
  });

  it('create and edit named PRDs only', () => {
    expect(prds('n', ...typing('mobile'), 'enter').acting).toEqual({ name: 'create', runId: '', text: 'mobile' });
    expect(prds('n', ...typing('../x'), 'enter').notice?.text).toContain('Not a name of a PRD');
    expect(prds('down', 'e').acting).toMatchObject({ name: 'edit', text: 'checkout' });
    expect(prds('e').notice?.text).toContain('prd.json is not a named PRD');
    expect(after(open(), ':', ...typing('edit'), 'enter').notice?.text).toContain('No PRD is selected');
  });

  it('open the stories of a PRD, then its newest run', () => {
    expect(currentTopView(prds('down', 'enter'))).toMatchObject({ view: 'prds', prd: PRDS.entries[1]!.path });
    expect(textOf(prds('down', 'enter'))).toMatch(/B +· pending +2 +1 +Send a receipt/);
    expect(currentTopView(prds('enter', 'enter'))).toMatchObject({ view: 'stories', runId: HELD });
    expect(prds('down', 'enter', 'enter').notice?.text).toContain('No run is selected.');
  });

  it('continue with the PRD as it is now', () => {
    expect(after(open(), 'down', 'P').question?.text).toContain('/home/me/shop/prd.json as it is now');
    expect(after(open(), 'down', 'P', 'y').acting).toEqual({ name: 'replan', runId: HELD });
  });

  it('do nothing more while an action is in progress, and show its result', () => {
    const acting = after(open(), 'p');
    expect(after(acting, 'C').question).toBeUndefined();
    expect(linesOf(after(acting, { type: 'acted', text: 'Paused.' })).at(-2)).toContain('✓ Paused.');
    const failure = { message: 'The run has ended.', hint: 'Use retry.' };
    expect(linesOf(after(acting, { type: 'refused', failure })).at(-2)).toContain('✗ The run has ended. Use retry.');
  });

  it('switch to the next active run with Tab', () => {
    const run = after(open(), 'enter');
    expect(currentTopView(after(run, 'tab'))).toMatchObject({ view: 'stories', runId: HELD });
    expect(currentTopView(after(run, 'tab', 'shift-tab')).runId).toBe(RUN);
  });

  it('pasted keys press nothing, and are input of a line', () => {
    const paste = { type: 'pasted', text: 'Xy\u001b[2J\n' } as const;
    expect(after(open(), paste)).toEqual(open());
    expect(after(open(), ':', paste).inputLine?.text).toBe('Xy [2J ');
    // A message of this length can be sent.
    const long = { type: 'pasted', text: 'x'.repeat(8_000) } as const;
    expect(after(open(), ':', long).inputLine?.text).toBe(long.text);
  });

  it('open views with two, of which the first alone does nothing, and digits open none', () => {
    expect(currentTopView(after(open(), '2'))).toEqual(currentTopView(open()));
    expect(currentTopView(after(open(), 'g'))).toEqual(currentTopView(open()));
    expect(currentTopView(after(open(), 'g', 'i')).view).toBe('inbox');
    expect(currentTopView(after(open(), 'g', 'x', 'i')).view, 'an unknown one ends the sequence').not.toBe('inbox');
  });

  it('are unique in each view', () => {
    for (const view of VIEWS) {
      const here = KEYS.filter(({ views }) => views?.includes(view) ?? true).flatMap(({ keys }) => keys);
      expect(new Set(here).size, view).toBe(here.length);
    }
  });

  it('have names, whatever the terminal sends', () => {
    expect(keyName({ sequence: 'D', name: 'd', shift: true })).toBe('D');
    expect(keyName({ sequence: '\u001b[A', name: 'up' })).toBe('up');
    expect(keyName({ sequence: '\u001b[Z', name: 'tab', shift: true })).toBe('shift-tab');
    expect(keyName({ sequence: '\u0012', name: 'r', ctrl: true })).toBe('ctrl-r');
    expect(keyName({ sequence: '車' })).toBe('車');
    expect(keyName({ sequence: '\u001b[200~', name: 'paste-start' })).toBe('paste-start');
    expect(keyName({ sequence: '\u001b[99;99~' })).toBeUndefined();
  });
});

describe('the filter', () => {
  it('keeps lines with all words, or without them after !', () => {
    const only = after(open(), '/', ...typing('DONE shop'));
    expect(linesOf(only).filter((line) => line.includes('0tbq'))).toHaveLength(1);
    const without = after(open(), '/', ...typing('!done'), 'enter');
    expect(linesOf(without).join('\n')).not.toContain('✓ done');
    expect(currentTopView(after(without, 'escape')).filter).toBe('');
    expect(currentTopView(after(open(), '/', 'x', 'escape')).filter).toBe('');
  });

  it('says when nothing matches', () => {
    expect(linesOf(after(open(), '/', ...typing('nothing'))).join('\n')).toContain('Nothing matches "nothing".');
  });
});

describe('the command line', () => {
  it('opens views, takes abbreviations and parts of run ids, and completes with Tab', () => {
    expect(currentTopView(after(open(), ':', ...typing('work'), 'enter')).view).toBe('workers');
    expect(currentTopView(after(open(), ':', ...typing('logs 0tbq2'), 'enter'))).toMatchObject({
      view: 'logs',
      runId: DONE,
    });
    expect(after(open(), ':', ...typing('sp'), 'tab').inputLine?.text).toBe('spend');
    expect(after(open(), ':', ...typing('logs 0tbq2'), 'tab').inputLine?.text).toBe(`logs ${DONE}`);
    expect(after(open(), ':', ...typing('pause'), 'enter').acting).toEqual({ name: 'pause', runId: RUN });
    expect(after(open(), ':', ...typing('q'), 'enter').ended).toBe(true);
  });

  it('names what it does not know, and suggests', () => {
    const says = (text: string) => after(open(), ':', ...typing(text), 'enter').notice?.text;
    expect(says('lgos')).toContain('did you mean "logs"?');
    expect(says('logs zzz')).toContain('No run matches zzz.');
    expect(says('logs 0tbq')).toContain('3 runs match 0tbq.');
  });
});

describe('the log', () => {
  it('follows new lines until it is scrolled, and again after G', () => {
    const says = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        type: 'agent.activity' as const,
        story: 'US-002',
        attempt: 1,
        activity: { kind: 'say' as const, text: `line ${index}.` },
      }));
    const log = after(open(), 'enter', followed(RUN, [...RUNNING, ...says(50)]), 'l');
    expect(linesOf(log).join('\n')).toContain('line 49.');
    const scrolled = after(log, 'page-up');
    expect(linesOf(scrolled).join('\n')).not.toContain('line 49.');
    const more = after(scrolled, followed(RUN, [...RUNNING, ...says(70)]));
    expect(linesOf(more).slice(2, -2)).toEqual(linesOf(scrolled).slice(2, -2));
    expect(linesOf(after(more, 'G')).join('\n')).toContain('line 69.');
    expect(linesOf(after(more, 'g', 'g')).join('\n')).toContain('line 0.');
  });

  it('can show only problems, or only one kind of lines', () => {
    const log = after(open(), 'enter', followed(RUN, RUNNING), ':', ...typing(`logs ${RUN}`), 'enter');
    const problems = linesOf(after(log, 'f')).join('\n');
    expect(problems).toContain('lines: problems');
    expect(problems).toContain('exit 1: npm test');
    expect(problems).not.toContain('Looking at the tests');
    expect(linesOf(after(log, 'f', 'f', 'f')).join('\n')).toContain('ok      1.2s    npm test');
    expect(linesOf(after(log, 'f', 'f', 'f', 'f')).join('\n')).toContain('PASSED');
  });

  it('keeps a bounded number of lines of a long run', () => {
    const many = Array.from({ length: 12_000 }, (_, index) => ({
      type: 'agent.activity' as const,
      story: 'US-001',
      attempt: 1,
      activity: { kind: 'say' as const, text: `line ${index}.` },
    }));
    const log = after(open(), 'enter', followed(RUN, [created(RUN, 1), ...many]));
    expect(log.run?.lines).toHaveLength(5000);
    expect(log.run?.lines.at(-1)?.text).toBe('line 11999.');
  });
});

describe('what is read', () => {
  it('is only what the view shows', () => {
    const sources = (state: ReturnType<typeof open>) => neededSources(state).map(({ source }) => source);
    expect(sources(open())).toEqual(['runs']);
    expect(sources(after(open(), 'g', 'w'))).toEqual(['workers', 'runs']);
    expect(sources(after(open(), 'g', 's'))).toEqual(['costs', 'runs']);
    expect(sources(after(open(), 'enter'))).toEqual(['run', 'view']);
    expect(sources(after(open(), 'enter', 'l', '?'))).toEqual(['run', 'view']);
    expect(sources(after(open(), 'd'))).toEqual(['diff', 'view', 'run']);
  });
});
