import type { Finding } from '../../doctor/doctor-finding.ts';
import type { Operation } from '../operation.ts';

interface Result {
  at: string;
  findings: Finding[];
  skipped: string[];
}

export const readDoctorOperation: Operation<object, Result> = {
  name: 'readDoctor',
  method: 'GET',
  path: '/v1/doctor',
  access: 'administer',
  everywhere: true,
  summary:
    'Returns the checks of `halo doctor` that start no container, of the machine of the server; at most one minute old.',
  input: (z) => z.strictObject({}),
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        at: z.string().describe('When the checks ran, in ISO 8601.'),
        findings: z.array(
          z.object({
            name: z.string(),
            ok: z.enum(['ok', 'warn', 'fail']),
            says: z.string(),
            fix: z.string().exactOptional(),
          }),
        ),
        skipped: z.array(z.string()).describe('Checks that need a container: `halo doctor` on the server runs them.'),
      }),
  },
  async run({ host }) {
    const { diagnoseCheaply } = await import('../../doctor/diagnose-cheaply.ts');
    return diagnoseCheaply(host);
  },
};
