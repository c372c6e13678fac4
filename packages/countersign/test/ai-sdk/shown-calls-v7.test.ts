// Only shown calls run, with version 7 of the AI SDK.
import { onlyShownCallsRun } from './shown-calls.ts';

onlyShownCallsRun();
