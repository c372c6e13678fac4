// What was shown is what runs, with version 6 of the AI SDK.
import { vi } from 'vitest';
import { whatWasShownRuns } from './shown.ts';

vi.mock('ai', () => import('ai-v6'));

whatWasShownRuns();
