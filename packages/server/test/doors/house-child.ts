// The house in a process of its own, which a payment kills. Its argument is the plan.
import { writeSync } from 'node:fs';
import { openHouse, type Plan } from './house.ts';

// Ends with its parent process.
process.stdin.on('end', () => process.exit()).resume();

const { url, appUrl } = await openHouse(JSON.parse(process.argv[2] ?? '') as Plan);
writeSync(1, `${JSON.stringify({ url, appUrl })}\n`);
