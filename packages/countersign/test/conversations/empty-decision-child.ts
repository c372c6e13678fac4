// A process that sends an empty decision and then stops.
import { clerkOf } from './clerk.ts';

const { ai, clerk } = clerkOf();
await clerk.generate({ runId: 't', prompt: 'x' });
void clerk.generate({ runId: 't', resume: { approve: [] } }).catch(() => undefined);
await new Promise((resolve) => setTimeout(resolve, 50));
console.log('stopping');
setTimeout(() => console.log('a timer'), 10);
await ai.runs.stop();
console.log('stopped');
