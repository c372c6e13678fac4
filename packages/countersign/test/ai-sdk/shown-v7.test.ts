// What was shown is what runs, with version 7 of the AI SDK.
import { whatWasShownRuns } from './shown.ts';

whatWasShownRuns();
