// Attacks on a chat with version 7 of the AI SDK.
import { attackAll } from './run-attacks.ts';

attackAll({
  recipe: 'a a2 a4 a5 b b2 b3 b5 c d d2 e e2 e3 f f2 f3 g g2 g3 g4 g5 g6 h i n'.split(' '),
  approval: 'a a2 a3 b b4 b5 c d e e2 e3 f2 f3 g g2 g3 g4 g5 g6 h i n'.split(' '),
});
