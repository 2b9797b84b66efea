import { z } from 'zod';
import { AGENT_IDS, MODEL_APIS } from '../../core/agent.ts';
import { CLAUDE_TOOLS } from '../../core/agent-options.ts';
import { AGENT_PROGRAMS, EXACT_VERSION, type ProgramId } from '../../core/agent-program.ts';
import { key } from './key-metadata.ts';
import { ANYONE, JOIN, owner } from '../trust/key-trust.ts';
import { Duration, oneOf, Text, wholeNumber } from './values.ts';

const YES_NO = z.boolean({ error: 'must be true or false' });
const MAX_RULES = 50;
/** The name of a tool, or a use of it in parentheses, which is passed to the program as one argument. */
const ToolRule = Text.regex(
  /^[A-Za-z]\w{0,63}(\([^()\p{Cc}]{1,200}\))?$/u,
  'must be the name of a tool, such as "Edit", or a use of it, such as "Bash(git push *)"',
);
/** The form of the answer of an agent whose program has no schema for it. */
function answerOf() {
  return key(
    oneOf('json', 'signals'),
    [
      'word',
      'json',
      `How the agent answers: \`json\`, or \`signals\`: [lines](agents.md#signals) such as \`STORY_DONE: US-001\`.`,
    ],
    ANYONE,
  );
}
/** The version of an agent's program. */
function versionOf(id: ProgramId) {
  const { title } = AGENT_PROGRAMS[id];
  return key(
    z
      .string({ error: 'must be a version in quotes, like "1.2.3"' })
      .regex(EXACT_VERSION, 'must be an exact version, like "1.2.3"')
      .optional(),
    ['string', undefined, `[Version](agents.md#versions) of ${title}. Default: that of halo’s image.`],
    owner('choose the version of an agent'),
  );
}

const SESSION = oneOf('attempt', 'story');

/** What the sessions of a program last for. */
function sessionOf(title: string) {
  return {
    session: key(
      SESSION,
      [
        'word',
        'attempt',
        `[Session](agents.md#sessions) of ${title}: one for each \`attempt\`, or for all at a \`story\`.`,
      ],
      ANYONE,
    ),
    session_expiry: key(Duration, ['duration', '24h', 'When a session of a `story` expires.'], ANYONE),
  };
}

/** `[agents.<name>]` with `acp`. */
const AcpAgent = z.strictObject(
  {
    acp: z
      .string({ error: ({ input }) => (input === undefined ? NO_COMMAND : 'must be a command line') })
      .refine((text) => text.trim() !== '', 'must not be empty'),
    model: oneOf('none', ...MODEL_APIS).default('openai'),
    answer: oneOf('json', 'signals').default('json'),
    session: SESSION.default('attempt'),
    session_expiry: Duration.optional(),
  },
  { error: 'must be a table like [agents.qwen] with acp = "qwen --acp"' },
);
const NO_COMMAND = `is missing: the command that starts an agent of the Agent Client Protocol; halo has settings for ${AGENT_IDS.join(', ')} only`;

const Tokens = wholeNumber(1, 100_000_000).optional();

/**
 * `[agents]`: settings of the agents' programs. The keys of `config` are an allow-list: none of them can change the
 * sandbox, the network, the provider or credentials, or start a program.
 */
