import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readEngines, readFleetLimits } from '../../src/config/host-rules.ts';
import { addEngine } from '../../src/features/engines/api/add-engine.ts';
import { updateModels } from '../../src/features/models/api/update-models.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A model whose price only models.json can have, with a budget, which needs it. */
const NEW_MODEL = '[model]\nname = "model-of-tomorrow"\n[budget]\nrun_usd = 5\n[fleet]\nmax = 3\n';

it('what concerns the machine can be read while the price of the model in config.toml is not known', async () => {
  const home = tempDir();
  writeFileSync(join(home, 'config.toml'), NEW_MODEL);
  expect(await readFleetLimits(home)).toMatchObject({ max: 3 });
  await addEngine(home, { name: 'a', address: 'unix:///run/a.sock' });
  expect(await readEngines(home)).toMatchObject([{ name: 'a' }]);
});

it('the advice to update the models can be followed: it does not need the price that it brings', async () => {
  const home = tempDir();
  writeFileSync(join(home, 'config.toml'), NEW_MODEL);
  const update = updateModels({ home }, { from: 'http://127.0.0.1:1/prices.json', today: '2030-01-01' });
  await expect(update).rejects.toThrow(/cannot be used: (?!.*budget)/);
});
