import type { Notification } from '../core/notification.ts';
import { post, type PostOptions } from '../../../lib/network/post.ts';
import type { NotificationSink } from './sink.ts';

/** An incoming webhook of Slack, or of a chat that accepts the same format, such as Mattermost. */
export function openSlack({ url, ...options }: PostOptions & { url: string }): NotificationSink {
  return {
    async send(notifications, signal) {
      const body = JSON.stringify({
        text: notifications.map(slackText).join('\n'),
        unfurl_links: false,
        unfurl_media: false,
      });
      await post(options, { url, body, signal, headers: { 'content-type': 'application/json', 'user-agent': 'halo' } });
    },
  };
}

/** Only &, < and > have a meaning that text must not have: https://docs.slack.dev/messaging/formatting-message-text */
function slackText({ title, text, command }: Notification): string {
  const escape = (part: string) => part.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  // Chats that accept the same format, such as Mattermost, mention people by an @ alone, and have links as in Markdown.
  const plain = (part: string) =>
    escape(part)
      .replace(/@(?=\w)/g, '@\u200b')
      .replace(/\](?=[([])/g, ']\u200b');
  const lines = [`*${plain(title)}*`, ...(text === '' ? [] : [plain(text)])];
  // A backtick of a story id would end the code, after which it would be markup.
  const isCode = command !== undefined && !command.includes('`');
  return [...lines, ...(isCode ? [`\`${escape(command)}\``] : [])].join('\n');
}

/** A topic of https://ntfy.sh, or of a server of one's own. `token`: an access token. */
export function openNtfy({
  url,
  token,
  ...options
}: PostOptions & { url: string; token: string | undefined }): NotificationSink {
  return {
    async send(notifications, signal) {
      const last = notifications.at(-1) ?? notifications[0];
      const topic = new URL(url).pathname.replace(/^\/+|\/+$/g, '');
      const message = shorten(notifications.map(ntfyText).join('\n\n'));
      const body = JSON.stringify({ topic, title: last.title, message, ...LOOK[last.type] });
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      await post(options, {
        url: new URL('/', url).href,
        body,
        signal,
        headers: { 'content-type': 'application/json', 'user-agent': 'halo', ...authorization },
      });
    },
  };
}

/** In bytes; ntfy turns longer messages into attachments. */
const MAX_NTFY_BYTES = 4_000;

function shorten(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_NTFY_BYTES) return text;
  // A character that is cut in half becomes a replacement character.
  return `${bytes.toString('utf8', 0, MAX_NTFY_BYTES - 8).replace(/\ufffd$/, '')}\n…`;
}

function ntfyText({ title, text, command }: Notification): string {
  return [title, ...(text === '' ? [] : [text]), ...(command === undefined ? [] : [command])].join('\n');
}

/** Priorities and symbols: https://docs.ntfy.sh/publish */
const LOOK: Record<Notification['type'], { priority: number; tags: string[] }> = {
  'story.question': { priority: 4, tags: ['question'] },
  'story.approval': { priority: 4, tags: ['eyes'] },
  'run.approval': { priority: 4, tags: ['eyes'] },
  'breaker.opened': { priority: 4, tags: ['warning'] },
  'engine.lost': { priority: 4, tags: ['warning'] },
  'budget.warned': { priority: 4, tags: ['moneybag'] },
  'story.failed': { priority: 3, tags: ['x'] },
  'run.failed': { priority: 4, tags: ['x'] },
  'run.succeeded': { priority: 3, tags: ['white_check_mark'] },
  'run.landed': { priority: 3, tags: ['white_check_mark'] },
  'run.started': { priority: 2, tags: [] },
  'run.stopped': { priority: 2, tags: [] },
  'story.passed': { priority: 2, tags: ['white_check_mark'] },
};
