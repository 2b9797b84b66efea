import type { ShownSetting } from '../../repository/shown-settings.ts';
import type { Operation } from '../operation.ts';

export const readSettingsOperation: Operation<object, { settings: ShownSetting[] }> = {
  name: 'readSettings',
  method: 'GET',
  path: '/v1/settings',
  access: 'administer',
  everywhere: true,
  summary:
    'Returns the settings that a run has without a configuration of its repository, with their origins. Values that may contain secrets are left out.',
  input: (z) => z.strictObject({}),
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        settings: z.array(
          z.object({
            key: z.string(),
            value: z.unknown().describe('Null: not set, or hidden.'),
            origin: z.string().describe('`default`, a file with its line, or an environment variable.'),
            hidden: z.literal(true).exactOptional().describe('The value may contain secrets.'),
          }),
        ),
      }),
  },
  async run({ host }) {
    const { readShownSettings } = await import('../../repository/shown-settings.ts');
    return { settings: await readShownSettings(host) };
  },
};
