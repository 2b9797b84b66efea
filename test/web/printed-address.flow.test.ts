import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openHome, type HaloHome } from '../support/halo/halo-process.ts';
import { hasChromium, shareChromium } from '../support/network/chromium.ts';
import { skipFor } from '../support/skip.ts';

describe('the address of the dashboard', skipFor(!hasChromium && 'chromium is missing'), () => {
  let home: HaloHome;

  beforeEach(() => {
    home = openHome();
  });
  afterEach(() => home.close());

  it.each(['serve', 'up'])('is printed by halo %s, and opens it', async (command) => {
    const server = home.start([command, '--listen', '127.0.0.1:0'], { cwd: home.dir });
    await server.says('/api-token\n');
    const said = (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(server.stdout())?.[1] ?? '';
    const page = await (await shareChromium()).newPage();
    await page.goto(said('dashboard'));
    await page.getByLabel('Token').fill(readFileSync(said('token'), 'utf8').trim());
    await page.getByRole('button', { name: 'Sign in with the token' }).click();
    await page.getByText('No runs yet.').waitFor();
    expect(page.url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    await page.close();
  });
});