export const AgentsTable = z.strictObject({
  codex: z.strictObject({
    version: versionOf('codex'),
    subagents: key(
      YES_NO.optional(),
      ['true or false', undefined, 'Whether Codex may start subagents. Default: as the version of Codex decides.'],
      ANYONE,
    ),
    live: key(
      YES_NO,
      ['true or false', false, 'Whether Codex reads [messages](agents.md#codex) while it works.'],
      ANYONE,
    ),
    ...sessionOf('Codex'),
    config: z.strictObject({
      model_verbosity: key(
        oneOf('low', 'medium', 'high').optional(),
        ['word', undefined, 'Length of the model’s texts.'],
        ANYONE,
      ),
      model_reasoning_summary: key(
        oneOf('auto', 'concise', 'detailed', 'none').optional(),
        ['word', undefined, 'Which summary of its reasoning the model gives.'],
        ANYONE,
      ),
      model_context_window: key(
        Tokens,
        ['whole number', undefined, 'Tokens of the context, for models that Codex does not know.'],
        ANYONE,
      ),
      model_auto_compact_token_limit: key(
        Tokens,
        ['whole number', undefined, 'Tokens at which Codex summarizes the conversation.'],
        ANYONE,
      ),
      tool_output_token_limit: key(
        Tokens,
        ['whole number', undefined, 'How much of a command’s output the model reads.'],
        ANYONE,
      ),
      project_doc_max_bytes: key(
        wholeNumber(0, 10_000_000).optional(),
        ['whole number', undefined, 'How much of `AGENTS.md` the model reads.'],
        ANYONE,
      ),
      personality: key(
        oneOf('none', 'friendly', 'pragmatic').optional(),
        ['word', undefined, 'Personality of Codex.'],
        ANYONE,
      ),
      features: z.strictObject({
        view_image: key(
          YES_NO.optional(),
          ['true or false', undefined, 'Whether Codex has the tool `view_image`.'],
          ANYONE,
        ),
        goals: key(YES_NO.optional(), ['true or false', undefined, 'Whether Codex has tools for goals.'], ANYONE),
      }),
    }),
  }),
  claude: z.strictObject({
    version: versionOf('claude'),
    tools: key(
      z
        .array(oneOf(...CLAUDE_TOOLS), {
          error: `must be a list of tools: ${CLAUDE_TOOLS.map((name) => `"${name}"`).join(', ')}`,
        })
        .min(1, 'must have at least one tool'),
      [
        'list of words',
        ['Bash', 'Edit', 'Read', 'Write'],
        'Tools of Claude Code: `Bash`, `Edit`, `Glob`, `Grep`, `NotebookEdit`, `Read` and `Write`. Tools that use the network are not available.',
      ],
      ANYONE,
    ),
    disallowed_tools: key(
      z
        .array(ToolRule, { error: 'must be a list of tools, like ["Bash(git push *)"]' })
        .max(MAX_RULES, `must be at most ${MAX_RULES} rules`)
        .optional(),
      [
        'list of strings',
        undefined,
        'Tools, or uses of tools such as `Bash(git push *)`, that Claude Code denies the model.',
      ],
      JOIN,
    ),
    subagents: key(
      YES_NO,
      ['true or false', false, 'Whether Claude Code may start subagents (its tool `Agent`).'],
      ANYONE,
    ),
    teams: key(
      YES_NO,
      [
        'true or false',
        false,
        'Whether its subagents may also exchange messages and share a list of tasks, an experimental feature ([teams](agents.md#effort-tools-and-subagents)). Includes `agents.claude.subagents`.',
      ],
      ANYONE,
    ),
    ...sessionOf('Claude Code'),
    config: z.strictObject({
      language: key(
        Text.max(50, 'must be at most 50 characters long').optional(),
        ['string', undefined, 'Language of its texts.'],
        ANYONE,
      ),
      outputStyle: key(
        oneOf('default', 'Explanatory', 'Learning').optional(),
        ['word', undefined, 'Style of its texts.'],
        ANYONE,
      ),
    }),
  }),
  command: z.strictObject({
    run: key(
      Text.optional(),
      ['string', undefined, 'Command line of the `command` agent; it reads the prompt on stdin.'],
      ANYONE,
    ),
    answer: answerOf(),
    model: key(
      oneOf('none', ...MODEL_APIS),
      [
        'word',
        'none',
        'Model API that the `command` agent may use, at the address in HALO_MODEL_URL: `none`, `openai`, `anthropic` or `google`.',
      ],
      ANYONE,
    ),
  }),
  opencode: z.strictObject({
    version: versionOf('opencode'),
    model: key(
      oneOf('openai', 'anthropic'),
      ['word', 'anthropic', 'Model API of opencode: `anthropic` or `openai`.'],
      ANYONE,
    ),
    answer: answerOf(),
    ...sessionOf('opencode'),
  }),
  gemini: z.strictObject({ version: versionOf('gemini'), answer: answerOf() }),
  acp: key(
    z.record(
      z
        .string()
        .regex(/^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/, 'is not a name of small letters, digits and hyphens')
        .refine((name) => !AGENT_IDS.some((id) => id === name), 'is an agent that halo has already'),
      AcpAgent,
    ),
    [
      'table of tables',
      {},
      'Further agents, which speak the [Agent Client Protocol](agents.md#agents-of-the-agent-client-protocol): `[agents.<name>]` with `acp`, the command that starts one, and optionally `model` (the model API: `openai`, `anthropic`, `google` or `none`), `answer`, `session` and `session_expiry`.',
    ],
    ANYONE,
  ),
});
