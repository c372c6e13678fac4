// Every endpoint of the API.
import { agUiEndpoints } from '../agui/endpoint.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { absenceEndpoints } from './absences.ts';
import { chatEndpoints } from './chat.ts';
import { decideEndpoints } from './decide.ts';
import { decisionsEndpoints } from './decisions.ts';
import { eventEndpoints } from './events.ts';
import { gateEndpoints } from './gate.ts';
import { grantEndpoints } from './grants.ts';
import { insightsEndpoints } from './insights.ts';
import { interruptEndpoints } from './interrupts.ts';
import { personEndpoints } from './me.ts';
import { noticeEndpoints } from './notices.ts';
import { passkeyEndpoints } from './passkeys.ts';
import { pushEndpoints } from './push.ts';
import { runEndpoints } from './runs.ts';
import type { Services } from './services.ts';
import { startEndpoints } from './start.ts';
import { statsEndpoints } from './stats.ts';

export function apiEndpoints(services: Services): readonly Endpoint[] {
  return [
    ...personEndpoints(services),
    ...absenceEndpoints(services),
    ...pushEndpoints(services),
    ...startEndpoints(services),
    ...runEndpoints(services),
    ...eventEndpoints(services),
    ...interruptEndpoints(services),
    ...decideEndpoints(services),
    ...passkeyEndpoints(services),
    ...decisionsEndpoints(services),
    ...gateEndpoints(services),
    ...grantEndpoints(services),
    ...statsEndpoints(services),
    ...insightsEndpoints(services),
    ...noticeEndpoints(services),
    ...chatEndpoints(services),
    ...agUiEndpoints(services),
  ];
}
