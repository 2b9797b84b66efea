import { expect, it } from 'vitest';
import { findOtherImage } from '../../../src/core/engine/engine-images.ts';

const began = { engine: 'local', contents: { 'halo-sandbox': 'a', shop: 'b' } };

it.each([
  ['the same on another engine', { engine: 'build-2', contents: { 'halo-sandbox': 'a', shop: 'b' } }, undefined],
  ['another one on another engine', { engine: 'build-2', contents: { 'halo-sandbox': 'a', shop: 'c' } }, 'shop'],
  ['built again on the same engine', { engine: 'local', contents: { 'halo-sandbox': 'c', shop: 'b' } }, undefined],
  ['missing there, which is reported where it is needed', { engine: 'build-2', contents: {} }, undefined],
  ['one that the run began without', { engine: 'build-2', contents: { other: 'c' } }, undefined],
])('an image is %s', (_what, here, expected) => {
  expect(findOtherImage(began, here)).toBe(expected);
});

it('a run that an earlier version began has no images to compare', () => {
  expect(findOtherImage(undefined, began)).toBeUndefined();
});
