import { reasonWords } from '../core/failure/plain-reason.ts';
import type { AttemptEnd, AttemptRecord, AttemptReply } from '../core/journal/attempts.ts';
import { PROGRESS } from '../core/run/progress.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { Words } from './story-words.ts';

/** A sign and words for the verdict on an attempt. */
export function verdictWords(verdict: AttemptEnd['verdict'], reason: string): Words {
  if (verdict === 'interrupted') return { mark: '-', tone: 'warn', text: reasonWords(reason) };
  const { mark, tone, word } = PROGRESS[verdict];
  return { mark, tone, text: verdict === 'failed' ? `${word}: ${reasonWords(reason)}` : word };
}

/** A sign and words for how an attempt ended, and what a person did after it. */
export function attemptWords({ end, reply }: AttemptRecord, isOpen: boolean): Words {
  if (end === undefined)
    return isOpen ? { ...PROGRESS.in_progress, text: 'running' } : { mark: '-', tone: 'warn', text: 'interrupted' };
  const words = verdictWords(end.verdict, end.reason);
  if (end.verdict === 'needs_human') {
    if (reply !== undefined) return { ...REPLIES[reply.what], text: replyText(reply) };
    return end.commit === undefined ? words : { ...words, text: 'waiting for approval' };
  }
  const isNamed = end.verdict === 'passed' && (reply?.what === 'sent back' || reply?.what === 'approved');
  return isNamed ? { ...words, text: `${words.text}, ${replyText(reply)}` } : words;
}

const REPLIES: Record<AttemptReply['what'], Omit<Words, 'text'>> = {
  answered: { mark: '↩', tone: 'quiet' },
  expired: { mark: '-', tone: 'warn' },
  'sent back': { mark: '↩', tone: 'quiet' },
  approved: { mark: '✓', tone: 'good' },
  rejected: { mark: '✗', tone: 'bad' },
  cancelled: { mark: '-', tone: 'quiet' },
};

function replyText({ what, by }: AttemptReply): string {
  if (what === 'expired') return 'asked, not answered in time';
  const done = what === 'answered' ? 'asked, answered' : what;
  return by === undefined ? done : `${done} by ${safeLine(by, 60)}`;
}

/** Whether an attempt needed a person who has answered, sent back or approved: it has not failed. */
export function isReplied({ end, reply }: AttemptRecord): boolean {
  return end?.verdict === 'needs_human' && reply !== undefined && !['rejected', 'expired'].includes(reply.what);
}
