// The kill campaign on a cluster on this machine.
//
//   npm run campaigns:restate                         three nodes, every change on two of them, 200 kills
//   npm run campaigns:restate -- --nodes 1 --kills 20
//   npm run campaigns:restate -- --victims node --settle 5000   how long until the first answer, on a settled cluster
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { campaign, type Victim } from '../test/campaign.ts';
import { makeCluster } from '../test/restate-node.ts';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '3' },
    kills: { type: 'string', default: '200' },
    pause: { type: 'string', default: '60' },
    settle: { type: 'string', default: '0' },
    victims: { type: 'string', default: 'worker,service,node,service and node' },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'countersign-restate-campaign-'));
const nodes = await makeCluster(folder, Number(values.nodes));
await Promise.all(nodes.map((node) => node.start()));
try {
  const { problems, answeredAfterMs, ...figures } = await campaign({
    ...{ folder, nodes, kills: Number(values.kills), pauseMs: Number(values.pause) },
    settleMs: Number(values.settle),
    victims: values.victims.split(',') as Victim[],
    log: console.log,
  });
  const answers = answeredAfterMs.toSorted((a, b) => a - b).map(Math.round);
  const first = { deaths: answers.length, medianMs: answers[Math.floor(answers.length / 2)], mostMs: answers.at(-1) };
  console.log(JSON.stringify({ ...figures, firstAnswerAfterNodeDeath: first }, null, 2));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
} finally {
  await Promise.all(nodes.map((node) => node.stop()));
  if (process.exitCode === undefined) rmSync(folder, { recursive: true });
  else console.error(`Logs and files: ${folder}`);
}
