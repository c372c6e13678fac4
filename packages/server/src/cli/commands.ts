// Every command, in the groups of the help. What does the work is loaded when a command runs, so that help and mistakes are told
// at once.
import { decide } from './commands/decide.ts';
import { dev } from './commands/dev.ts';
import { doctor } from './commands/doctor.ts';
import { inbox } from './commands/inbox.ts';
import { migrate } from './commands/migrate.ts';
import { runs } from './commands/runs.ts';
import { serve } from './commands/serve.ts';
import { show } from './commands/show.ts';
import { tokensCreate, tokensList, tokensRevoke } from './commands/tokens.ts';
import { worker } from './commands/worker.ts';
import type { CommandGroup } from './print/help.ts';

export const GROUPS: readonly CommandGroup[] = [
  { title: 'Run', commands: [dev, serve, worker] },
  { title: 'Decide', commands: [inbox, decide] },
  { title: 'Look', commands: [runs, show] },
  { title: 'Care', commands: [doctor, migrate, tokensCreate, tokensList, tokensRevoke] },
];
