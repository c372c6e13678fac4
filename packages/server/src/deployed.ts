// Records the rules and policies of this process as a version, with who deployed them.
import { hostname, userInfo } from 'node:os';
import type { Countersign } from 'countersign';
import { rulesOf } from 'countersign/store';

/** A store that is away keeps nobody from starting: the next start records the version. */
export async function recordDeployed(ai: Countersign, by?: string): Promise<void> {
  await rulesOf(ai)
    .record(by ?? process.env.COUNTERSIGN_DEPLOYED_BY ?? userOnHost())
    .catch(() => undefined);
}

function userOnHost(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // In some containers the user has no name.
    return hostname();
  }
}
