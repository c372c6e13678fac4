// Every endpoint of the API.
import { agUiEndpoints } from '../agui/endpoint.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { chatEndpoints } from './chat.ts';
import { decideEndpoints } from './decide.ts';
import { decisionsEndpoints } from './decisions.ts';
import { freezeEndpoints } from './freezes.ts';
import { gateEndpoints } from './gate.ts';
import { grantEndpoints } from './grants.ts';
import { insightsEndpoints } from './insights.ts';
import { absenceEndpoints } from './people/absences.ts';
import { personEndpoints } from './people/me.ts';
import { noticeEndpoints } from './people/notices.ts';
import { passkeyEndpoints } from './people/passkeys.ts';
import { pushEndpoints } from './people/push.ts';
import { fileEndpoints } from './request-files.ts';
import { interruptEndpoints } from './requests.ts';
import { rulesEndpoints } from './rules.ts';
import { eventEndpoints } from './runs/events.ts';
import { runEndpoints } from './runs/runs.ts';
import { startEndpoints } from './runs/start.ts';
import type { Services } from './services.ts';
import { statsEndpoints } from './stats.ts';
import { undoEndpoints } from './undo.ts';

export function apiEndpoints(services: Services): readonly Endpoint[] {
  return [
    ...personEndpoints(services),
    ...absenceEndpoints(services),
    ...pushEndpoints(services),
    ...startEndpoints(services),
    ...runEndpoints(services),
    ...eventEndpoints(services),
    ...interruptEndpoints(services),
    ...fileEndpoints(services),
    ...decideEndpoints(services),
    ...undoEndpoints(services),
    ...passkeyEndpoints(services),
    ...decisionsEndpoints(services),
    ...gateEndpoints(services),
    ...grantEndpoints(services),
    ...freezeEndpoints(services),
    ...rulesEndpoints(services),
    ...statsEndpoints(services),
    ...insightsEndpoints(services),
    ...noticeEndpoints(services),
    ...chatEndpoints(services),
    ...agUiEndpoints(services),
  ];
}
