// Only shown calls run, with version 6 of the AI SDK.
import { vi } from 'vitest';
import { onlyShownCallsRun } from './shown-calls.ts';

vi.mock('ai', () => import('ai-v6'));

onlyShownCallsRun();
