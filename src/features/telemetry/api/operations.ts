import { operation } from '../../../api/operations/operation.ts';

export const telemetryOperations = {
  readMetrics: operation({
    method: 'GET',
    path: '/metrics',
    access: 'read',
    everywhere: true,
    summary: 'Returns metrics of all runs in the text format of Prometheus; docs/monitoring.md describes them.',
    output: { kind: 'bytes', mediaType: 'text/plain; version=0.0.4; charset=utf-8' },
    async run(context) {
      const { readMetrics } = await import('./read-metrics.ts');
      return Buffer.from(await readMetrics(context));
    },
  }),
};
