import type { Config, ReviewerSettings } from '../config.ts';

/** The model of a reviewer, whose keys come from nowhere else than it says. */
export function reviewerModel(
  { model: ofRun }: Pick<Config, 'model'>,
  { model }: Pick<ReviewerSettings, 'model'>,
): Config['model'] {
  const { keyEnv: _env, keyFile: _file, keyCommand: _command, ...shared } = ofRun;
  return { ...shared, ...model };
}
