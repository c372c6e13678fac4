// Plants faults into the engine, and looks whether the simulation finds them.
import { startWorker } from '../workers.ts';
import type { Planted } from './planted.ts';

/** `found`: what the first schedule that broke a law says. `schedules`: how many it took. */
export type Finding = {
  readonly fault: Planted;
  readonly found?: string;
  readonly schedules: number;
  readonly error?: string;
};

const FIRST_SEED = 1;

/** Looks for all of them, in so many processes. */
export async function findPlanted(
  faults: readonly Planted[],
  workers: number,
  say: (finding: Finding) => void = () => undefined,
): Promise<readonly Finding[]> {
  const left = [...faults];
  const findings: Finding[] = [];
  const work = async () => {
    for (let fault = left.shift(); fault; fault = left.shift()) {
      const finding = await findFault(fault);
      findings.push(finding);
      say(finding);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return findings;
}

async function findFault(fault: Planted): Promise<Finding> {
  const worker = startWorker(fault.name);
  try {
    const result = await worker.run({
      from: FIRST_SEED,
      count: fault.within,
      untilFound: true,
    });
    const [first] = result.found;
    if (!first) return { fault, schedules: fault.within };
    return { fault, found: String(first.problems[0]), schedules: first.seed - FIRST_SEED + 1 };
  } catch (error) {
    return { fault, schedules: 0, error: (error as Error).message };
  } finally {
    worker.stop();
  }
}
