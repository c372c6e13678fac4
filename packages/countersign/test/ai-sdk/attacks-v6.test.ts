// Attacks on a chat with version 6 of the AI SDK.
import * as ai from 'ai';
import { expect, test, vi } from 'vitest';
import { attackAll } from './run-attacks.ts';

vi.mock('ai', () => import('ai-v6'));

test('the test imports version 6, not 7', () => {
  expect('isStepCount' in ai).toBe(false);
});

attackAll({
  recipe: 'a a2 a4 a5 b b2 b3 b5 c d d2 e e2 e3 f f2 f3 g g2 g3 g4 g5 g6 h i n'.split(' '),
  approval: 'a a2 b b5 c d e e2 e3 f f2 f3 g g2 g3 g4 g5 g6 h i n'.split(' '),
});
