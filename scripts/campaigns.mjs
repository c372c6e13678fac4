// The crash, race and fuzz campaigns at their full size, which takes about an hour on 2 cores. `npm test` runs smaller ones.
//
//   npm run campaigns             all of them
//   npm run campaigns -- kill     only the files whose path contains "kill"
import { run, tool } from './run.mjs';

const CAMPAIGNS = [
  'packages/countersign/test/started-once/every-write.test.ts',
  'packages/countersign/test/started-once/kill.test.ts',
  'packages/countersign/test/started-once/zombie.test.ts',
  'packages/countersign/test/started-once/random-sub-agents.test.ts',
  'packages/countersign/test/started-once/sub-agents-crash-kit.test.ts',
  'packages/countersign/test/authority/laws.test.ts',
  'packages/countersign/test/laws/',
  'packages/countersign/test/freezes/races.test.ts',
  'packages/countersign/test/gate/kill.test.ts',
  'packages/countersign/test/limits/races.test.ts',
  'packages/countersign/test/notices/kill.test.ts',
  'packages/countersign/test/notices/many.test.ts',
  'packages/countersign/test/plans/crash.test.ts',
  'packages/countersign/test/recall/races.test.ts',
  'packages/countersign/test/one-decision/races.test.ts',
  'packages/countersign/test/stores/processes.test.ts',
  'packages/countersign/test/take-over/rolling-restart.test.ts',
  'packages/countersign/test/conversations/random.test.ts',
  'packages/countersign/test/rules/random-scenarios.test.ts',
  'packages/countersign/test/ai-sdk/attacks-v7.test.ts',
  'packages/countersign/test/ai-sdk/shown-calls-v6.test.ts',
  'packages/countersign/test/ai-sdk/shown-calls-v7.test.ts',
  'packages/restate/test/store.test.ts',
  'packages/server/test/fuzz/',
  'packages/server/test/inbox/morning.test.ts',
  'packages/server/test/many.test.ts',
];

const words = process.argv.slice(2);
const chosen = CAMPAIGNS.filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
if (chosen.length === 0) {
  console.error(`No campaign matches ${words.join(', ')}. Campaigns:\n${CAMPAIGNS.join('\n')}`);
  process.exit(2);
}
process.env.COUNTERSIGN_CAMPAIGNS = 'full';
const [command, ...args] = tool('vitest');
process.exitCode = run(command, [...args, 'run', '--maxWorkers=2', ...chosen], { show: true }).code;
