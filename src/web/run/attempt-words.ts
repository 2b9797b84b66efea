import { safeLine } from '../../core/text/safe-text.ts';
import type { AttemptRecord, AttemptReply } from '../../core/journal/attempts.ts';

interface Words {
  mark: string;
  tone: string;
  text: string;
}

/** A sign and words for how an attempt ended, and what a person did after it. */
export function attemptWords({ end, reply }: AttemptRecord, isOpen: boolean): Words {
  if (end === undefined)
    return isOpen ? { mark: '●', tone: 'mark', text: 'running' } : { mark: '–', tone: 'warn', text: 'interrupted' };
  if (end.verdict === 'passed') {
    const isNamed = reply?.what === 'sent back' || reply?.what === 'approved';
    const text = isNamed ? `passed, ${replyText(reply)}` : 'passed';
    return { mark: '✓', tone: 'good', text };
  }
  if (end.verdict === 'needs_human')
    return reply === undefined
      ? { mark: '?', tone: 'warn', text: 'needs you' }
      : { ...REPLIES[reply.what], text: replyText(reply) };
  if (end.verdict === 'interrupted') return { mark: '–', tone: 'warn', text: end.reason };
  return { mark: '✗', tone: 'bad', text: end.reason };
}

const REPLIES: Record<AttemptReply['what'], Omit<Words, 'text'>> = {
  answered: { mark: '↩', tone: 'soft' },
  expired: { mark: '–', tone: 'warn' },
  'sent back': { mark: '↩', tone: 'soft' },
  approved: { mark: '✓', tone: 'good' },
  rejected: { mark: '✗', tone: 'bad' },
  cancelled: { mark: '–', tone: 'soft' },
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
