import type { ProgramId } from '../../../core/agent-program.ts';

/**
 * Sets `version` in the table `[agents.<id>]` of the text of config.toml, or removes it. The rest stays as it is. The result
 * need not be valid if the text has this table in another form.
 */
export function withPin(text: string, id: ProgramId, version: string | undefined): string {
  const line = version === undefined ? [] : [`version = ${JSON.stringify(version)}`];
  const parts = text.split(/^(?=[ \t]*\[)/m);
  const at = parts.findIndex((part) => new RegExp(`^[ \\t]*\\[[ \\t]*agents\\.${id}[ \\t]*\\]`).test(part));
  if (at < 0) {
    if (version === undefined) return text;
    const start = text.trimEnd();
    return `${start}${start === '' ? '' : '\n\n'}[agents.${id}]\n${line.join('')}\n`;
  }
  const [head = '', ...lines] = (parts[at] ?? '').split('\n');
  const rest = lines.filter((each) => !/^[ \t]*version[ \t]*=/.test(each));
  const isEmpty = version === undefined && rest.every((each) => each.trim() === '');
  return [...parts.slice(0, at), isEmpty ? '' : [head, ...line, ...rest].join('\n'), ...parts.slice(at + 1)].join('');
}
