// The gate of a server, for permits: people decide there.
import type { Gate, ToolDescription } from 'countersign';
import type { ApiError, Client } from '../client/index.ts';
import { defined } from '../defined.ts';

/** What permits use of a gate: of a store, or of a server. Calls are named by the ids of their runs. */
export type PermitGate = Pick<Gate, 'request' | 'wait' | 'withdraw' | 'start' | 'finish'>;

/** What the server lets one request wait. */
const LONGEST_WAIT_S = 60;
const PAUSE_MS = 1_000;

/** The server keeps the rules of this machine from weakening its own: they can only deny and ask. */
export function serverGate({ gate }: Client, described: ToolDescription): PermitGate {
  const { name: tool, rules = [], title, message, description, risk, reversibility, labels, expiresIn } = described;
  if (rules.some(({ policy }) => policy !== undefined))
    throw new Error('Rules with a policy do not work with --url. Write them on the server.');
  const about = defined({ title, message, description, risk, reversibility, labels: labels && [...labels] });
  const expires = typeof expiresIn === 'number' ? { expiresIn: Math.ceil(expiresIn / 1_000) } : {};
  const idOf = (call: unknown) => String(call);
  return {
    request: (input, { key }) => gate.ask({ tool, input: input as never, key, ...about, ...expires }),
    async wait(call, { timeout = 0 } = {}) {
      const wait = Math.min(LONGEST_WAIT_S, Math.ceil(timeout / 1_000));
      try {
        return await gate.get(idOf(call), { wait });
      } catch (error) {
        if (!isPassing(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        const [runId = ''] = idOf(call).split(':');
        return { status: 'pending', id: idOf(call), runId };
      }
    },
    withdraw: (call, options = {}) => gate.withdraw(idOf(call), defined({ reason: options.reason })),
    async start(call, { lease = 0, token } = {}) {
      try {
        const granted = await gate.start(idOf(call), { lease: Math.ceil(lease / 1_000), ...defined({ token }) });
        return { status: 'granted', ...granted };
      } catch (error) {
        const refused = (error as ApiError).problem?.gate;
        if (refused) return refused;
        throw error;
      }
    },
    finish: (call, token, report) => gate.finish(idOf(call), { token, ...report } as never),
  };
}

/** The server is away for a moment: the wait goes on. */
const isPassing = (error: unknown): boolean => {
  const { status, code } = error as Partial<ApiError>;
  return status === 0 || code === 'too-many-streams' || (status !== undefined && status >= 500);
};
