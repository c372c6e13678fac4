// The time in which an approved call can be recalled: a request that its deadline approves, and that people can only reject.

import { recallTime } from '../../core/authority/policy.ts';
import { requestOf } from '../../core/request/request.ts';
import { type Call, recallId } from '../../core/run/call.ts';
import { event } from '../../core/run/event.ts';
import type { Driver, Run } from '../run.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import { approversOf } from './approvers.ts';
import { boundSoFar } from './bound-input.ts';
import { keptOptions, requestersOf, unaskedShown } from './pause.ts';

/** Records until when the call waits. Whoever asked for it, voted for it, or gave the grant that lets it run can recall it. */
export async function askRecall(run: Run, driver: Driver, tool: ToolDefinition, call: Call): Promise<void> {
  const bound = boundSoFar(call);
  const shown = await unaskedShown(tool, call, bound, { message: APPROVED }, { options: keptOptions(call) });
  if (run.isSuperseded(call)) return;
  const giver = call.granted?.by === undefined ? [] : [call.granted.by];
  const people = [...new Set([...requestersOf(run.state, driver, call), ...approversOf(run.state, call), ...giver])];
  const policy = { onExpiry: 'approve', ...(people.length > 0 && { deciders: { people } }) } as const;
  const request = requestOf('recall', {
    id: recallId(call),
    shown,
    authority: { policies: [policy], requesters: [] },
    bound,
    wait: { expiresAt: driver.clock() + recallTime(call.policies ?? [{}]), onExpiry: 'approve' },
  });
  run.record(event({ type: 'call-interrupted', callId: call.id, request }));
}

const APPROVED = 'It is approved, and waits so that it can be recalled.';
